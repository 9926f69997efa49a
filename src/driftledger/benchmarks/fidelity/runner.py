"""Runs fidelity: one redrawing per image, and their scores."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from driftledger.benchmarks._chains.callers import chain_callers
from driftledger.benchmarks._chains.collect import ChainProtocol
from driftledger.benchmarks.fidelity.collect import CollectRedraws, asked_once
from driftledger.benchmarks.fidelity.encode import to_redraw
from driftledger.benchmarks.fidelity.score import score
from driftledger.benchmarks.fidelity.settings import FidelityScoring, FidelitySettings
from driftledger.benchmarks.runner import Caller, Runner
from driftledger.benchmarks.scoring import Scored, ToScore

if TYPE_CHECKING:
    from driftledger.ledger.lineage import Lineage
    from driftledger.project.project import Project


class FidelityRunner(Runner):
    """Asks for a description of every image of the test set and has it drawn again, and compares all three."""

    def collecting(
        self, project: "Project", stage: str, keys: Mapping[str, str], earlier: Mapping[str, Any] | None = None
    ) -> CollectRedraws:
        """What the stage asks; errors as in :meth:`Runner.collecting`.

        Raises:
            ConfigError: there is no such description, or its prompt wants a general category and there is none.
        """
        samples = project.built_samples(keys["dataset"])
        settings = cast(FidelitySettings, project.settings.section(self.spec.name))
        card, way = project.dataset_card(keys["dataset"]), project.settings.description(settings.description)
        seed = project.settings.run.seed
        asked = asked_once(card, (settings.description, way), settings.generate_prompt, seed)
        model, generator = project.model(keys["model"]), project.generator(keys["generator"])
        protocol = ChainProtocol(card, model, generator, asked)
        return CollectRedraws(self.spec.name, stage, keys, protocol, to_redraw(samples))

    def score(self, given: ToScore) -> Scored:
        return score(given, cast(FidelityScoring, given.scoring))

    def callers(self, lineage: "Lineage", where: Callable[[str], Path]) -> Iterator[Caller]:
        return chain_callers("redraw", lineage.collected["redraw"].path, where("dataset"), where("redraw"))

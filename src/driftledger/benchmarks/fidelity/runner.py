"""Runs fidelity: one redrawing per image, and their scores."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from driftledger.benchmarks._chains.collect import CollectChains
from driftledger.benchmarks._chains.records import ChainRequest
from driftledger.benchmarks._chains.runner import ChainRunner
from driftledger.benchmarks.fidelity.collect import CollectRedraws, asked_once
from driftledger.benchmarks.fidelity.encode import to_redraw
from driftledger.benchmarks.fidelity.score import score
from driftledger.benchmarks.fidelity.settings import FidelitySettings
from driftledger.benchmarks.scoring import Scored, ToScore
from driftledger.core.types import Sample

if TYPE_CHECKING:
    from driftledger.project.project import Project


class FidelityRunner(ChainRunner):
    """Asks for a description of every image of the test set and has it drawn again, and compares all three."""

    collects: ClassVar[type[CollectChains]] = CollectRedraws

    def asked(self, project: "Project", dataset: str) -> ChainRequest:
        """Errors as in :func:`~driftledger.benchmarks.fidelity.collect.asked_once`.

        Raises:
            ConfigError: there is no such description.
        """
        settings = cast(FidelitySettings, project.settings.section(self.spec.name))
        way = settings.description, project.settings.description(settings.description)
        card, seed = project.dataset_card(dataset), project.settings.run.seed
        return asked_once(card, way, settings.generate_prompt, seed, settings.repeats)

    def samples(self, project: "Project", dataset: str) -> Sequence[Sample]:
        return to_redraw(project.built_samples(dataset))

    def score(self, given: ToScore) -> Scored:
        return score(given)

"""Runs GenCeption: chains, and their scores."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from driftledger.benchmarks._chains.callers import chain_callers
from driftledger.benchmarks._chains.collect import ChainProtocol, CollectChains
from driftledger.benchmarks._chains.records import ChainRequest
from driftledger.benchmarks.genception.score import score
from driftledger.benchmarks.genception.settings import GenCeptionScoring, GenCeptionSettings
from driftledger.benchmarks.runner import Caller, Runner
from driftledger.benchmarks.scoring import Scored, ToScore
from driftledger.components.base import Generator, Model

if TYPE_CHECKING:
    from driftledger.ledger.lineage import Lineage
    from driftledger.project.project import Project


class GenCeptionRunner(Runner):
    """Asks T times describe → generate of every sample, and scores what is left of it."""

    def collecting(
        self, project: "Project", stage: str, keys: Mapping[str, str], earlier: Mapping[str, Any] | None = None
    ) -> CollectChains:
        samples = project.built_samples(keys["dataset"])
        model, generator = project.model(keys["model"]), project.generator(keys["generator"])
        protocol = chain_protocol(project, keys["dataset"], model, generator)
        return CollectChains(self.spec.name, stage, keys, protocol, samples)

    def score(self, given: ToScore) -> Scored:
        return score(given, cast(GenCeptionScoring, given.scoring))

    def callers(self, lineage: "Lineage", where: Callable[[str], Path]) -> Iterator[Caller]:
        return chain_callers("chain", lineage.collected["chain"].path, where("dataset"), where("chain"))


def chain_protocol(project: "Project", dataset: str, model: Model, generator: Generator) -> ChainProtocol:
    """How chains over a dataset that is built go."""
    settings = cast(GenCeptionSettings, project.settings.section("genception"))
    asked = ChainRequest(
        iterations=settings.iterations,
        describe_prompt=settings.describe_prompt,
        max_tokens=None,
        generate_prompt=settings.generate_prompt,
        seed=project.settings.run.seed,
    )
    return ChainProtocol(project.dataset_card(dataset), model, generator, asked)

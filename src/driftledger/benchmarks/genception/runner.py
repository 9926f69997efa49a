"""Runs GenCeption: chains, what other models say of the same images, and the scores."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from driftledger.benchmarks._chains.records import ChainRequest
from driftledger.benchmarks._chains.runner import ChainRunner
from driftledger.benchmarks.genception.records import WITNESS
from driftledger.benchmarks.genception.score import score
from driftledger.benchmarks.genception.settings import GenCeptionSettings
from driftledger.benchmarks.genception.witnesses import CollectWitnesses, witness_callers
from driftledger.benchmarks.runner import Caller, Collecting
from driftledger.benchmarks.scoring import Scored, ToScore
from driftledger.core.errors import ConfigError, unknown_name
from driftledger.data.records import DatasetCard

if TYPE_CHECKING:
    from driftledger.ledger.lineage import Lineage
    from driftledger.project.project import Project


class GenCeptionRunner(ChainRunner):
    """Asks T times describe → generate of every sample, and scores what is left of it."""

    def asked(self, project: "Project", dataset: str) -> ChainRequest:
        return chain_request(project, dataset)

    def collecting(
        self, project: "Project", stage: str, keys: Mapping[str, str], earlier: Mapping[str, Any] | None = None
    ) -> Collecting[Any]:
        if stage != WITNESS:
            return super().collecting(project, stage, keys, earlier)
        dataset, settings = keys["dataset"], _settings(project)
        card, samples = project.dataset_card(dataset), project.built_samples(dataset)
        models = {name: project.model(name) for name in settings.cross_check}
        own = {"dataset": dataset}
        return CollectWitnesses(self.spec.name, stage, own, card, settings.describe_prompt, models, samples)

    def score(self, given: ToScore) -> Scored:
        return score(given)

    def callers(self, lineage: "Lineage", where: Callable[[str], Path]) -> Iterator[Caller]:
        yield from super().callers(lineage, where)
        if WITNESS in lineage.collected:
            yield from witness_callers(lineage.collected[WITNESS].path, where("dataset"), where(WITNESS))


def chain_request(project: "Project", dataset: str) -> ChainRequest:
    """How chains go over a dataset that is built; errors as in :func:`chains_of`."""
    return chains_of(_settings(project), project.dataset_card(dataset), project.settings.run.seed)


def chains_of(settings: GenCeptionSettings, dataset: DatasetCard, seed: int) -> ChainRequest:
    """How chains go over a dataset.

    Raises:
        ConfigError: the settings name a group that it does not have.
    """
    groups = dataset.groups
    for group in settings.iterations_by_group or ():
        if group not in groups:
            raise ConfigError(unknown_name(f"genception.iterations_by_group: group of {dataset.name}", group, groups))
    return ChainRequest(
        iterations=settings.iterations,
        iterations_by_group=settings.iterations_by_group,
        describe_prompt=settings.describe_prompt,
        max_tokens=None,
        generate_prompt=settings.generate_prompt,
        writer=settings.writer if dataset.name in settings.text_first else None,
        seed=seed,
        repeats=settings.repeats,
    )


def _settings(project: "Project") -> GenCeptionSettings:
    return cast(GenCeptionSettings, project.settings.section("genception"))

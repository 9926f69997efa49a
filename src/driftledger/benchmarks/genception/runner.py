"""Runs GenCeption: chains and their scores."""

from typing import TYPE_CHECKING, cast

from driftledger.benchmarks._chains.records import ChainRequest
from driftledger.benchmarks._chains.runner import ChainRunner
from driftledger.benchmarks.genception.score import score
from driftledger.benchmarks.genception.settings import GenCeptionSettings
from driftledger.benchmarks.scoring import Scored, ToScore
from driftledger.core.errors import ConfigError, unknown_name
from driftledger.data.records import DatasetCard

if TYPE_CHECKING:
    from driftledger.project.project import Project


class GenCeptionRunner(ChainRunner):
    """Asks T times describe → generate of every sample, and scores what is left of it."""

    def asked(self, project: "Project", dataset: str) -> ChainRequest:
        return chain_request(project, dataset)

    def score(self, given: ToScore) -> Scored:
        return score(given)


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

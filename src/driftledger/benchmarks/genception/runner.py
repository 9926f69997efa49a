"""Runs GenCeption: chains, and their scores."""

from typing import TYPE_CHECKING, cast

from driftledger.benchmarks._chains.records import ChainRequest
from driftledger.benchmarks._chains.runner import ChainRunner
from driftledger.benchmarks.genception.score import score
from driftledger.benchmarks.genception.settings import GenCeptionSettings
from driftledger.benchmarks.scoring import Scored, ToScore
from driftledger.core.errors import ConfigError, unknown_name

if TYPE_CHECKING:
    from driftledger.project.project import Project


class GenCeptionRunner(ChainRunner):
    """Asks T times describe → generate of every sample, and scores what is left of it."""

    def asked(self, project: "Project", dataset: str) -> ChainRequest:
        return chain_request(project, dataset)

    def score(self, given: ToScore) -> Scored:
        return score(given)


def chain_request(project: "Project", dataset: str) -> ChainRequest:
    """How chains go over a dataset that is built.

    Raises:
        ConfigError: the settings name a group that it does not have.
    """
    settings = cast(GenCeptionSettings, project.settings.section("genception"))
    groups = project.dataset_card(dataset).groups
    for group in settings.iterations_by_group or ():
        if group not in groups:
            raise ConfigError(unknown_name(f"genception.iterations_by_group: group of {dataset}", group, groups))
    return ChainRequest(
        iterations=settings.iterations,
        iterations_by_group=settings.iterations_by_group,
        describe_prompt=settings.describe_prompt,
        max_tokens=None,
        generate_prompt=settings.generate_prompt,
        seed=project.settings.run.seed,
    )

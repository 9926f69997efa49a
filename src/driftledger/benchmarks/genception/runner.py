"""Runs GenCeption: chains and their scores."""

from driftledger.benchmarks._chains.collect import ChainRunner
from driftledger.benchmarks._chains.records import ChainRequest
from driftledger.benchmarks.genception.score import score
from driftledger.benchmarks.genception.settings import GenCeptionSettings
from driftledger.benchmarks.runner import StageInputs
from driftledger.benchmarks.scoring import Scored, ToScore
from driftledger.core.errors import ConfigError, unknown_name
from driftledger.data.records import DatasetCard


class GenCeptionRunner(ChainRunner):
    """Asks T times describe → generate of every sample, and scores what is left of it."""

    def asked(self, given: StageInputs, dataset: DatasetCard) -> ChainRequest:
        return chain_request(given.section, dataset, given.seed)

    def score(self, given: ToScore) -> Scored:
        return score(given)


def chain_request(settings: GenCeptionSettings, dataset: DatasetCard, seed: int) -> ChainRequest:
    """How chains go over a dataset.

    Raises:
        ConfigError: the settings name a group that it does not have.
    """
    for group in settings.iterations_by_group or ():
        if group not in dataset.groups:
            where = f"genception.iterations_by_group: group of {dataset.name}"
            raise ConfigError(unknown_name(where, group, dataset.groups))
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

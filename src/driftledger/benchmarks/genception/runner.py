"""Runs GenCeption: chains, and their scores."""

from typing import TYPE_CHECKING, cast

from driftledger.benchmarks._chains.records import ChainRequest
from driftledger.benchmarks._chains.runner import ChainRunner
from driftledger.benchmarks.genception.score import score
from driftledger.benchmarks.genception.settings import GenCeptionSettings
from driftledger.benchmarks.scoring import Scored, ToScore

if TYPE_CHECKING:
    from driftledger.project.project import Project


class GenCeptionRunner(ChainRunner):
    """Asks T times describe → generate of every sample, and scores what is left of it."""

    def asked(self, project: "Project", dataset: str) -> ChainRequest:
        return chain_request(project)

    def score(self, given: ToScore) -> Scored:
        return score(given)


def chain_request(project: "Project") -> ChainRequest:
    """How chains go, over whichever dataset."""
    settings = cast(GenCeptionSettings, project.settings.section("genception"))
    return ChainRequest(
        iterations=settings.iterations,
        describe_prompt=settings.describe_prompt,
        max_tokens=None,
        generate_prompt=settings.generate_prompt,
        seed=project.settings.run.seed,
    )

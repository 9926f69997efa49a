"""Runs fidelity: one redrawing per image, which is a chain of one iteration, and their scores."""

from collections.abc import Sequence

from driftledger.benchmarks._chains.collect import ChainRunner
from driftledger.benchmarks._chains.records import ChainRequest
from driftledger.benchmarks.descriptions import filled
from driftledger.benchmarks.fidelity.score import score, to_redraw
from driftledger.benchmarks.fidelity.settings import FidelitySettings
from driftledger.benchmarks.runner import StageInputs
from driftledger.benchmarks.scoring import Scored, ToScore
from driftledger.core.types import Sample
from driftledger.data.records import DatasetCard


class FidelityRunner(ChainRunner):
    """Asks for a description of every image of the test set and has it drawn again, and compares all three."""

    def asked(self, given: StageInputs, dataset: DatasetCard) -> ChainRequest:
        """Return what is asked of every image.

        Raises:
            ConfigError: there is no such description, or its prompt wants a general category and there is none.
        """
        settings: FidelitySettings = given.section
        description = given.description(settings.description)
        return ChainRequest(
            iterations=1,
            describe_prompt=filled(description.prompt, dataset, settings.description),
            max_tokens=description.lengths[0],
            prefix=description.prefix,
            generate_prompt=settings.generate_prompt,
            seed=given.seed,
            repeats=settings.repeats,
        )

    def samples(self, samples: Sequence[Sample]) -> Sequence[Sample]:
        return to_redraw(samples)

    def score(self, given: ToScore) -> Scored:
        return score(given)

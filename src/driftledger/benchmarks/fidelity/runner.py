"""Runs fidelity: one redrawing per image, and their scores."""

from collections.abc import Sequence

from driftledger.benchmarks._chains.records import ChainRequest
from driftledger.benchmarks._chains.runner import ChainRunner
from driftledger.benchmarks.fidelity.collect import asked_once
from driftledger.benchmarks.fidelity.encode import to_redraw
from driftledger.benchmarks.fidelity.score import score
from driftledger.benchmarks.fidelity.settings import FidelitySettings
from driftledger.benchmarks.runner import StageInputs
from driftledger.benchmarks.scoring import Scored, ToScore
from driftledger.core.types import Sample
from driftledger.data.records import DatasetCard


class FidelityRunner(ChainRunner):
    """Asks for a description of every image of the test set and has it drawn again, and compares all three."""

    def asked(self, given: StageInputs, dataset: DatasetCard) -> ChainRequest:
        """Errors as in :func:`~driftledger.benchmarks.fidelity.collect.asked_once`.

        Raises:
            ConfigError: there is no such description.
        """
        settings: FidelitySettings = given.section
        way = settings.description, given.description(settings.description)
        return asked_once(dataset, way, settings.generate_prompt, given.seed, settings.repeats)

    def samples(self, samples: Sequence[Sample]) -> Sequence[Sample]:
        return to_redraw(samples)

    def score(self, given: ToScore) -> Scored:
        return score(given)

"""Runs MME: two questions about each image, and yes or no in the answers."""

from typing import ClassVar

from driftledger.benchmarks._questions.runner import QuestionRunner
from driftledger.benchmarks.mme.grade import YesNoReadings
from driftledger.benchmarks.mme.score import score
from driftledger.benchmarks.scoring import Scored, ToScore


class MMERunner(QuestionRunner):
    """Asks, reads and scores."""

    parser: ClassVar[str] = YesNoReadings.parser
    readings: ClassVar[type[YesNoReadings]] = YesNoReadings

    def score(self, given: ToScore) -> Scored:
        return score(given)

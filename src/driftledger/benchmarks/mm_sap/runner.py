"""Runs MM-SAP: every question in several orders of its options, and the self-awareness in what is chosen."""

from collections.abc import Mapping
from typing import Any, ClassVar

from driftledger.benchmarks._questions.runner import QuestionRunner
from driftledger.benchmarks.mm_sap.grade import ChoiceReadings
from driftledger.benchmarks.mm_sap.score import score
from driftledger.benchmarks.scoring import Scored, ToScore


class MMSAPRunner(QuestionRunner):
    """Asks, reads and scores."""

    parser: ClassVar[str] = ChoiceReadings.parser
    readings: ClassVar[type[ChoiceReadings]] = ChoiceReadings

    def variants(self, asked: Mapping[str, Any]) -> int:
        return int(asked["permutations"])

    def score(self, given: ToScore) -> Scored:
        return score(given)

"""What the specifications of question benchmarks have in common: the flow from questions to a score, and reading."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from driftledger.benchmarks._questions.records import NO_ANSWER, ReadAnswer, answer_of, is_readable
from driftledger.benchmarks._questions.settings import QuestionScoring, QuestionSection
from driftledger.benchmarks.base import (
    QUESTION_SET,
    RECORDS_OF,
    Benchmark,
    Input,
    Rule,
    Stage,
    score_stage,
)
from driftledger.benchmarks.collecting import Collecting
from driftledger.benchmarks.records import CollectedRecord
from driftledger.benchmarks.score import Row, Score
from driftledger.collect.call import Planned
from driftledger.data.question_sets.base import QuestionRules
from driftledger.data.question_sets.files import QuestionEntry

if TYPE_CHECKING:
    from driftledger.benchmarks._questions.parsing.said import Parsed
    from driftledger.benchmarks.traces import Trace

KEYS = ("question_set", "model")

READ = frozenset({Input.ANSWERS, Input.DATA})
"""What every number of theirs depends on."""

ANOTHER_PROMPT = Rule("prompt", "another prompt asks another question")
UNREAD_COUNTS = Rule("unread", "what could not be read counts as wrong in one of them only")


class QuestionBenchmark(Benchmark):
    """Asks every question of a set, and scores what the answers are read or graded as."""

    data: ClassVar[Stage] = QUESTION_SET
    questions: ClassVar[QuestionRules]
    settings: ClassVar[type[QuestionSection]] = QuestionSection
    scoring: ClassVar[type[QuestionScoring]] = QuestionScoring
    parser: ClassVar[str]
    """The version of what reads the answers, or a judge's grades; a part of each score's protocol."""

    unfair: ClassVar[tuple[Rule, ...]] = (
        ANOTHER_PROMPT,
        Rule("parser", "another parser reads other answers from the same replies"),
        UNREAD_COUNTS,
    )

    def steps(self, collecting: Collecting) -> Iterator[Planned[list[CollectedRecord]]]:
        from driftledger.benchmarks._questions.collect import steps

        return steps(collecting)

    @abstractmethod
    def parsed(self, question: QuestionEntry, record: CollectedRecord) -> "Parsed[Any]":
        """Read an answer that :func:`is_readable`, or its grade."""

    def read(self, question: QuestionEntry, record: CollectedRecord) -> ReadAnswer:
        """Read an answer; pure, so that scoring and traces do it whenever they need it."""
        if not is_readable(answer := answer_of(record)):
            return ReadAnswer(record, answer.outcome, None, NO_ANSWER)
        outcome, value, how = self.parsed(question, record)
        return ReadAnswer(record, outcome, value, how)

    def traces(self, folders: Mapping[str, Path], score: Score, rows: Sequence[Row]) -> Iterator["Trace"]:
        from driftledger.benchmarks._questions.traces import traces

        return traces(self, folders, score, rows)


def flow(
    name: str, *asked: str, scoring: type[QuestionScoring] = QuestionScoring, judged: bool = False, version: int = 3
) -> tuple[Stage, Stage]:
    """The stages that ask the model, and the judge where there is one, and that score the answers.

    Args:
        asked: settings of the benchmark's section that the first depends on.
        judged: whether a judge grades the answers.
        version: of the stage that scores.
    """
    folder = f"{RECORDS_OF}/{name}/{{question_set}}"
    return (
        Stage("answer", KEYS, folder, 2, ("prompt", *asked), judged),
        score_stage(name, KEYS, scoring, version=version),
    )

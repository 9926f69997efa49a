"""What the specifications of question benchmarks have in common: the flow from a question set to a score."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from driftledger.benchmarks._questions.records import AnswerRecord, GradeRecord
from driftledger.benchmarks._questions.settings import UNREAD, QuestionScoring, QuestionSection
from driftledger.benchmarks.base import (
    QUESTION_SET,
    RECORDS_OF,
    Benchmark,
    Input,
    Metric,
    Rule,
    Stage,
    score_stage,
)
from driftledger.benchmarks.score import Row, Score
from driftledger.data.question_sets.base import QuestionRules

if TYPE_CHECKING:
    from driftledger.benchmarks.traces import Trace

KEYS = ("question_set", "model")

READ = frozenset({Input.ANSWERS, Input.DATA})
"""What every number of theirs depends on."""

ANOTHER_PROMPT = Rule("prompt", "another prompt asks another question")
UNREAD_COUNTS = Rule("unread", "what could not be read counts as wrong in one of them only")


def both_ways(headline: Metric) -> Iterator[Metric]:
    """The headline with unread answers as wrong ones, and with these left out; one of both is the headline itself."""
    for unread, title in zip(UNREAD, ("unread answers counted as wrong", "unread answers left out"), strict=True):
        yield replace(
            headline,
            key=f"{headline.key}_unread_{unread}",
            title=f"{headline.title}, {title}",
            formula=f"as the {headline.title}; {title}, and failed calls in no denominator",
            headline=False,
            row="",
            pairing="mean",
            tracked="",
        )


class QuestionBenchmark(Benchmark):
    """Asks every question of a set, has the answers read or graded, and scores that."""

    data: ClassVar[Stage] = QUESTION_SET
    questions: ClassVar[QuestionRules]
    settings: ClassVar[type[QuestionSection]] = QuestionSection
    scoring: ClassVar[type[QuestionScoring]] = QuestionScoring

    unfair: ClassVar[tuple[Rule, ...]] = (
        ANOTHER_PROMPT,
        Rule("parser", "another parser reads other answers from the same replies"),
        UNREAD_COUNTS,
    )

    def traces(self, folders: Mapping[str, Path], score: Score, rows: Sequence[Row]) -> Iterator["Trace"]:
        from driftledger.benchmarks._questions.traces import traces

        return traces(self, folders, score, rows, cast(type[GradeRecord], self.collects[1].record))


def flow(
    name: str,
    record: type[GradeRecord],
    *,
    asked: tuple[str, ...] = ("prompt",),
    graded: tuple[str, ...] = (),
    scored: tuple[str, ...] = (),
    judged: bool = False,
    read: int = 1,
    version: int = 1,
) -> tuple[Stage, Stage, Stage]:
    """The stages that ask the model, read or grade the answers, and score them.

    Args:
        record: what an answer is read or graded as.
        asked: settings of the benchmark's section that the first depends on; ``graded`` and ``scored`` likewise.
        judged: whether a judge grades the answers.
        read: the version of the stage that reads or grades them; ``version`` is that of the stage that scores.
    """
    folder = f"{RECORDS_OF}/{name}/{{question_set}}"
    return (
        Stage("answer", KEYS, f"{folder}/answers", record=AnswerRecord, settings=asked),
        Stage("grade", KEYS, f"{folder}/grades", read, record=record, settings=graded, judged=judged),
        score_stage(name, KEYS, "unread", *scored, version=version),
    )

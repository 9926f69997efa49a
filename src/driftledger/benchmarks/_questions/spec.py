"""What the specifications of question benchmarks have in common: the flow from a question set to a score."""

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from driftledger.benchmarks._questions.records import AnswerRecord, GradeRecord
from driftledger.benchmarks.base import QUESTION_SET, SCORES, Artifacts, Benchmark, Input, Rule, Stage
from driftledger.data.question_sets.rules import QuestionRules

if TYPE_CHECKING:
    from driftledger.ledger.lineage import Lineage

KEYS = ("question_set", "model")

READ = frozenset({Input.ANSWERS, Input.DATA})
"""What every number of theirs depends on."""

ANOTHER_PROMPT = Rule("prompt", "another prompt asks another question")


class QuestionBenchmark(Benchmark):
    """Asks every question of a set, has the answers read or graded, and scores that."""

    data: ClassVar[Stage] = QUESTION_SET
    questions: ClassVar[QuestionRules]

    def artifacts(self, lineage: "Lineage", root: Path) -> Artifacts:
        from driftledger.benchmarks._questions.artifacts import artifacts

        _, grade = self.collects
        return artifacts(lineage, root, grade)


def answer_stage(*settings: str) -> Stage:
    """The stage that asks the model, which depends on these settings of the benchmark's section."""
    path, code = "data/answers/{question_set}/{model}", "driftledger.benchmarks._questions.answers"
    return Stage("answer", KEYS, path, code, AnswerRecord, settings)


def grade_stage(code: str, record: type[GradeRecord], *settings: str) -> Stage:
    """The stage that reads or grades the answers, by the module ``code``."""
    return Stage("grade", KEYS, "data/grades/{question_set}/{model}", code, record, settings)


def score_stage(name: str, *settings: str) -> Stage:
    """The stage that scores, by the module ``score`` in the benchmark's folder."""
    path, code = f"{SCORES}/{name}/{{question_set}}/{{model}}", f"driftledger.benchmarks.{name}.score"
    return Stage(name, KEYS, path, code, settings=("min_coverage", "bootstrap", *settings))

"""MME: yes or no, two questions about each image.

Fu et al., "MME: A Comprehensive Evaluation Benchmark for Multimodal Large Language Models".
"""

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from driftledger.benchmarks._questions.parsing import yes_no
from driftledger.benchmarks._questions.parsing.said import Parsed
from driftledger.benchmarks._questions.records import answer_of
from driftledger.benchmarks._questions.spec import READ, QuestionBenchmark, flow
from driftledger.benchmarks.base import Layout, Metric, Stage
from driftledger.benchmarks.mme.questions import MMEQuestions
from driftledger.benchmarks.records import CollectedRecord
from driftledger.core.types import Outcome
from driftledger.data.question_sets.base import QuestionRules
from driftledger.data.question_sets.files import QuestionEntry

if TYPE_CHECKING:
    from driftledger.benchmarks.scoring import Scored, ToScore

_PAPER = "Fu et al., MME, section 2.2"
_score = partial(Metric, source=f"yes_no.total; {_PAPER}", needs=READ)
_share = partial(Metric, source=f"yes_no.score; {_PAPER}", needs=READ, unit="%")
_ANSWERS, _SCORES = flow("mme")


class MME(QuestionBenchmark):
    """Accuracy over questions, and over images of which both questions are answered right."""

    name: ClassVar[str] = "mme"
    title: ClassVar[str] = "MME"
    questions: ClassVar[QuestionRules] = MMEQuestions()
    collects: ClassVar[Stage] = _ANSWERS
    scores: ClassVar[Stage] = _SCORES
    metrics: ClassVar[tuple[Metric, ...]] = (
        _score(
            "score",
            "score",
            "100 · (accuracy + accuracy+) of a category, mean over categories; 0 to 200",
            headline=True,
            row="score",
            tracked="mme_score",
        ),
        _share(
            "accuracy",
            "accuracy",
            "100 · questions answered right / questions; in total over the questions of all categories",
            tracked="mme_accuracy",
        ),
        _share(
            "accuracy_plus",
            "accuracy+",
            "100 · images with both questions answered right / images; in total over the images of all categories",
        ),
        _score(
            "perception",
            "perception",
            "the sum of the scores of MME's ten subtasks of perception, where the set has all ten; 0 to 2000",
        ),
        _score(
            "cognition",
            "cognition",
            "the sum of the scores of MME's four subtasks of cognition, where the set has all four; 0 to 800",
        ),
        _score(
            "score_sum",
            "sum of scores",
            "the sum of the categories' scores; 0 to 200 times the number of categories",
        ),
        _share(
            "refused",
            "refused",
            "100 · answers that decline, which counts as wrong / answers",
            source="yes_no.score",
            higher_is_better=None,
        ),
    )
    layout: ClassVar[Layout] = Layout(
        tables={
            "score (0 to 200), accuracy and accuracy+": {
                name: name for name in ("score", "accuracy", "accuracy_plus", "refused")
            }
        },
        left_out=("score_sum",),
        group_bars={"category": "score"},
        groups={"category": "", "group": ""},
    )
    parser: ClassVar[str] = yes_no.VERSION

    def parsed(self, question: QuestionEntry, record: CollectedRecord) -> Parsed[bool]:
        """Read whether an answer says yes."""
        answer = answer_of(record)
        return yes_no.parse_yes_no(answer.text or "", cut=answer.outcome is Outcome.TRUNCATED)

    def score(self, given: "ToScore") -> "Scored":
        from driftledger.benchmarks.mme.score import score

        return score(given, self)

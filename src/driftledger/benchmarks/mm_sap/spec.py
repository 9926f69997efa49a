"""MM-SAP: does the model answer what it can know, and refuse what it cannot?

Wang et al., "MM-SAP: A Comprehensive Benchmark for Assessing Self-Awareness of Multimodal Large Language Models in
Perception".
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from driftledger.benchmarks._questions.parsing import choice
from driftledger.benchmarks._questions.parsing.said import Parsed
from driftledger.benchmarks._questions.records import answer_of
from driftledger.benchmarks._questions.spec import READ, QuestionBenchmark, flow
from driftledger.benchmarks.base import Layout, Metric, Rule, Scatter, Stage
from driftledger.benchmarks.mm_sap.questions import SIZES, MMSAPQuestions
from driftledger.benchmarks.mm_sap.settings import MMSAPScoring, MMSAPSettings
from driftledger.benchmarks.records import CollectedRecord
from driftledger.benchmarks.score import Row, Score
from driftledger.core.types import Outcome
from driftledger.data.question_sets.base import QuestionRules
from driftledger.data.question_sets.files import QuestionEntry

if TYPE_CHECKING:
    from driftledger.benchmarks.scoring import Scored, ToScore

_OVER_ORDERS = "mean over the stored orders of the options"
_MEASURE = "self_awareness.score; Wang et al., MM-SAP, equation"
_percent = partial(Metric, needs=READ, unit="%")
_ANSWERS, _SCORES = flow("mm_sap", "permutations", scoring=MMSAPScoring, version=4)


class MMSAP(QuestionBenchmark):
    """Choices among five options, one of which refuses."""

    name: ClassVar[str] = "mm_sap"
    title: ClassVar[str] = "MM-SAP"
    questions: ClassVar[QuestionRules] = MMSAPQuestions()
    collects: ClassVar[Stage] = _ANSWERS
    scores: ClassVar[Stage] = _SCORES
    metrics: ClassVar[tuple[Metric, ...]] = (
        _percent(
            "score",
            "self-awareness score",
            "100 · accepted choices / all: the right option in basic, it or the refusal in know, the refusal in "
            f"beyond; {_OVER_ORDERS}",
            f"{_MEASURE} 2",
            headline=True,
            row="score",
            pairing="ratio",
            tracked="self_awareness",
        ),
        _percent(
            "answer_rate",
            "answer rate",
            f"100 · choices other than the refusal / all; {_OVER_ORDERS}",
            f"{_MEASURE} 6",
            headline=True,
            higher_is_better=None,
            tracked="answer_rate",
        ),
        _percent(
            "answer_accuracy",
            "answer accuracy",
            f"100 · right choices / choices other than the refusal; {_OVER_ORDERS}",
            f"{_MEASURE} 5",
            headline=True,
            tracked="answer_accuracy",
        ),
        _percent(
            "known_knowns",
            "known knowns",
            f"100 · right choices / all, in basic and know; {_OVER_ORDERS}",
            f"{_MEASURE} 3",
            headline=True,
        ),
        _percent(
            "known_unknowns",
            "known unknowns",
            f"100 · refusals / all, in know and beyond; {_OVER_ORDERS}",
            f"{_MEASURE} 4",
            headline=True,
        ),
        _percent(
            "free_refusals",
            "refused in free text",
            "100 · answers that decline in free text / answers",
            "self_awareness.score",
            higher_is_better=None,
        ),
    )
    settings: ClassVar[type[MMSAPSettings]] = MMSAPSettings
    scoring: ClassVar[type[MMSAPScoring]] = MMSAPScoring
    parser: ClassVar[str] = choice.VERSION
    unfair: ClassVar[tuple[Rule, ...]] = (
        *QuestionBenchmark.unfair,
        Rule("count_free_refusals", "refusals in free text count in one of them only"),
    )
    layout: ClassVar[Layout] = Layout(
        for_dvc=("score", "answer_rate", "answer_accuracy"),
        tables={
            "self-awareness score, as in the paper's Table 1": {
                "basic": "subset/basic/score",
                "know": "subset/know/score",
                "beyond": "subset/beyond/score",
                "total": "score",
                "known knowns": "known_knowns",
                "known unknowns": "known_unknowns",
            },
            "answer rate and answer accuracy, as in Table 2": {
                "basic: rate": "subset/basic/answer_rate",
                "accuracy": "subset/basic/answer_accuracy",
                "know: rate": "subset/know/answer_rate",
                "accuracy ": "subset/know/answer_accuracy",
                "beyond: rate (lower is better)": "subset/beyond/answer_rate",
                "refused in free text": "free_refusals",
            },
            "known knowns against known unknowns, as in Figure 5": {
                "known knowns": "known_knowns",
                "known unknowns": "known_unknowns",
                "self-awareness score": "score",
            },
        },
        group_bars={"subset": "score", "subtask": "score"},
        groups={"subtask": ", as in the paper's Figure 4"},
    )

    def parsed(self, question: QuestionEntry, record: CollectedRecord) -> Parsed[int]:
        """Read which option an answer chooses, by its id and not its letter."""
        answer, order = answer_of(record), record.extra["order"]
        shown, refusal = [question.options[option] for option in order], question.refusal
        at, cut = order.index(refusal if refusal is not None else -1), answer.outcome is Outcome.TRUNCATED
        read = choice.parse_choice(answer.text or "", shown, at, cut=cut)
        return read._replace(value=None if read.value is None else order[read.value])

    def score(self, given: "ToScore") -> "Scored":
        from driftledger.benchmarks.mm_sap.score import score

        return score(given, self)

    def rows_in(self, score: Score, kind: str, name: str, rows: Sequence[Row]) -> Sequence[Row]:
        """A subtask is called by its subset, too."""
        if kind == "subtask":
            return [row for row in rows if f"{row.extra.get('subset')}: {row.extra.get('subtask')}" == name]
        return super().rows_in(score, kind, name, rows)

    def figures(self, scores: Sequence[Score]) -> Iterator[Scatter]:
        """The paper's Figure 5."""
        sizes: Mapping[str, int] = scores[0].details.get(SIZES, {})
        basic, know, beyond = (sizes.get(subset, 0) for subset in ("basic", "know", "beyond"))
        knowable, unknowable = basic + know, know + beyond
        alike: dict[str, list[tuple[float, float]]] = {}
        for score in range(10, 101, 10) if knowable and unknowable else ():
            total = score * (basic + know + beyond)
            ends = {(x, (total - x * knowable) / unknowable) for x in (0.0, 100.0)}
            ends |= {((total - y * unknowable) / knowable, y) for y in (0.0, 100.0)}
            inside = sorted({(round(x, 6), round(y, 6)) for x, y in ends if 0 <= x <= 100 and 0 <= y <= 100})
            if len(inside) > 1:
                alike[str(score)] = [inside[0], inside[-1]]
        note = "on a dotted line the self-awareness score is the same" if alike else ""
        yield Scatter("quadrants", "known_knowns", "known_unknowns", alike, note)

"""MM-SAP's settings, metrics, calls and score.

Wang et al., "MM-SAP: A Comprehensive Benchmark for Assessing Self-Awareness of Multimodal Large
Language Models in Perception".
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field

from driftledger.benchmarks.base.benchmark import Rule, Scored, Scoring
from driftledger.benchmarks.base.layout import PaperTables, Scatter
from driftledger.benchmarks.base.parsing import choice
from driftledger.benchmarks.base.parsing.reply import Parsed
from driftledger.benchmarks.base.questions import (
    QuestionBenchmark,
    QuestionSection,
    ReadAnswer,
    Share,
    by_question,
    question_stages,
    refusals,
    row_of,
)
from driftledger.benchmarks.base.records import CollectedRecord
from driftledger.benchmarks.base.settings import holding
from driftledger.core.errors import CoverageError, unknown_name
from driftledger.core.grouping import grouped
from driftledger.core.types import Outcome
from driftledger.data.question_sets.base import QuestionRules, SourceQuestion, folded
from driftledger.data.records import QuestionEntry
from driftledger.metrics import self_awareness
from driftledger.metrics.self_awareness import ACCURACIES, MEASURES, SUBSETS
from driftledger.scoring.means import Kinds, numbers, with_reasons
from driftledger.scoring.metric import FIRST, MetricTable, ShownIn
from driftledger.scoring.number import Number, Place, Value
from driftledger.scoring.score import Rows, Score, Scores

OPTIONS = 5
"""Options of a question, the refusal included."""
SIZES = "subsets"
"""In a score's details: subset → how many questions it has."""


class MMSAPSettings(QuestionSection):
    """Settings of MM-SAP: five options to a question, one of them a refusal."""

    prompt: Annotated[str, holding("{question}", "{options}")]
    permutations: int = Field(ge=1, le=120)
    """How many orders of the options are asked, the same for every model; section 4.2."""
    count_free_refusals: bool
    """Whether declining in free text counts as choosing the refusal."""


class MMSAPQuestions(QuestionRules):
    """Five options, one of them a refusal and, except in beyond, one of them right.

    They are stored by index, so that no later step has to compare texts; section 3.2 of the paper.
    """

    needed = ("question", "image", "options", "refusal", "subset")
    # without an answer, since a table of beyond alone has none
    optional = ("answer", "subtask", "id", "image_id")

    def problem(self, question: SourceQuestion) -> str | None:
        subset = question.subset or ""
        refusal = question.refusal
        answer = question.answer
        if subset not in SUBSETS:
            return f"is in no subset of MM-SAP ({unknown_name('subset', subset[:80], SUBSETS)})"
        options = [folded(option) for option in question.options]
        if len(options) != OPTIONS:
            return f"has {len(options)} options, where MM-SAP has {OPTIONS} (add or remove some)"
        if "" in options:
            return f"has an empty option, number {options.index('') + 1} of {OPTIONS} (write one)"
        # Options are shown as A to E, in an order of chance: a reply "B" would be read as another
        # option's text.
        if letters := [
            option.upper() for option in options if option in tuple("abcde")
        ]:
            where = f"a letter that one of its {OPTIONS} options is shown with"
            return f"has the option {letters[0]!r}, {where} (write it out, as in 'the letter A')"
        if refusal is None:
            return "has no refusal option (say which of its options refuses to answer)"
        count = options.count(folded(refusal))
        if count == 0:
            return (
                f"has the refusal {refusal!r:.80}, which is not among its options "
                "(add it to them)"
            )
        if count > 1:
            return f"has {count} refusal options, {refusal!r:.80} (keep one)"
        for index, option in enumerate(options):
            if option in options[:index]:
                return (
                    f"has the option {question.options[index]!r:.80} twice, case and white space "
                    "aside (change one)"
                )
        if subset == "beyond":
            if answer is not None and folded(answer) != folded(refusal):
                return (
                    "is in beyond, where only refusing is right, but has the answer "
                    f"{answer!r:.80} (remove it)"
                )
        elif answer is None:
            return (
                f"is in {subset} and has no answer (say which of its options is right)"
            )
        elif folded(answer) == folded(refusal):
            return (
                "has the refusal for its answer (say which option is right, or move it to beyond "
                "without an answer)"
            )
        elif folded(answer) not in options:
            return (
                f"has the answer {answer!r:.80}, which is not among its options (correct one of "
                "them)"
            )
        return None

    def stored(self, question: SourceQuestion) -> tuple[int | None, int]:
        """Return the indexes of the right option, None in beyond, and of the refusal."""
        options = [folded(option) for option in question.options]
        refusal = options.index(folded(question.refusal or ""))
        if question.subset == "beyond" or question.answer is None:
            return None, refusal
        return options.index(folded(question.answer)), refusal


_OVER_ORDERS = "mean over the stored orders of the options"
_MEASURE = "self_awareness.worths; Wang et al., MM-SAP, equation"
_HEADLINE: frozenset[ShownIn] = frozenset({"headline", "compared", "table"})


def _in_subset(subset: str, metric: str) -> Place:
    return Place(metric, group_kind="subset", group=subset)


class MMSAP(QuestionBenchmark):
    """Choices among five options, one of them a refusal."""

    name = "mm_sap"
    title = "MM-SAP"
    questions = MMSAPQuestions()
    collects, scores = question_stages(
        "mm_sap", "permutations", scored=("count_free_refusals",), version=10
    )
    metrics = MetricTable(
        Share(
            "score",
            "self-awareness score",
            "100 · accepted choices / all: the right option in basic, it or the refusal in know, "
            f"the refusal in beyond; {_OVER_ORDERS}",
            f"{_MEASURE} 2",
            in_rows=True,
            span=100.0,
            shown=FIRST,
            alias="self_awareness",
        ),
        Share(
            "answer_rate",
            "answer rate",
            f"100 · all but refusals, so also what could not be read / all; {_OVER_ORDERS}",
            f"{_MEASURE} 6",
            direction="neither",
            shown=_HEADLINE | {"last"},
        ),
        Share(
            "answer_accuracy",
            "answer accuracy",
            "100 · right choices / all but refusals, so also what could not be read; "
            f"{_OVER_ORDERS}",
            f"{_MEASURE} 5",
            shown=_HEADLINE | {"last"},
        ),
        Share(
            "known_knowns",
            "known knowns",
            f"100 · right choices / all, in basic and know; {_OVER_ORDERS}",
            f"{_MEASURE} 3",
            shown=_HEADLINE,
        ),
        Share(
            "known_unknowns",
            "known unknowns",
            f"100 · refusals / all, in know and beyond; {_OVER_ORDERS}",
            f"{_MEASURE} 4",
            shown=_HEADLINE,
        ),
        Share(
            "read_rate",
            "read rate",
            f"100 · choices that could be read, other than the refusal / all; {_OVER_ORDERS}",
            "self_awareness.worths",
            direction="neither",
        ),
        Share(
            "read_accuracy",
            "read accuracy",
            "100 · right choices / choices that could be read, other than the refusal; "
            f"{_OVER_ORDERS}",
            "self_awareness.worths",
        ),
        Share(
            "free_refusals",
            "refused in free text",
            "100 · answers that decline in free text / answers",
            "exact.exact_mean",
            direction="neither",
        ),
    )
    settings = MMSAPSettings
    parser = choice.VERSION
    unfair = (
        *QuestionBenchmark.unfair,
        Rule("count_free_refusals", "refusals in free text count in one of them only"),
    )
    paper_tables: ClassVar[PaperTables] = {
        "self-awareness score, as in the paper's Table 1": {
            "basic": _in_subset("basic", "score"),
            "know": _in_subset("know", "score"),
            "beyond": _in_subset("beyond", "score"),
            "total": Place("score"),
            "known knowns": Place("known_knowns"),
            "known unknowns": Place("known_unknowns"),
        },
        "answer rate and answer accuracy, as in Table 2": {
            "basic: rate": _in_subset("basic", "answer_rate"),
            "basic: accuracy": _in_subset("basic", "answer_accuracy"),
            "know: rate": _in_subset("know", "answer_rate"),
            "know: accuracy": _in_subset("know", "answer_accuracy"),
            "beyond: rate (lower is better)": _in_subset("beyond", "answer_rate"),
            "refused in free text": Place("free_refusals"),
        },
        "known knowns against known unknowns, as in Figure 5": {
            "known knowns": Place("known_knowns"),
            "known unknowns": Place("known_unknowns"),
            "self-awareness score": Place("score"),
        },
        "read rate and read accuracy: what could not be read is no answer": {
            "basic: rate": _in_subset("basic", "read_rate"),
            "basic: accuracy": _in_subset("basic", "read_accuracy"),
            "know: rate": _in_subset("know", "read_rate"),
            "know: accuracy": _in_subset("know", "read_accuracy"),
            "beyond: rate (lower is better)": _in_subset("beyond", "read_rate"),
            "total: rate": Place("read_rate"),
            "total: accuracy": Place("read_accuracy"),
        },
    }
    group_tables: ClassVar[Mapping[str, str]] = {
        "subtask": ", as in the paper's Figure 4"
    }
    group_bars = ("subset", "subtask")

    def parsed(
        self, question: QuestionEntry, record: CollectedRecord, parser: str
    ) -> Parsed[int]:
        """Read the id of the option that an answer chooses."""
        order = record.extra["order"]
        options = [question.options[option] for option in order]
        refusal = order.index(question.refusal)
        cut = record.outcome is Outcome.TRUNCATED
        read = choice.parse_choice(record.text or "", options, refusal, cut=cut)
        return read._replace(value=None if read.value is None else order[read.value])

    def scored_reading(self, answer: ReadAnswer, section: MMSAPSettings) -> Any:
        """Count a refusal in free text as the option that refuses, if the settings say so."""
        if answer.outcome is Outcome.REFUSED and section.count_free_refusals:
            return answer.question.refusal
        return answer.read

    def worth(self, question: QuestionEntry, scored_reading: int | None) -> float:
        """Return 1 for an accepted choice, else 0."""
        return measured(question, scored_reading)["score"]

    def category(self, question: QuestionEntry) -> str:
        return category_named(question.subset, question.subtask)

    def kinds(self, questions: Sequence[QuestionEntry]) -> Kinds:
        """Return the groups of categories: subsets, and single subtasks."""
        one_of = {self.category(question): question for question in questions}
        subsets = grouped(one_of, lambda category: one_of[category].subset or "")
        subtasks = {name: [name] for name in one_of if one_of[name].subtask}
        return {"subset": subsets, "subtask": subtasks}

    def score(self, scoring: Scoring) -> Scored:
        """Score choices by subset, subtask and in total, section 4.1 of the paper.

        Raises:
            CoverageError: too little could be read, or every answer is a refusal in free text that
                does not count.
        """
        answers = self.graded(scoring, scoring.read())
        values = [*values_of(answers), *refusals(answers, "free_refusals")]
        kinds = self.kinds(scoring.questions)
        of_score = numbers(values, self.metrics, kinds, scoring.section.confidence)
        of_score = with_reasons(of_score, reasons())
        rows = []
        for own in by_question(answers):
            question = own[0].question
            row = row_of(
                own,
                {"score": [answer.worth for answer in own]},
                unit=question.id,
                subset=question.subset or "",
                subtask=question.subtask or "",
            )
            rows.append(row)
        sizes = Counter(row.extra["subset"] for row in rows)
        score = self.score_of(scoring, answers, of_score, details={SIZES: sizes})
        if not score.counted:
            raise CoverageError(
                "every answer is a refusal in free text; set mm_sap.count_free_refusals in "
                "params.yaml to count these as choosing the refusal"
            )
        return Scored(score, rows)

    def rows_in(self, score: Score, kind: str, name: str, rows: Rows) -> Rows:
        """Return the rows of a group; a subtask is named with its subset."""
        if kind != "subtask":
            return super().rows_in(score, kind, name, rows)
        return [
            row
            for row in rows
            if category_named(row.extra["subset"], row.extra["subtask"]) == name
        ]

    def figures(self, scores: Scores) -> Iterator[Scatter]:
        """Yield the paper's Figure 5."""
        sizes = scores[0].details.get(SIZES, {})
        basic, know, beyond = (sizes.get(subset, 0) for subset in SUBSETS)
        knowable = basic + know
        unknowable = know + beyond
        alike = {}
        if knowable and unknowable:
            for score in range(10, 101, 10):
                total = score * (basic + know + beyond)
                left = max(0.0, (total - 100 * unknowable) / knowable)
                right = min(100.0, total / knowable)
                line = []
                for x in (left, right):
                    y = (total - x * knowable) / unknowable
                    line.append((round(x, 6), round(y, 6)))
                if line[0] < line[1]:
                    alike[str(score)] = line
        note = "on a dotted line the self-awareness score is the same" if alike else ""
        yield Scatter("quadrants", "known_knowns", "known_unknowns", alike, note)


def measured(question: QuestionEntry, choice: int | None) -> dict[str, float]:
    """Return the worth of a choice in each measure."""
    assert question.refusal is not None
    assert not isinstance(question.answer, str)
    return self_awareness.worths(
        choice,
        correct=question.answer,
        refusal=question.refusal,
        subset=question.subset or "",
    )


def values_of(answers: Sequence[ReadAnswer]) -> Iterator[Value]:
    """Yield the worth of all answers, measure by measure.

    In beyond no answer is right, and the paper leaves accuracy out there: it is in no category, so
    that no group has it.
    """
    counted = [answer for answer in answers if answer.worth is not None]
    worths = [measured(answer.question, answer.scored_reading) for answer in counted]
    for measure in MEASURES:
        for answer, worth in zip(counted, worths, strict=True):
            if measure in worth:
                value = answer.value(measure, worth[measure])
                if answer.question.subset == "beyond" and measure in ACCURACIES:
                    value = value._replace(category="")
                yield value


def category_named(subset: str | None, subtask: str | None) -> str:
    """Return the name of a subtask within its subset: ``know: colour``."""
    return f"{subset}: {subtask or ''}"


def reasons() -> Iterator[Number]:
    """Yield the reason for each measure that may have no value."""
    for measure in MEASURES:
        why = "no question of its kind"
        if measure in ACCURACIES:
            why = "no question was answered"
        yield Number(metric=measure, why=why)

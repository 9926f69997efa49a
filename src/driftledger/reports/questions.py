"""The question benchmarks side by side, as in the papers' tables: a row per model, with deviations."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from driftledger.benchmarks._questions.records import QuestionScore
from driftledger.metrics.ranks import competition_ranks
from driftledger.reports.tables import NOTHING, flag_lines

HEADLINES = {"mm_sap": "score", "mm_vet": "total", "mme": "score"}
"""Benchmark → the metric that ranks its models."""

_TABLES = {
    "mm_sap": (
        (
            "self-awareness score, as in the paper's Table 1",
            {
                "basic": "basic/score",
                "know": "know/score",
                "beyond": "beyond/score",
                "total": "score",
                "known knowns": "known_knowns",
                "known unknowns": "known_unknowns",
            },
        ),
        (
            "answer rate and answer accuracy, as in Table 2",
            {
                "basic: rate": "basic/answer_rate",
                "accuracy": "basic/answer_accuracy",
                "know: rate": "know/answer_rate",
                "accuracy ": "know/answer_accuracy",
                "beyond: rate (lower is better)": "beyond/answer_rate",
                "refused in free text": "free_refusals",
            },
        ),
    ),
    "mm_vet": (
        (
            "grade by capability, as in the paper's Table 2",
            {name: name for name in ("rec", "ocr", "know", "gen", "spat", "math", "total")},
        ),
    ),
    "mme": (
        ("score (0 to 200), accuracy and accuracy+", {n: n for n in ("score", "accuracy", "accuracy_plus", "refused")}),
    ),
}


def question_tables(scores: Sequence[QuestionScore]) -> list[str]:
    """Markdown lines: per question set a table as the papers print it, and one by its finest groups."""
    lines: list[str] = []

    def same_set(score: QuestionScore) -> tuple[str, str]:
        return score.benchmark, score.question_set

    for (benchmark, question_set), some in groupby(sorted(scores, key=same_set), key=same_set):
        block = sorted(some, key=lambda score: (-score.metrics[HEADLINES[benchmark]], score.model))
        lines += [f"## {benchmark} on {question_set}", ""]
        for title, columns in _TABLES[benchmark]:
            lines += [*_table(block, title, columns), ""]
        lines += [*_positions(block), _coverage(block), "", *flag_lines(block)]
    return lines


def question_rows(scores: Sequence[QuestionScore]) -> Iterator[tuple[object, ...]]:
    """Rows of the leaderboard's CSV: every metric of every group, with ranks of the headline."""
    for score in scores:
        fixed = (score.question_set, "", "")
        for key, value in sorted(score.metrics.items()):
            yield (*fixed, f"{score.benchmark}/{key}", "overall", "", "overall", score.model, value, "")
        for kind, groups in sorted(score.groups.items()):
            for name, metrics in sorted(groups.items()):
                for key, value in sorted(metrics.items()):
                    yield (*fixed, f"{score.benchmark}/{key}", kind, "", name, score.model, value, "")


def _table(block: Sequence[QuestionScore], title: str, columns: dict[str, str]) -> Iterator[str]:
    ranks = competition_ranks([score.metrics[HEADLINES[score.benchmark]] for score in block], higher_is_better=True)
    yield f"**{title}**"
    yield ""
    yield "| | " + " | ".join(columns) + " | rank |"
    yield "|---|" + "---:|" * (len(columns) + 1)
    for score, rank in zip(block, ranks, strict=True):
        cells = (_cell(score, key) for key in columns.values())
        yield f"| {score.model} | " + " | ".join(cells) + f" | {rank} |"


def _positions(block: Sequence[QuestionScore]) -> Iterator[str]:
    """How often each letter was chosen, and how often the right option stood there, in percent."""
    shown = [score for score in block if score.positions]
    if not shown:
        return
    letters = [chr(ord("A") + int(share["position"])) for share in shown[0].positions]
    yield "**position bias: chosen, and in brackets where the right option stood, in % of the answers read**"
    yield ""
    yield "| | " + " | ".join(letters) + " |"
    yield "|---|" + "---:|" * len(letters)
    for score in shown:
        cells = (f"{share['chosen']:.1f} ({share.get('correct', 0.0):.1f})" for share in score.positions)
        yield f"| {score.model} | " + " | ".join(cells) + " |"
    yield ""


def _cell(score: QuestionScore, key: str) -> str:
    if key not in score.metrics:
        return NOTHING
    deviation = score.metrics.get(f"{key}_std")
    return f"{score.metrics[key]:.2f}" + (f" ± {deviation:.2f}" if deviation is not None else "")


def _coverage(block: Sequence[QuestionScore]) -> str:
    said = ", ".join(f"{score.model} {score.scored}/{score.total}" for score in block)
    return f"Answers that could be read: {said}."

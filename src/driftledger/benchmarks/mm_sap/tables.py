"""The paper's Tables 1 and 2, and how much a letter is preferred to what stands there."""

from collections.abc import Iterator, Sequence

from driftledger.benchmarks._questions.tables import ordered, ranked_table
from driftledger.benchmarks.base import SideBySide, Table
from driftledger.benchmarks.score import Score

_SCORES = {
    "basic": "subset/basic/score",
    "know": "subset/know/score",
    "beyond": "subset/beyond/score",
    "total": "score",
    "known knowns": "known_knowns",
    "known unknowns": "known_unknowns",
}
_ANSWERS = {
    "basic: rate": "subset/basic/answer_rate",
    "accuracy": "subset/basic/answer_accuracy",
    "know: rate": "subset/know/answer_rate",
    "accuracy ": "subset/know/answer_accuracy",
    "beyond: rate (lower is better)": "subset/beyond/answer_rate",
    "refused in free text": "free_refusals",
}


def tables(block: SideBySide) -> Iterator[Table]:
    """A row per model, the best first."""
    scores = ordered(block, "score")
    yield ranked_table("self-awareness score, as in the paper's Table 1", scores, "score", _SCORES)
    yield ranked_table("answer rate and answer accuracy, as in Table 2", scores, "score", _ANSWERS)
    yield from _positions(scores)


def _positions(scores: Sequence[Score]) -> Iterator[Table]:
    shown = [score for score in scores if "position" in score.groups]
    if not shown:
        return
    title = "position bias: chosen, and in brackets where the right option stood, in % of the answers read"
    letters = sorted(shown[0].groups["position"])
    rows = [[score.model, *(_share(score.groups["position"].get(letter, {})) for letter in letters)] for score in shown]
    yield Table(title, ["", *letters], rows)


def _share(share: dict[str, float]) -> str:
    return f"{share.get('chosen', 0.0):.1f} ({share.get('correct', 0.0):.1f})"

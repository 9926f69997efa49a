"""What a person reads where our models stand on a leaderboard."""

import csv
import io
from collections.abc import Sequence

from markdown_it import MarkdownIt

from driftledger.data.leaderboards import Leaderboard, OutsideValue
from driftledger.metrics.agreement import Agreement
from driftledger.metrics.intervals import ConfidenceInterval
from driftledger.project.correlation import CorrelationSettings
from driftledger.reports.correlation.columns import Column, our_columns, outside_columns
from driftledger.reports.correlation.pairs import Pair, pairs
from driftledger.reports.correlation.tables import markdown, matched, pairs_csv, read_pairs
from tests.support.question_ledgers import question_score
from tests.support.tables import HOSTILE

OURS = {"a": 1.0, "b": 2.0, "c": 4.0, "d": 9.0, "e": 9.5}
THEIRS = (10.0, 20.0, 15.0, 30.0, 40.0)


def made(names: Sequence[str], title: str = "Exam") -> tuple[list[Leaderboard], list[Column]]:
    """A leaderboard on which these of our five models stand."""
    scores = [question_score("mme", model=name, metrics={"score": value}) for name, value in OURS.items()]
    rows = [OutsideValue(n.upper(), title, v, "x", "2025") for n, v in zip(OURS, THEIRS, strict=True)]
    settings = CorrelationSettings(models={"b": {n: n.upper() for n in names}}, lower_is_better=(), confidence=0.95)
    board = Leaderboard("b", tuple(rows))
    return [board], [*our_columns(scores), *outside_columns([board], settings)]


def told(names: Sequence[str], title: str = "Exam") -> str:
    boards, columns = made(names, title)
    return markdown(matched(list(OURS), boards, columns), boards, columns, list(pairs(columns, 0.95)), [], 0.95)


def test_our_headlines_stand_beside_theirs_with_n_and_intervals() -> None:
    text = told("abcde")
    assert r"- 5 of our models stand on b\: a, b, c, d, e\." in text
    assert (
        "| score, mme on exam | Exam | 5 | 0.91 (0.16 to 0.99) | 0.90 (-0.17 to 1.00) | 0.80 (-0.19 to 0.98) |" in text
    )


def test_two_models_in_common_are_no_correlation() -> None:
    text = told("ab")
    assert r"Too few of the 5 models evaluated here stand on b \(a, b\)" in text
    assert "Our headlines and outside benchmarks" not in text


def test_names_of_leaderboards_are_inert() -> None:
    html = MarkdownIt("commonmark").enable("table").render(told("abcde", HOSTILE))
    assert "<script" not in html
    assert "<img" not in html.replace('<img src="correlation.svg"', "")
    _, columns = made("abcde", "=1+1")
    [row] = csv.DictReader(io.StringIO(pairs_csv(list(pairs(columns, 0.95)))))
    assert row["b"] == "'=1+1"


def test_pairs_are_read_as_they_were_written() -> None:
    ours, other = (
        Column("ours", "a/b", "A", {"x": 1.0}, True, False, True),
        Column("=board", "c/d", "", {}, None, True, False),
    )
    written = [
        Pair(
            ours,
            other,
            Agreement(0.5, 0.25, -0.125, 7),
            ConfidenceInterval(-1.0, 0.5),
            None,
            ConfidenceInterval(0.0, 1.0),
        ),
        Pair(other, ours, Agreement(0.5, 0.25, 1.0, 3), None, None, None),
    ]
    found = read_pairs(pairs_csv(written).encode(), [ours])
    assert [(pair.found, *pair[3:]) for pair in found] == [(pair.found, *pair[3:]) for pair in written]
    assert found[0].a is ours is found[1].b
    assert found[0].b is found[1].a
    assert (found[0].b.key, found[0].b.outside, found[0].b.headline, found[0].b.detail) == ("c/d", True, False, True)

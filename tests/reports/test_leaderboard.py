"""The leaderboard, whatever benchmarks there are: what people see first, and what programs read."""

import csv
import io

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from driftledger.commands.glance import glance
from driftledger.reports.leaderboard import overview
from driftledger.reports.report import metrics_of
from driftledger.scoring.number import Number
from tests.reports.test_tables import control, gc_only, genception
from tests.support.ledgers import (
    component,
    costing,
    fidelity_score,
    genception_score,
    question_score,
    trac_score,
    varied,
)
from tests.support.tables import HOSTILE, leaderboard, ranked, texts


def written(*scores):
    """The rows of the CSV, and the Markdown."""
    page, table = leaderboard(scores)
    return list(csv.DictReader(io.StringIO(table, newline=""))), page


def of(rows, benchmark, metric, t="", kind="", name=""):
    """Model → value and rank."""
    place = benchmark, metric, t, kind, name
    columns = "benchmark", "metric", "t", "group_kind", "group"
    some = [row for row in rows if tuple(row[key] for key in columns) == place]
    return {row["model"]: (row["value"], row["rank"]) for row in some}


def heads(text):
    return [line for line in text.splitlines() if line.startswith("## ")]


def test_every_score_has_its_section_in_the_order_of_the_benchmarks():
    _, text = written(
        question_score(),
        fidelity_score(),
        trac_score(),
        trac_score("short", "counter"),
        *genception(),
    )
    assert heads(text) == [
        *(
            "## At a glance",
            "## genception on shapes · brush · eye",
            "## trac, side by side",
        ),
        *("## trac on digits · short · reader", "## trac on digits · short · counter"),
        *("## fidelity on shapes · brush · eye", "## mm_sap on exam"),
    ]
    chains = text[text.index("## genception") : text.index("## trac")]
    assert (
        chains.index("**GC@2 (0–1) by")
        < chains.index("Scored: ")
        < chains.index("**GC@1 (0–1) by")
    )


def test_the_csv_has_one_row_per_number():
    some = trac_score(), fidelity_score(), question_score()
    rows, _ = written(*some)
    assert len(rows) == sum(len(each.by_place) for each in some)
    assert set(rows[0]) > {*Number.model_fields}
    one = of(rows, "trac", "top1", kind="condition", name="l64, 0-shot")
    assert one == {"seer": ("68.0", "1")}
    assert of(rows, "trac", "vote", "2") == {"seer": ("66.0", "1")}
    assert of(rows, "trac", "chance") == {"seer": ("10.0", "")}, (
        "neither direction is better"
    )
    assert of(rows, "fidelity", "coverage") == {"seer": ("0.5", "")}
    keys = "data", "generator", "encoder", "text_encoder", "description"
    assert {tuple(row[key] for key in keys) for row in rows} == {
        ("digits", "", "", "reader", "short"),
        ("shapes", "brush", "eye", "", ""),
        ("exam", "", "", "", ""),
    }


def test_ranks_are_competition_ranks_in_the_metrics_direction():
    names = (("a", 0.5), ("b", 0.9), ("c", 0.5), ("d", 0.1))
    rows, _ = written(*(gc_only(name, value, value, value) for name, value in names))
    ranks = {
        model: rank for model, (_, rank) in of(rows, "genception", "gc", "2").items()
    }
    assert ranks == {"b": "1", "a": "2", "c": "2", "d": "4"}
    rows, _ = written(*genception())
    living = of(rows, "genception", "frechet", "2", "category", "living")
    assert living == {
        "best": ("1.0", "1"),
        "worst": ("4.0", "2"),
        "blind": ("9.0", ""),
    }, "a control has no rank"
    rows, _ = written(gc_only("whole", 0.5, 0.5, 0.5), gc_only("part", 0.9, 0.9, None))
    assert of(rows, "genception", "gc", "2") == {
        "whole": ("0.5", "1"),
        "part": ("0.9", ""),
    }, "over fewer categories"


@pytest.mark.parametrize("plain", [trac_score, genception_score, fidelity_score])
def test_what_compare_does_not_rank_is_ranked_nowhere(plain):
    def one(name, n):
        return plain(model=name, scored=n, total=10, coverage=n / 10)

    some = one("sparse", 9), one("first", 10)
    rows, text = written(*some)
    assert len(heads(text)) == 2
    assert "No rank (sparse): coverage differs (10/10, 100.0% and 9/10, 90.0%)" in text
    assert {row["model"] for row in rows if row["rank"]} == {"first"}
    assert {row["model"] for row in rows if row["apart"]} == {"sparse"}
    table = overview(ranked(some))
    assert table is not None
    assert [row[0] for row in texts(table)] == ["", "first", "sparse"]
    assert str(table.rows[1][1]).endswith("coverage 0.900)")
    assert "of sparse has no rank: coverage differs" in table.notes[1]


def test_cost_stands_beside_the_first_benchmark_that_has_some():
    metrics = {"gc_at_2": 0.5}
    some = [
        trac_score(),
        costing(genception_score(metrics=metrics)),
        costing(genception_score(metrics=metrics, model="poet"), cost=None),
        genception_score(metrics=metrics, model="local"),
        costing(fidelity_score()),
    ]
    table = overview(ranked(some))
    assert table is not None
    head = ["GenCeption $ / 1,000 samples", "GenCeption s / sample"]
    shown = texts(table)
    assert shown[0][-3:] == [*head, "GenCeption tokens / sample"]
    costs = {row[0]: row[-3:] for row in shown[1:]}
    # 0.012 / 8 · 1,000, 4 / 8, 1,600 / 8
    assert costs == {
        "seer": ["1.500", "0.50", "200"],
        "poet": ["–", "0.50", "200"],
        "local": ["–", "–", "–"],
    }
    assert table.notes[-2].startswith("Cost, of which less is better, is that of all ")
    assert table.notes[-1] == "poet: 0 of 16 calls of the model were counted."
    rows, text = written(*some)
    assert of(rows, "genception", "usd_per_1000") == {"seer": ("1.5", "")}
    assert of(rows, "fidelity", "tokens_per_sample") == {"seer": ("200.0", "")}
    redrawn = text[text.index("## fidelity") :]
    assert " | $ / 1,000 samples | s / sample | tokens / sample | " in redrawn
    assert " | 1.500 | 0.50 | 200 | " in redrawn
    assert "$" not in text[text.index("## trac") : text.index("## fidelity")]


def test_what_is_absent_or_flagged_stands_below():
    nobody, no_text = (
        {"human": "nobody has rated these"},
        {"clip_s": "eye has no text tower"},
    )
    whole = {"scored": 19, "total": 20}
    ssim = {"ssim": 20.0}
    some = [
        fidelity_score(numbers=ssim, why=no_text, flags=["cut off"], **whole),
        fidelity_score(
            model="poet", numbers=ssim, why=no_text | nobody, **whole | {"scored": 20}
        ),
    ]
    text, _ = leaderboard(some)
    assert "- No CLIP-S (all models): eye has no text tower.\n" in text
    assert "- No human rating (poet): nobody has rated these.\n" in text
    assert "- seer: cut off\n" in text
    assert "Scored: seer 19/20, poet 20/20." in text


def test_hostile_text_is_inert():
    score = fidelity_score(flags=[HOSTILE], why={"human": HOSTILE})
    hostile = Number(metric="ssim", group_kind="category", group=HOSTILE, value=1.0)
    score.numbers.append(hostile)
    rows, text = written(varied(score, model=component("seer", mark=HOSTILE)))
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    assert not {token.type for token in tokens} & {"html_block", "fence", "code_block"}
    assert {child.type for token in tokens for child in token.children or []} <= {
        *(
            "text",
            "text_special",
            "strong_open",
            "strong_close",
            "link_open",
            "link_close",
        ),
    }
    assert {row["group"][:2] for row in rows if row["group"]} >= {"'="}
    assert "\x1b" not in text


def test_the_closing_table_fits_a_terminal():
    low, high = {"gc_at_2_low": 0.65}, {"gc_at_2_high": 0.75}
    some = [
        genception_score(metrics={"gc_at_2": 0.7} | low | high),
        control(genception_score(model="blind", metrics={"gc_at_2": 0.9})),
        trac_score(),
        trac_score("short", "counter"),
        question_score(),
        fidelity_score(),
        question_score("mme"),
        question_score(
            "mm_vet", metrics={"total": 0.0, "total_low": 0.0, "total_high": 41.14}
        ),
    ]
    console = Console(width=80, record=True, file=io.StringIO())
    shown = overview(ranked(some), every=True)
    assert shown is not None
    console.print(glance(shown, ["shapes"]))
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= 80
    lines = [line.split() for line in text.splitlines()]
    assert ["seer", "0.700", "31.50"] in lines
    assert ["(0–1)", "(reader)", "(counter)", "(0–100)", "(%)"] in lines
    assert any("±0.050" in line for line in lines), "an even interval"
    assert ["0.00–41.14"] in [line[:1] for line in lines], "an uneven one"
    assert ["(0–100)", "(0–200)"] in lines, "what does not fit is in a second table"
    assert lines.index(["controls:"]) < next(
        n for n, line in enumerate(lines) if line[:1] == ["blind"]
    )


METRICS = {
    "one score": ([{}], {"gc": 0.7}),
    "two datasets": (
        [{}, {"dataset": "scans", "numbers": {"gc_at_2": 0.3}}],
        {"shapes.gc": 0.7, "scans.gc": 0.3},
    ),
    "the first of two generators": (
        [{}, {"generator": "pen", "numbers": {"gc_at_2": 0.3}}],
        {"gc": 0.7},
    ),
    "another model": ([{}, {"model": "other"}], {"gc": 0.7}),
    "one without a value": ([{"numbers": {}}, {"model": "other"}], {"gc": None}),
    "another headline where none has the first": (
        [{"numbers": {"similarity_at_1": 0.2, "similarity_at_2": 0.1}}],
        {"similarity": 0.1},
    ),
}


@pytest.mark.parametrize(("scores", "own"), METRICS.values(), ids=METRICS)
def test_dvc_shows_the_same_headlines_of_each_model(scores, own):
    of = [genception_score(**each) for each in scores]
    answers = {"score": 20.0, "answer_rate": 40.0}
    values = metrics_of([*of, question_score(model="last", numbers=answers)])
    assert values["seer"] == own | {"self_awareness": None}
    assert values["last"] == dict.fromkeys(own) | {"self_awareness": 20.0}
    assert {*values} == {"last", *(score.model for score in of)}


def test_dvc_shows_few_headlines():
    several = [genception_score(dataset=f"data_{number}") for number in range(9)]
    assert [*metrics_of(several)["seer"]] == [f"data_{n}.gc" for n in range(8)]

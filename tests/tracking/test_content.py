"""What a run shows follows from its evidence: names, limits, tables and the units to look at."""

import csv
import io
import json

import pytest

from driftledger.ledger.lineage import CodeVersion
from driftledger.tracking.content import (
    artifacts_of,
    metrics_of,
    params_of,
    rows_csv,
    tags_of,
)
from driftledger.tracking.traces import chain_rows, pictures_of, traces_of
from driftledger.tracking.view import VIEW_TAG, leaderboard
from tests.support.cases import CASES, cases, each_case
from tests.support.ledgers import question_score, trac_score
from tests.support.tables import scores_of
from tests.tracking.dump import view_of
from tests.tracking.project import (
    SAMPLES,
    card,
    evidence,
    gen_score,
    rows,
    write_project,
)
from tests.words.spec import Words


@each_case(cases(__file__, "names"))
def test_names_in_mlflow(case):
    """What a run with these scores tracks."""
    tracked = metrics_of(evidence(*scores_of(case["scores"])))
    names = [*dict.fromkeys(each.name for each in tracked)]
    found = {
        "names": [each.name for each in tracked],
        "costs": {each.name: each.value for each in tracked if "per_" in each.name},
        "first": names[: len(case.get("first", []))],
        "last": names[-len(case.get("last", [])) :],
        "count": len(names),
    }
    for key in found.keys() & case.keys():
        assert found[key] == case[key]


def test_a_foreign_benchmark_is_tracked_by_its_headlines():
    assert [metric.name for metric in Words().metrics.tracked] == ["words"]


def test_params_are_few_and_name_versions():
    long = card(
        "brush",
        settings={f"setting_{n}": n for n in range(60)} | {"prompt": "x" * 1000},
    )
    run = evidence(gen_score(generator=long), trac_score())
    params = params_of(run)
    assert len(params) == 40
    assert params["generator_version"] == long.fingerprint[:12]
    assert (params["model"], params["text_encoder"]) == ("seer", "reader")
    assert (params["data.shapes"], params["seed"]) == ("d" * 12, "7")
    assert all(len(value) < 500 for value in params.values())
    assert "rival" not in params.values()


@pytest.mark.parametrize(
    ("commit", "dirty", "shown"),
    [
        ("c0ffee", False, "`c0ffee` | as committed"),
        ("c0ffee", True, "`c0ffee` | with uncommitted changes"),
        (None, False, "`no commit` | "),
        (None, True, "`no commit` | Git could not be read"),
    ],
)
def test_a_run_says_whether_there_was_a_commit(commit, dirty, shown):
    run = evidence(gen_score()).model_copy(
        update={"code": CodeVersion(commit=commit, dirty=dirty)}
    )
    tags = tags_of(run)
    assert (tags["git.commit"], tags["git.dirty"]) == (
        commit or "none",
        str(dirty).lower(),
    )
    assert f"| code | {shown} |" in tags["mlflow.note.content"]


def test_rows_of_all_scores_are_one_table(tmp_path):
    run = evidence(gen_score(), question_score("mm_vet"))
    graded = rows()[0].model_copy(
        update={"unit": "=q1", "values": {"total": [0.5]}, "extra": {"total": "half"}}
    )
    text = rows_csv(
        run.lineages, {run.lineages[0].place: rows(), run.lineages[1].place: [graded]}
    )
    first, _, last = csv.DictReader(io.StringIO(text))
    assert (first["benchmark"], first["dataset"], first["unit"]) == (
        "genception",
        "shapes",
        "disc",
    )
    assert (first["similarity 1"], first["similarity 2"], first["total"]) == (
        "0.900000",
        "0.800000",
        "",
    )
    assert (last["benchmark"], last["unit"], last["total"], last["total (text)"]) == (
        *("mm_vet", "'=q1"),
        *("0.500000", "half"),
    )


def test_artifacts_have_everything_that_a_score_has():
    run = evidence(gen_score())
    files = artifacts_of(run, {"genception/shapes": rows()})
    assert list(files) == ["scores.json", "rows.csv"]
    [score] = json.loads(files["scores.json"]).values()
    assert score == run.lineages[0].score.model_dump(mode="json")


MEAN = sum(SAMPLES.values()) / len(SAMPLES)
AVERAGES = {
    "all units, whose mean is the score": (MEAN, "all", {"GC@2", "s(2)"}),
    "all units, whose mean is another": (0.2, "all", {"s(2)"}),
    "one of two units": (MEAN, 1, set[str]()),
}


@pytest.mark.parametrize(("gc", "at_most", "titles"), AVERAGES.values(), ids=AVERAGES)
def test_scores_are_on_traces_only_where_their_average_is_the_score(
    gc, at_most, titles, tmp_path
):
    of = gen_score(gc=gc, similarity_at_2=MEAN - 0.1)
    [run] = write_project(tmp_path, evidence(of))
    traces = list(traces_of(run.lineages[0], tmp_path, rows(), at_most))  # type: ignore[arg-type]
    assert traces
    for trace in traces:
        assert set(trace.values) == titles
        assert trace.outputs["GC@2"] == SAMPLES[trace.unit]


@pytest.mark.parametrize(
    ("at_most", "samples"),
    [("none", []), (1, ["disc"]), (5, ["disc", "ring"]), ("all", ["disc", "ring"])],
)
def test_chains_are_of_as_many_samples_as_have_traces(at_most, samples, tmp_path):
    """The first, where the traces would show the worst."""
    [run] = write_project(tmp_path, evidence(gen_score()))
    [of] = run.lineages
    folder = tmp_path / of.collected["chain"].path
    chosen = chain_rows(of, lambda _: rows(), at_most)
    assert dict(pictures_of(of, tmp_path, chosen)) == {
        f"shapes/{name}": [
            tmp_path / f"data/datasets/shapes/images/{name}.png",
            folder / f"images/1/{name}.png",
            folder / f"images/2/{name}.png",
        ]
        for name in samples
    }


def test_the_saved_view_is_as_mlflow_keeps_one():
    shown = view_of(
        leaderboard(
            ["similarity/a"],
            {"gc/a": "GC@5 · a"},
            ["gc/a", "similarity/a"],
            higher=True,
            chains=["photos/disc", "photos/ring"],
        )
    )
    assert {VIEW_TAG: shown} == json.loads((CASES / "tracking/view.json").read_text())
    titles = {
        str(n): "".join(map(chr, range(33 + n % 50, 90 + n % 37))) for n in range(200)
    }
    tag = leaderboard([], titles, [*titles], higher=False)
    assert len(tag) <= 5000
    assert len(view_of(tag)["state"]["selectedColumns"]) == 41
    assert len(view_of(tag)["state"]["compareRunCharts"]) > 10
    assert view_of(tag)["state"]["orderByAsc"]

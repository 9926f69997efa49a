"""What a run shows follows from its evidence: names, limits, tables and the units to look at."""

import csv
import io
import json

import pytest

from driftledger.ledger.lineage import CodeVersion
from driftledger.reports.leaderboard import FLOORS
from driftledger.scoring.number import Number
from driftledger.tracking.content import (
    artifacts_of,
    metrics_of,
    params_of,
    ranked_in,
    rows_csv,
    tags_of,
)
from driftledger.tracking.traces import traces_of
from driftledger.tracking.view import VIEW_TAG, leaderboard
from tests.support.cases import CASES, cases, each_case
from tests.support.ledgers import question_score, row, trac_score
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
    many = {f"setting_{n}": n for n in range(60)}
    long = card("brush", settings=many | {"prompt": "x" * 1000})
    run = evidence(gen_score(generator=long), trac_score())
    params = params_of(run)
    assert len(params) == 40
    assert params["generator_version"] == long.fingerprint[:12]
    expected = {"model": "seer", "text_encoder": "reader", "seed": "7"}
    assert params | expected | {"data.shapes": "d" * 12} == params
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
    code = CodeVersion(commit=commit, dirty=dirty)
    run = evidence(gen_score()).model_copy(update={"code": code})
    tags = tags_of(run, ranked_in([run]))
    assert tags["git.commit"] == (commit or "none")
    assert tags["git.dirty"] == str(dirty).lower()
    assert f"| code | {shown} |" in tags["mlflow.note.content"]


@each_case(cases(__file__, "notes"))
def test_a_note_has_floors_and_ceilings(case):
    """Runs of one score each, and the first lines of each run's note."""
    runs = [evidence(score) for score in scores_of(case["scores"])]
    ranked = ranked_in(runs)
    found = {}
    for run in runs:
        table, floors, _ = tags_of(run, ranked)["mlflow.note.content"].split("\n\n", 2)
        assert floors == FLOORS
        head, _, *found[run.name] = table.split("\n")
        assert head == "| score | value | floor | ceiling | of the range | scored |"
    assert found == case["notes"]


def test_a_number_that_a_later_version_wrote_is_in_no_note():
    score = gen_score()
    score.numbers.append(Number(metric="later", value=1.0))
    run = evidence(score)
    assert "| 0.700 |" in tags_of(run, ranked_in([run]))["mlflow.note.content"]


def test_rows_of_all_scores_are_one_table(tmp_path):
    run = evidence(gen_score(), question_score("mm_vet"))
    graded = row("=q1", {"total": [0.5]}, total="half")
    chains, grades = run.lineages
    text = rows_csv(run.lineages, {chains.place: rows(), grades.place: [graded]})
    first, _, last = csv.DictReader(io.StringIO(text))
    columns = ("benchmark", "dataset", "unit", "similarity 1", "similarity 2", "total")
    cells = "genception, shapes, disc, 0.900000, 0.800000, "
    assert ", ".join(first[name] for name in columns) == cells
    columns = ("benchmark", "unit", "total", "total (text)")
    assert ", ".join(last[name] for name in columns) == "mm_vet, '=q1, 0.500000, half"


def test_artifacts_have_everything_that_a_score_has():
    run = evidence(gen_score())
    files = artifacts_of(run, {"genception/shapes": rows()})
    assert list(files) == ["scores.json", "rows.csv"]
    [score] = json.loads(files["scores.json"]).values()
    assert score == run.lineages[0].score.model_dump(mode="json")


@pytest.mark.parametrize(
    ("at_most", "units"),
    [("all", ["ring", "disc"]), (1, ["ring"]), ("none", [])],
)
def test_traces_are_of_some_units_with_their_values_among_the_outputs(
    at_most, units, tmp_path
):
    [run] = write_project(tmp_path, evidence(gen_score()))
    traces = [*traces_of(run.lineages[0], tmp_path, rows(), at_most)]
    assert [trace.unit for trace in traces] == units
    for trace in traces:
        assert trace.outputs["GC@2"] == SAMPLES[trace.unit]


def test_the_saved_view_is_as_mlflow_keeps_one():
    title, columns = {"gc/a": "GC@5 · a"}, ["gc/a", "similarity/a"]
    tag = leaderboard(["similarity/a"], title, columns, higher=True)
    expected = json.loads((CASES / "tracking/view.json").read_text())
    assert {VIEW_TAG: view_of(tag)} == expected
    titles = {
        str(n): "".join(map(chr, range(33 + n % 50, 90 + n % 37))) for n in range(200)
    }
    tag = leaderboard([], titles, [*titles], higher=False)
    assert len(tag) <= 5000
    state = view_of(tag)["state"]
    assert len(state["selectedColumns"]) == 41
    assert len(state["compareRunCharts"]) > 10
    assert state["orderByAsc"]

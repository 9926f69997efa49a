"""Pages that hold numbers of ours have them from what computes them."""

import json
import subprocess

import pytest

from driftledger.core.files import write_json
from driftledger.project.presets import with_preset
from lab import changes, coverage, performance, ratings
from lab.trio.settings import FOLDER, load_trio
from lab.validity.page import tables
from lab.validity.scores import Place, Reading, rank
from tests.conftest import REPOSITORY
from tests.support.cases import cases, each_case

SHOWN = (REPOSITORY / coverage.PAGE).read_text(encoding="utf-8")
QUICK = ("GC@t", "MME's score", "a correlation of 0.7")


@pytest.mark.parametrize("name", QUICK)
def test_intervals_hold_the_truth_as_often_as_the_page_says(name):
    rows = [case for case in coverage.CASES if case[0] == name]
    assert rows
    for case in rows:
        assert coverage.covered(case) in SHOWN


def test_gates_err_as_often_as_the_page_says():
    page = (REPOSITORY / changes.PAGE).read_text(encoding="utf-8")
    for row in (
        changes.margin_row(60, 0.03, 0.05),
        changes.image_row(24, 10),
        changes.disaster_row(120, 0.01, (0.02, 0.8)),
    ):
        assert f"\n{row}\n" in page
    cells = f"| {changes.alarms_by_floor(60, 0.03, 0.0)} | 3.7% |"
    assert f"| 60 descriptions | 3% {cells}" in page


def test_ratings_say_the_truth_as_often_as_the_page_says():
    page = (REPOSITORY / ratings.PAGE).read_text(encoding="utf-8")
    assert page.startswith(ratings.HEAD)
    assert ratings.row((2, 0.6, 30)) in page
    table = page.removeprefix(ratings.HEAD)
    assert len(table.splitlines()) == len(ratings.CASES)


def test_the_page_of_what_was_measured_is_of_the_reports():
    page = (REPOSITORY / performance.PAGE).read_text(encoding="utf-8")
    shown = page.split(performance.BEGIN)[1].split(performance.END)[0]
    assert shown.strip() == performance.page_of(REPOSITORY / performance.FOLDER).strip()


def test_a_page_says_if_the_machine_was_not_idle(tmp_path):
    measured = {
        "machine": {"cpu": "C", "cores": 2, "system": "S"},
        "versions": {},
        "load": "2.0",
        "results": {"rows": []},
    }
    busy = "2.0; the machine was not idle: its load was 1.3 at"
    for at_start, says in {None: "2.0.", 0.4: "2.0.", 1.3: busy}.items():
        if at_start:
            measured["load_at_start"] = at_start
        write_json(tmp_path / "waits.json", {"machines": [measured]})
        load = performance.page_of(tmp_path).partition("last 15 minutes ")[2]
        assert load.startswith(says)


# How metrics are held against the order of training: worked by hand, and over the report that is in
# Git.


@each_case(cases(__file__, "ranks"))
def test_stages_that_get_better_are_in_order(case):
    readings = {}
    for name, value in case["values"].items():
        readings[name] = Reading(value, value - 0.05, value + 0.05)
    place = Place("genception", "photos", "gc_at_1", "layout", "painter", "")
    row = rank(place, readings, ("early", "middle", "final"), ("blind",))
    for name in ("rises", "disjoint"):
        assert row[name] is case[name]
    assert row["controls"]["blind"]["last"] is case["blind_is_last"]


def test_the_page_in_git_has_the_numbers_of_the_report():
    reports = REPOSITORY / "reports"
    report = json.loads((reports / "validity.json").read_bytes())
    assert tables(report) == (reports / "validity.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_checkpoints_are_of_the_code_in_git():
    """Else 'make train-trio' trains for more than an hour; 'dvc commit' notes code that does the
    same."""
    done = subprocess.run(
        ["dvc", "status", "train_trio", "measure_trio"],
        cwd=REPOSITORY / FOLDER,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "Data and pipelines are up to date.\n"


def test_every_checkpoint_is_measured_and_in_the_catalogue():
    trio = load_trio(REPOSITORY)
    measured = json.loads((REPOSITORY / "reports" / "trio.json").read_bytes())
    describers = measured["describers"]
    assert {name: describers[name]["steps"] for name in describers} == trio.models
    settings = with_preset(REPOSITORY, "neural")[1]
    assert set(trio.models) <= set(settings.run.models)
    assert set(trio.generators) <= set(settings.run.generators)

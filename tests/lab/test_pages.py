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

SHOWN = (REPOSITORY / coverage.PAGE).read_text(encoding="utf-8")
QUICK = [
    case
    for case in coverage.CASES
    if case[0] in ("GC@t", "MME's score", "a correlation of 0.7")
]


@pytest.mark.parametrize("case", QUICK)
def test_intervals_hold_the_truth_as_often_as_the_page_says(case):
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
    assert ratings.row(((120, 2), 0.6, 30)) in page
    table = page.removeprefix(ratings.HEAD)
    assert len(table.splitlines()) == len(ratings.CASES)


def test_the_page_of_what_was_measured_is_of_the_reports():
    page = (REPOSITORY / performance.PAGE).read_text(encoding="utf-8")
    shown = page.split(performance.BEGIN)[1].split(performance.END)[0]
    assert shown.strip() == performance.page_of(REPOSITORY / performance.FOLDER).strip()


@pytest.mark.parametrize(
    ("at_start", "says"),
    [
        ({}, "2.0."),
        ({"load_at_start": 0.4}, "2.0."),
        ({"load_at_start": 1.3}, "2.0; the machine was not idle: its load was 1.3 at"),
    ],
)
def test_a_page_says_if_the_machine_was_not_idle(at_start, says, tmp_path):
    machine = {"cpu": "C", "cores": 2, "system": "S"}
    measured = {"machine": machine, "versions": {}, "load": "2.0"}
    measured["results"] = {"rows": []}
    write_json(tmp_path / "waits.json", {"machines": [measured | at_start]})
    load = performance.page_of(tmp_path).partition("last 15 minutes ")[2]
    assert load.startswith(says)


# How metrics are held against the order of training: worked by hand, and over the report that is in
# Git.


STAGES, CONTROLS = ("early", "middle", "final"), ("blind",)
RISING, EQUAL = (
    {"early": 0.2, "middle": 0.5, "final": 0.8, "blind": 0.0},
    dict.fromkeys((*STAGES, "blind"), 0.2),
)


def ranked(values, benchmark="genception", metric="gc_at_1"):
    readings = {
        name: Reading(value, value - 0.05, value + 0.05)
        for name, value in values.items()
    }
    return rank(
        Place(benchmark, "photos", metric, "layout", "painter", ""),
        readings,
        STAGES,
        CONTROLS,
    )


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (RISING, {"rises": True, "disjoint": True, "last": True}),
        (RISING | {"middle": 0.28}, {"rises": True, "disjoint": False, "last": True}),
        (RISING | {"blind": 0.3}, {"rises": True, "disjoint": True, "last": False}),
        (EQUAL, {"rises": False, "disjoint": False, "last": False}),
        (
            {"early": 0.2, "final": 0.8, "blind": 0.0},
            {"rises": None, "disjoint": None, "last": None},
        ),
    ],
)
def test_stages_that_get_better_are_in_order(values, expected):
    row = ranked(values)
    assert {
        "rises": row["rises"],
        "disjoint": row["disjoint"],
        "last": row["controls"]["blind"]["last"],
    } == expected


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
    trio, measured = (
        load_trio(REPOSITORY),
        json.loads((REPOSITORY / "reports" / "trio.json").read_bytes()),
    )
    assert {
        name: each["steps"] for name, each in measured["describers"].items()
    } == trio.models
    settings = with_preset(REPOSITORY, "neural")[1]
    assert set(trio.models) <= set(settings.run.models)
    assert set(trio.generators) <= set(settings.run.generators)

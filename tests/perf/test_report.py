"""Reports of measurements: a row per machine, and ratios of what was measured in one run."""

import json

import numpy as np
import pytest


@pytest.fixture
def report(perf, monkeypatch, tmp_path):
    module = perf("_report")
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    return module


def test_a_machine_has_one_row_and_leaves_those_of_others(report, monkeypatch, tmp_path):
    monkeypatch.setattr(report, "machine", lambda: {"cpu": "b"})
    report.write("some", {"seconds": 1}, ["numpy"])
    monkeypatch.setattr(report, "machine", lambda: {"cpu": "a"})
    for seconds in (2, 3):
        report.write("some", {"seconds": seconds}, ["numpy"])
    rows = json.loads((tmp_path / "some.json").read_bytes())["machines"]
    assert [(row["machine"]["cpu"], row["results"]["seconds"]) for row in rows] == [("a", 3), ("b", 1)]
    assert rows[0]["versions"]["numpy"] == np.__version__


def test_a_report_of_no_rows_begins_anew(report, tmp_path):
    (tmp_path / "some.json").write_text('{"machine": {"cpu": "old"}, "results": {"times_faster": 1.13}}')
    report.write("some", {"seconds": 1}, ["numpy"])
    (row,) = json.loads((tmp_path / "some.json").read_bytes())["machines"]
    assert row["results"] == {"seconds": 1}


def test_sides_take_turns_and_the_least_counts(perf, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import json, pathlib, sys\n"
        "log = pathlib.Path(__file__).with_name('log')\n"
        "before = log.read_text() if log.exists() else ''\n"
        "log.write_text(before + sys.argv[1])\n"
        "taken = 9 - len(before)\n"
        "print(json.dumps({'seconds': taken, 'cpu_seconds': taken, 'peak_mib': taken}))\n"
    )
    a, b = perf("_sides").in_turn(str(script), [["a"], ["b"]], 2)
    assert (tmp_path / "log").read_text() == "abab"
    assert a == {"seconds": 7, "cpu_seconds": 7, "peak_mib": 9}
    assert b == {"seconds": 6, "cpu_seconds": 6, "peak_mib": 8}


def test_what_is_not_installed_is_said_and_left_out(perf, capsys):
    sides = perf("_sides")
    assert sides.installed("json")
    assert not sides.installed("json", "no_such_module_anywhere")
    assert "no_such_module_anywhere" in capsys.readouterr().err


def test_every_way_to_the_frechet_distance_finds_the_known_one(perf, monkeypatch):
    frechet = perf("frechet")
    monkeypatch.setattr(frechet, "DIMENSIONS", 12)
    assert frechet.sides(12)[1] == "svd of A Bᵀ"
    measured = frechet.measure(80)
    assert list(measured["sides"]) == [frechet.OURS, "Cholesky and eigvalsh"]
    assert measured["fastest_of_the_others"] != frechet.OURS
    assert all(row["relative_error"] < 1e-9 for row in measured["sides"].values())


def test_the_searches_find_the_neighbours_that_votes_have(perf, monkeypatch):
    retrieval = perf("retrieval")
    for name, value in {"SUPPORT": 90, "TEST": 20, "DIMENSIONS": 16, "CLASSES": 9, "MOST": 5}.items():
        monkeypatch.setattr(retrieval, name, value)
    assert [retrieval.other(side) for side in ("numpy, float64", "scikit-learn, brute")] == [0, 0]

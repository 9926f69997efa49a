"""Files of results of any tool: how they are read, compared, judged and refused."""

import json
import os
import shlex
import subprocess
import sys
import tracemalloc
from dataclasses import asdict
from pathlib import Path

import pandas
import pyarrow
import pytest
from pyarrow import parquet

from driftledger.core.errors import DataError
from driftledger.core.files import read_jsonl
from driftledger.data import tables
from driftledger.data.tables import table_rows
from driftledger.ledger import result_files
from driftledger.ledger.compare import compare
from driftledger.ledger.result_files import Columns, compare_files
from driftledger.ledger.sources import Sources, find_run
from driftledger.metrics.exact import exact_mean
from driftledger.project.project import Project
from driftledger.scoring.score import ROWS, Row
from lab import result_files as simulated
from tests.conftest import REPOSITORY
from tests.ledger.test_compare import BY_IMAGE, HIGH, LOW, answered, chains, compared
from tests.sentence import matches, run, write_files
from tests.support.cases import cases, each_case

SCALED = (
    *("a", "b", "difference", "low", "high", "standard_error", "detectable"),
    *("a_common", "b_common"),
)
"""Fields in the unit of the metric."""
ALIKE = (
    *("verdict", "df", "p_value", "common", "clusters", "only_a", "only_b"),
    *SCALED,
)


def write_rows(path, values):
    """Write a row for each value, with names of groups of ten and of two rows."""
    with path.open("w", encoding="utf-8") as file:
        for number, value in enumerate(values):
            row = {"id": number, "v": value, "w": 1, "tens": number // 10}
            row |= {"pairs": number // 2, "ten": str(number < 10)}
            file.write(json.dumps(row) + "\n")


def typed(case, folder, monkeypatch):
    """Run ``compare`` in a folder, and return its exit code."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "1000")
    names = case.get("arguments") or case.get("names") or ["a.jsonl", "b.jsonl"]
    return run(monkeypatch, "compare", *names, *shlex.split(case["options"]))


@each_case(cases(__file__, "refused_files"))
def test_a_file_that_cannot_be_compared(case, tmp_path, monkeypatch, capsys):
    write_files(tmp_path, case["files"])
    assert typed(case, tmp_path, monkeypatch) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert len(said.err.splitlines()) == 1
    assert matches(case["says"], said.err), said.err


@each_case(cases(__file__, "read_files"))
def test_values_of_a_file(case, tmp_path, monkeypatch, capsys):
    (tmp_path / case["name"]).write_text(case["text"], encoding="utf-8", newline="")
    case["names"] = [case["name"]] * 2
    assert typed(case, tmp_path, monkeypatch) == 0
    ids = []
    options = shlex.split(case["options"])
    for option, name in zip(options[::2], options[1::2], strict=True):
        ids += [name] * (option == "--id")
    columns = Columns(ids, [options[-1]])
    found = result_files._read(tmp_path / case["name"], "it", columns)
    values = {unit: value for unit, (value, *_) in found.units[0].items()}
    assert dict.fromkeys(found.places) | values == case["values"]
    assert f"{options[-1]} of rows with the same" in capsys.readouterr().out


@each_case(cases(__file__, "compared_files"))
def test_a_comparison_of_files(case, tmp_path, monkeypatch, capsys):
    for side in ("a", "b"):
        write_rows(tmp_path / f"{side}.jsonl", case[side])
    case["options"] += " --id id --value v"
    assert typed(case, tmp_path, monkeypatch) == case["code"]
    text = capsys.readouterr().out
    assert text.splitlines()[-1] == case["last"]
    for says in case["says"]:
        assert says in text, text
    assert "recomputed" not in text
    assert "verified" not in text
    for form in ("--json", "--markdown"):
        case["options"] += f" {form}"
        assert typed(case, tmp_path, monkeypatch) == case["code"]
        written = capsys.readouterr().out
        if form == "--json":
            verdict = json.loads(written)["verdict"]
            assert verdict is None or case["last"].endswith(verdict["sentence"])
            case["options"] = case["options"].removesuffix(form)
        elif "fail-if" in case["options"]:
            assert case["last"] in written.replace("\\", "")


def test_parquet_is_read_as_the_other_formats_are(tmp_path, monkeypatch, capsys):
    rows = []
    for number in range(600):
        value = None if number == 5 else number % 2
        nested = {"v": value, "more": ["x"]}
        rows.append({"id": number, "s": nested, "image": number // 2, "big": "x" * 99})
    table = pandas.DataFrame(rows)
    table.to_parquet(tmp_path / "a.parquet")
    table.to_json(tmp_path / "b.jsonl", orient="records", lines=True)
    case = {"options": "--id id --value s.v --cluster image --json"}
    case["names"] = ["a.parquet", "b.jsonl"]
    assert typed(case, tmp_path, monkeypatch) == 0
    [pair] = json.loads(capsys.readouterr().out)["pairs"]
    [metric] = pair["metrics"]
    assert (metric["common"], metric["clusters"]) == (599, 300)
    assert (metric["difference"], metric["only_a"], metric["only_b"]) == (0, 0, 0)
    table.loc[7, "id"] = 6
    table.to_parquet(tmp_path / "a.parquet")
    assert typed(case, tmp_path, monkeypatch) == 2
    said = capsys.readouterr().err
    assert "row 8 of a.parquet has the id '6' of row 7 of a.parquet" in said


def test_a_sheet_that_is_not_read_is_refused(tmp_path, monkeypatch, capsys):
    with pandas.ExcelWriter(tmp_path / "a.xlsx") as book:
        for name in ("first", "rest"):
            pandas.DataFrame({"id": [0, 1], "v": [0, 1]}).to_excel(
                book, sheet_name=name
            )
    case = {"options": "--id id --value v", "names": ["a.xlsx", "a.xlsx"]}
    assert typed(case, tmp_path, monkeypatch) == 2
    assert "a.xlsx: sheet 'rest' (visible) is not read" in capsys.readouterr().err


def test_a_small_parquet_that_is_large_in_memory_is_read_row_by_row(
    tmp_path, monkeypatch
):
    text = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([0] * 250, pyarrow.int32()), pyarrow.array(["x" * 2**21])
    )
    table = pyarrow.table({"id": range(250), "text": text})
    parquet.write_table(table, tmp_path / "a.parquet", compression="zstd")
    assert (tmp_path / "a.parquet").stat().st_size < 2**16
    tracemalloc.start()
    try:
        assert sum(1 for _ in table_rows(tmp_path / "a.parquet", "a")) == 250
        assert tracemalloc.get_traced_memory()[1] < 2**25
    finally:
        tracemalloc.stop()
    monkeypatch.setattr(tables, "LARGEST_TEXT", 2**21)
    with pytest.raises(DataError, match="row 1 is larger than 1 MiB"):
        next(table_rows(tmp_path / "a.parquet", "a"))


def fields_of(metric, scale=1.0):
    """Return the fields of a comparison that do not depend on the other metrics."""
    fields = {key: asdict(metric)[key] for key in ALIKE}
    for key in SCALED:
        if fields[key] is not None:
            fields[key] = pytest.approx(scale * fields[key], rel=1e-8, abs=1e-10)
    return fields


def means(path, name, folder):
    """Write the means over orders or gradings of a score's rows into a file of their own."""
    made = folder / f"{path.parts[-4]}.jsonl"
    with made.open("w", encoding="utf-8") as file:
        for row in read_jsonl(path, Row):
            mean = exact_mean([v for v in row.values[name] if v is not None])
            plain = {"unit": row.unit, "group": row.group, "cluster": row.cluster}
            file.write(json.dumps({**plain, "mean": mean}) + "\n")
    return made


def test_files_compare_as_the_runs_that_they_are_of(tmp_path):
    """Of the rows of each score of the default project."""
    project = Project(REPOSITORY)
    sources = Sources(project)
    runs = [
        find_run(sources, f"{name}/painter/layout")
        for name in ("regions_fine", "regions_medium")
    ]
    checked = set()
    for pair in compare(*runs, sources.contents).pairs:
        paths = [REPOSITORY / Path(score).parent / ROWS for score in (pair.a, pair.b)]
        for expected in pair.metrics:
            name, t, *_ = expected.number
            sides = [(path, str(path)) for path in paths]
            value = f"values.{name}.{(t or 1) - 1}"
            if name in ("score", "total") and pair.benchmark != "mme":
                sides = [
                    (means(path, name, tmp_path), path.as_posix()) for path in paths
                ]
                value = "mean"
            group = None if expected.metric.is_ratio else "group"
            columns = Columns(["unit"], [value], cluster="cluster", group=group)
            [metric] = compare_files(*sides, columns, anyway=True).pairs[0].metrics
            scale = expected.metric.scale
            assert asdict(expected) | fields_of(metric, scale) == asdict(expected)
            if expected.metric.span == scale:
                assert metric.step == pytest.approx((expected.step or 0) / scale)
            checked.add(pair.benchmark)
    questions = {"mme", "mm_sap", "mm_vet"}
    assert checked == {"genception", "self_retrieval", "trac", "fidelity"} | questions


MISSING = {key: values for key, values in HIGH.items() if key != "s7a"}
HALF = {unit: [float(unit.startswith(("1", "2")))] for unit in BY_IMAGE}
MADE = {
    "chains": (chains, LOW, HIGH, "values.gc.1"),
    "a sample less": (chains, LOW, MISSING, "values.gc.1"),
    "questions about images": (answered, BY_IMAGE, HALF, "values.score.0"),
}


@pytest.mark.parametrize("name", MADE)
def test_files_compare_as_made_runs_do(name, tmp_path):
    make, a, b, path = MADE[name]
    scores = [make(tmp_path, "a", a), make(tmp_path, "b", b)]
    expected = compared(tmp_path, *scores).pairs[0].metrics
    files = [(tmp_path / each.rows_path, each.rows_path) for each in scores]
    columns = Columns(["unit"], [path], cluster="cluster", group="group")
    [metric] = compare_files(*files, columns, anyway=True).pairs[0].metrics
    found = fields_of(metric, expected[0].metric.scale)
    for key in ("a", "b"):  # of a made run, these are made up
        del found[key]
    by_name = {each.metric.name: asdict(each) for each in expected}
    of_run = by_name[path.split(".")[1]]
    assert of_run | found == of_run


def test_hostile_text_stays_text(tmp_path, monkeypatch, capsys):
    name = "[x](http://evil) | @you \x1b[2J\u202e=1+1"
    rows = [{name: f"{name}{number}", "v": number % 2, "k": 1} for number in range(8)]
    for side, value in (("a", 0), ("b", 3)):
        rows[0]["v"] = value
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / f"{side} <b>|*x*.jsonl").write_text(text, encoding="utf-8")
    case = {"names": ["a <b>|*x*.jsonl", "b <b>|*x*.jsonl"]}
    for form in ("--markdown", "--json", "--fail-if=worse"):
        options = [form, "--show=9", f"--id={name}", "--value=v", "--anyway"]
        case["options"] = shlex.join([*options, f"--cluster={name}"])
        assert typed(case, tmp_path, monkeypatch) in (0, 3)
        text = capsys.readouterr().out
        assert not {"\x1b", "\u202e"} & set(text)
        if form == "--markdown":
            assert "<b>" not in text
            assert "](http" not in text
            assert "@you" not in text
            [head] = [line for line in text.splitlines() if line.startswith("| |")]
            assert head.replace("\\|", "").count("|") == 7
    write_files(tmp_path, {"bad.jsonl": json.dumps({name: 1, "v": name})})
    case["names"] = ["bad.jsonl", "bad.jsonl"]
    assert typed(case, tmp_path, monkeypatch) == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert not {"\x1b", "\u202e"} & set(said)


def test_no_pipe_is_waited_for_and_no_line_read_to_its_end(
    tmp_path, monkeypatch, capsys
):
    os.mkfifo(tmp_path / "a.jsonl")
    write_rows(tmp_path / "b.jsonl", [1, 0])
    case = {"options": "--id id --value v"}
    assert typed(case, tmp_path, monkeypatch) == 2
    assert "a.jsonl is not a file" in capsys.readouterr().err
    (tmp_path / "a.jsonl").unlink()
    with (tmp_path / "a.jsonl").open("wb") as file:
        file.truncate(2**33)  # 8 GiB of zeros, which take no room
    assert typed(case, tmp_path, monkeypatch) == 2
    assert "line 1: it has 33,554,432 bytes, and up to" in capsys.readouterr().err
    many = pyarrow.table({"id": pyarrow.nulls(2**24 + 1)})  # a few bytes
    parquet.write_table(many, tmp_path / "a.parquet")
    case["names"] = ["a.parquet", "b.jsonl"]
    assert typed(case, tmp_path, monkeypatch) == 2
    assert "it has more than 16,777,216 rows" in capsys.readouterr().err


def test_the_command_outside_of_a_project_loads_no_large_library(tmp_path):
    write_rows(tmp_path / "a.jsonl", [1] * 30)
    write_rows(tmp_path / "b.jsonl", [1, 0] * 15)
    code = "import atexit, sys; from driftledger.cli import main\n"
    code += "atexit.register(lambda: print(*sys.modules, file=sys.stderr)); main()"
    arguments = ["compare", "a.jsonl", "b.jsonl", "--id", "id", "--value", "v"]
    for more, expected in (
        ([], 0),
        (["--fail-if", "worse"], 1),
        (["--fail-if", "worse", "--cluster", "none"], 2),
        (["--fail-if", "worse", "--cluster", "tens"], 3),
    ):
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments, *more],
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == expected, done.stderr
        loaded = {name.partition(".")[0] for name in done.stderr.split()}
        assert "driftledger" in loaded
        large = {"dvc", "mlflow", "torch", "pandas", "pyarrow", "pygit2", "matplotlib"}
        assert not loaded & large
    assert {path.name for path in tmp_path.iterdir()} == {"a.jsonl", "b.jsonl"}


def test_a_difference_that_is_not_there_is_seldom_found(tmp_path):
    """``python -m lab.result_files`` draws 20,000 of each."""
    counts = simulated.errors(tmp_path, draws=60)
    alone, clustered, control = counts.values()
    assert max(alone.differ, clustered.differ) <= 7  # 3 are expected
    assert max(alone.worse, clustered.worse) <= 5
    assert control.differ > 10

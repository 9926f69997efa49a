"""Result files of other tools, each written by the tool itself, are compared."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from tests.support.cases import cases, each_case

FILES = Path(__file__).parents[1] / "cases/ledger/result_files"
PAGE = (Path(__file__).parents[2] / "docs/regressions.md").read_text(encoding="utf-8")


def compare(folder, *options):
    """Compare two files by the command, in any folder."""
    return subprocess.run(
        [sys.executable, "-m", "driftledger", "compare", *options],
        cwd=folder,
        env=os.environ | {"COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


@each_case(cases(__file__, "other_tools"))
def test_a_pair_gives_the_values_worked_out_by_hand(case, tmp_path):
    a, b = (str(FILES / case["files"].replace("?", side)) for side in "ab")
    options = shlex.split(case["options"])
    done = compare(tmp_path, a, b, *options, "--json")
    assert done.returncode == case["code"], done.stderr
    assert done.stderr == ""
    [pair] = json.loads(done.stdout)["pairs"]
    [metric] = pair["metrics"]
    for side in "ab":
        assert metric[side] == pytest.approx(float(Fraction(case[side])))
    assert metric["only_a"] == case.get("only_a", 0)
    assert metric["only_b"] == 0
    for key in case.keys() & {"common", "clusters", "p_value"}:
        assert metric[key] == pytest.approx(case[key], abs=5e-5)


@pytest.mark.parametrize(
    ("tool", "files"),
    [
        ("lmms-eval", "lmms_eval/{}.jsonl"),
        ("Inspect", "inspect/{}.parquet"),
        ("promptfoo", "promptfoo/{}.jsonl"),
    ],
)
def test_the_page_has_options_for_each_tool(tool, files, tmp_path):
    [options] = re.findall(rf"^\| {tool} \|.*`(--id .*?)`", PAGE, re.MULTILINE)
    a, b = (str(FILES / files.format(side)) for side in "ab")
    done = compare(tmp_path, a, b, *shlex.split(options))
    assert done.returncode == 0, done.stderr


def test_the_page_shows_what_is_printed(tmp_path):
    blocks = re.search(
        r"```console\ndriftledger compare (.*?)\n```.*?```text\n(.*?)```",
        PAGE,
        re.DOTALL,
    )
    for name in ("a.csv", "b.csv"):
        shutil.copy(FILES / "inspect" / name, tmp_path)
    done = compare(tmp_path, *shlex.split(blocks[1]))
    assert done.returncode == 1
    lines = blocks[2].splitlines()
    assert len(lines) > 4
    assert {*lines} - {"…"} <= {*done.stdout.splitlines()}

"""A mistake is a sentence and exit code 2; a bug keeps its traceback; help fits a screen."""

import errno
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections import Counter
from importlib import metadata
from pathlib import Path

import pytest
import typer
import yaml
from rich.cells import cell_len

import driftledger
from driftledger import cli
from driftledger.commands import plan, shards, stages
from driftledger.commands import verify as verifying
from driftledger.core.errors import StoreError
from driftledger.core.paths import project_above
from driftledger.ledger.findings import Finding, Skipped, VerifyResult
from tests.conftest import REPOSITORY
from tests.sentence import run
from tests.support.cases import CASES, cases, each_case
from tests.support.params import default_params
from tests.support.terminal import WIDTHS, fitting

MAIN = "import sys; sys.argv[0] = 'driftledger'; from driftledger.cli import main\n"


def python(code, *arguments, cwd, **environment):
    """Run a program in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def raising(error):
    def stage(*_, **options):
        raise error

    return stage


HOSTILE = "\x1b[2J\x9b1m\u202e[red]markup[/red]\r\nall holds"


def verified(*, holds):
    findings = [
        Finding("bytes", f"data/{HOSTILE}/{number}.png", "is another")
        for number in range(3)
    ]
    findings += [Finding("missing", "data/a", "is nowhere")]
    skipped = [Skipped("model gpt", "a service does not answer twice the same")] * 7
    checks = {
        "files": VerifyResult([] if holds else findings, [], Counter(files=9_000)),
        "calls made again": VerifyResult([], skipped, Counter()),
        "links between them": VerifyResult(),
    }
    return verifying.Verified(["seer · brush · eye"], checks)


@pytest.mark.parametrize("holds", [True, False])
def test_verify_exits_with_one_where_something_does_not_hold(
    holds, monkeypatch, capsys, tmp_path
):
    found = verified(holds=holds)
    monkeypatch.setattr(verifying, "verify", lambda project, run, **how: found)
    monkeypatch.chdir(tmp_path)
    for arguments in (["verify"], ["verify", "seer/brush/eye"]):
        assert run(monkeypatch, *arguments) == (0 if holds else 1)
        assert "\x1b" not in capsys.readouterr().out
    assert run(monkeypatch, "verify", "--json") == (0 if holds else 1)
    assert json.loads(capsys.readouterr().out)["holds"] == holds
    text = " ".join(fitting(found.as_text()).split())
    assert "calls made again: 7 not checked" in text
    assert "links between them: nothing to check" in text
    assert text.count("not checked: model gpt: a service") == 5
    end = "all holds that can be checked here; 7 not" if holds else "4 differences"
    assert f"not checked: 2 more; --json has them all seer · brush · eye: {end}" in text
    for sentence in (
        "files: 9,000 files, 4 wrong",
        "→ bytes: 'dvc checkout dvc.yaml'",
        "→ missing: 'dvc pull'",
    ):
        assert text.count(sentence) == (0 if holds else 1)


def test_a_hostile_mistake_is_one_inert_line(monkeypatch, capsys):
    monkeypatch.setattr(
        stages, "report", raising(StoreError("a\nb\r\x1b[2J\u202e\u2028c"))
    )
    assert run(monkeypatch, "report") == 2
    said = capsys.readouterr().err
    assert len(said.splitlines()) == 1
    assert not {"\x1b", "\u202e"} & set(said)


@pytest.mark.parametrize(
    "number", [errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS]
)
@pytest.mark.parametrize("name", [None, "data/x.json"])
def test_a_disk_that_cannot_be_used_is_one_sentence(number, name, monkeypatch, capsys):
    reason = os.strerror(number)
    monkeypatch.setattr(stages, "report", raising(OSError(number, reason, name)))
    assert run(monkeypatch, "report") == 2
    said = capsys.readouterr().err
    what = name or "a file"
    assert said == f"driftledger: {what}: {reason}; correct that and run again\n"


def test_a_bug_keeps_its_traceback(tmp_path):
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(default_params()))
    code = (
        "from driftledger import cli\n"
        "from driftledger.commands import stages\n"
        "def broken(*_, **options): raise ValueError('a bug')\n"
        "stages.report = broken\n"
        "cli.main()"
    )
    done = python(code, "report", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("Traceback (most recent call last):")
    assert done.stderr.rstrip().endswith("ValueError: a bug")
    assert "cli.py" in done.stderr


@each_case(cases(__file__, "commands"))
def test_what_a_command_says(case, sentence):
    output = sentence(case)
    assert "" in (output.out, output.err)


def test_a_page_that_a_sentence_names_has_that_heading():
    text = (CASES / "commands.jsonl").read_text(encoding="utf-8")
    [(page, heading)] = {*re.findall(r"(docs/\w+\.md), '(.+?)'", text)}
    assert f"## {heading}\n" in (REPOSITORY / page).read_text(encoding="utf-8")


def examples(group):
    """Yield the command lines that the help of each command ends with."""
    for command in group.commands.values():
        if hasattr(command, "commands"):
            yield from examples(command)
        else:
            _, *typed = command.help.split("\n\nExample: driftledger ")
            assert typed, command.name
            yield from typed


TOP = typer.main.get_command(cli.app)
EXAMPLES = [*examples(TOP)]
MISTAKES = [
    *("models zzz", "new zzz mine", "preset zzz", "init --preset zzz"),
    *("plan --json", "run --json", "compare a b --json", "audit a --json"),
    *("verify --json", "check a.zip --json"),
]
"""What is wrong everywhere; examples of other commands are where there is no project."""


@each_case(cases(__file__, "places"))
def test_every_command_ends_with_2_and_a_sentence_where_nothing_can_be_done(
    case, sentence, tmp_path
):
    commands = [each for each in EXAMPLES if not each.startswith(("models ", "new "))]
    assert len(commands) > 20
    for typed in commands + MISTAKES:
        sentence(case | {"command": typed, "lines": ["…"]})
        assert not [*tmp_path.rglob(".driftledger")], typed


def test_ctrl_c_ends_any_command_with_130(monkeypatch, capsys):
    monkeypatch.setattr(stages, "report", lambda *_: signal.raise_signal(signal.SIGINT))
    assert run(monkeypatch, "report") == 130
    assert capsys.readouterr().err == ""


def test_a_command_below_the_top_folder_is_done_there_with_paths_from_here(
    monkeypatch, tmp_path
):
    here = tmp_path / "project" / "photos" / "cats"
    here.mkdir(parents=True)
    for folder in (tmp_path, tmp_path / "project"):
        (folder / "params.yaml").touch()
    (tmp_path / "project" / ".git").mkdir()
    seen = []
    monkeypatch.setattr(
        shards,
        "merge",
        lambda project, stores: seen.extend((project.root, Path.cwd(), stores)) or "",
    )
    monkeypatch.chdir(here)
    assert run(monkeypatch, "merge", "x", "../y", str(tmp_path / "z")) == 0
    top = tmp_path / "project"
    assert seen == [top, top, [Path("photos/cats/x"), Path("photos/y"), tmp_path / "z"]]
    (top / "params.yaml").unlink()  # the one above is of another repository
    monkeypatch.chdir(here)
    assert run(monkeypatch, "merge", "x") == 0
    assert seen[3:] == [here, here, [Path("x")]]
    (top / "params.yaml").touch()
    monkeypatch.setattr(
        Path,
        "stat",
        lambda path, **_: os.stat_result([0o40755, 0, 0, 1, path == top, *[0] * 5]),
    )
    assert project_above(here) == here  # it belongs to somebody else


@pytest.mark.parametrize(
    ("words", "expected"),
    [("driftledger mo", "models"), ("driftledger run --js", "--json")],
)
def test_shells_complete_commands_and_options(words, expected, tmp_path):
    asked = {
        "_DRIFTLEDGER_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    done = python(MAIN + "main()", cwd=tmp_path, **asked)
    assert done.stdout.split() == [expected]


@pytest.mark.parametrize("width", WIDTHS)
def test_help_fits_a_screen_and_what_people_type_first_comes_first(width, tmp_path):
    columns = {"TERMINAL_WIDTH": str(width), "COLUMNS": str(width)}
    plain = {"NO_COLOR": "1", "TERM": "dumb"}
    text, same = (
        python(MAIN + "main()", option, cwd=tmp_path, **plain, **columns).stdout
        for option in ("--help", "-h")
    )
    assert text == same
    assert max(map(cell_len, text.splitlines())) <= width
    assert width < 80 or len(text.splitlines()) <= 45
    assert "\x1b" not in text
    assert " stage " not in text  # it is DVC's
    assert re.findall(r"╭─ ([\w' ]+?) ─", text) == ["Options", *cli.PANELS]
    names = ("init", "run", "plan", "models", "audit", "compare", "report", "bundle")
    places = [text.index(f"│ {name} ") for name in names]
    assert places == sorted(places)
    assert "  • driftledger audit 0.743 says where a score is from" in map(
        str.rstrip, text.splitlines()
    )


def test_help_fills_its_paragraphs(tmp_path):
    wide = {"TERMINAL_WIDTH": "120", "COLUMNS": "120", "NO_COLOR": "1"}
    text = python(MAIN + "main()", "run", "--help", cwd=tmp_path, **wide).stdout
    assert "if a model failed or has no rank" in text


NAMES = {
    r"\bgpt\b": "regions_medium",
    "sdxl": "painter",
    r"\bvit\b": "layout",
    "photos": "my_images",
    r"audit 0\.743": "audit regions_medium/painter/layout",
    "main:": "HEAD:",
    "gpt_5_4_mini": "blind",
    "preset neural": "preset",
    "--shard 0/4 --into shards": "",
    "merge shards": "merge .driftledger",
}
"""Words of examples → those of the project in which they run."""
NOT_RUN = ("init ", "ui ", "people ")
"""They need another folder, a person's file, or serve without end: other tests run them."""


@pytest.mark.parametrize("typed", EXAMPLES)
def test_an_example_of_help_can_be_typed(typed):
    command = TOP
    words = shlex.split(typed)
    while hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    assert command.make_context("example", words)


@pytest.mark.slow
def test_the_examples_of_help_run(published):
    published.commit("results")
    rows = [{"doc_id": number, "exact_match": number % 2} for number in range(8)]
    for name in ("a.jsonl", "b.jsonl"):
        text = "".join(json.dumps(each) + "\n" for each in rows)
        (published.root / name).write_text(text, encoding="utf-8")
    typed = [each for each in EXAMPLES if not each.startswith(NOT_RUN)]
    assert len(typed) > 15
    failed = []
    for command in typed:
        for word, name in NAMES.items():
            command = re.sub(word, name, command)
        done = published.run("driftledger", *shlex.split(command), check=False)
        if done.returncode == 2 or "Traceback" in done.stderr:
            failed.append((command, done.stderr))
    assert failed == []


def test_there_are_at_most_twenty_commands_each_in_a_panel():
    panels = {
        each.name or each.callback.__name__: each.rich_help_panel
        for each in cli.app.registered_commands
    }
    panels |= {each.name: each.rich_help_panel for each in cli.app.registered_groups}
    assert {name for name, panel in panels.items() if panel not in cli.PANELS} == {
        "stage",
        "merge",
    }
    assert len(panels) - 3 <= 20  # three are hidden


def test_a_report_is_the_stages_or_is_written_elsewhere_with_or_without_images(
    tmp_path, monkeypatch
):
    calls, opened = [], []
    monkeypatch.chdir(tmp_path)
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(default_params()))
    monkeypatch.setattr(
        "driftledger.reports.report.write_report",
        lambda _, out=None, images=True: calls.append((out, images)),
    )
    monkeypatch.setattr("webbrowser.open", opened.append)
    for arguments in (
        [],
        ["--out", "public", "--no-images"],
        ["--open"],
        ["--open", "--out", "public"],
    ):
        assert run(monkeypatch, "report", *arguments) == 0
    assert calls == [
        (None, True),
        (Path("public"), False),
        (None, True),
        (Path("public"), True),
    ]
    assert opened == [
        f"{tmp_path.as_uri()}/{folder}/index.html"
        for folder in ("reports/site", "public")
    ]


@each_case(cases(__file__, "plan_tables"))
def test_a_plan_fits_80_columns_and_has_none_that_says_nothing(case):
    shown = fitting(plan.plan_table(case["calls"], case.get("replies", "replies")))
    assert [line.split() for line in shown.splitlines()] == case["lines"]


# What a command imports: its start is most of what a short one takes.


TELL = "try:\n    main()\nfinally:\n    print(*sys.modules, file=sys.stderr)\n"

PAGES = frozenset({"jinja2", "matplotlib", "pandas", "pyarrow"})
LARGE = PAGES | {
    "mlflow",
    "sqlalchemy",
    "torch",
    "sklearn",
    "skimage",
    "safetensors",
    "tokenizers",
    "wordllama",
    "datasets",
    "requests",
    "git",
}


def loaded(folder, *arguments, code=0):
    """Return all modules that are loaded when the command ends."""
    done = python(MAIN + TELL, *arguments, cwd=folder)
    assert done.returncode == code, done.stderr[-2000:]
    return set(done.stderr.split())


def test_a_bug_report_has_versions_and_nothing_else(monkeypatch, capsys):
    assert run(monkeypatch, "--version", "--json") == 0
    versions = json.loads(capsys.readouterr().out)
    named = {"driftledger", "platform", "python", "dvc", "mlflow"}
    assert named <= versions.keys() <= named | {"torch"}
    assert versions["driftledger"] == driftledger.__version__
    assert versions["dvc"] == metadata.version("dvc")
    assert socket.gethostname() not in versions["platform"]


@each_case(cases(__file__, "starts"))
def test_a_command_starts_with_what_it_needs(case, tmp_path):
    """``own`` are the modules of ours below ``among`` that it loads."""
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(default_params()))
    found = loaded(tmp_path, *case["command"].split(), code=case["code"])
    assert {"driftledger.cli", *case["loads"]} <= found
    assert not found & (LARGE | {"scipy", "dvc", "pygit2", *case["never"]})
    below = tuple(f"driftledger.{each}" for each in case["among"])
    own = {
        name.removeprefix("driftledger.") for name in found if name.startswith(below)
    }
    assert own == {*case["own"]}


@pytest.mark.slow
@each_case(cases(__file__, "imports"))
def test_a_command_imports_what_it_needs_and_no_other_large_library(case, finished):
    if "without" in case:
        shutil.rmtree(finished.root / case["without"])
    if "before" in case:
        finished.run("driftledger", case["before"])
    selected = yaml.safe_load((finished.root / "params.yaml").read_text())["run"]
    run = "/".join(selected[key][0] for key in ("models", "generators", "encoders"))
    found = loaded(finished.root, *case["command"].replace("RUN", run).split())
    assert "driftledger.cli" in found
    assert found & (LARGE | {"scipy", "dvc"}) == set(case["heavy"])

"""``driftledger init``: a folder is a project or is left as it was, whatever it holds."""

import json
import os
import shlex
import shutil
from pathlib import Path

import pytest
from dvc.utils.serialize import parse_yaml

from driftledger.benchmarks.registry import benchmarks, section_text
from driftledger.commands import init as beginning
from driftledger.commands.init import generated, init, is_ours, upgrade
from driftledger.commands.models import catalogue_rows, catalogue_table
from driftledger.core.errors import ConfigError
from driftledger.core.files import load_yaml, write_bytes
from driftledger.project.catalogue import SECTIONS, catalogue, selectable
from driftledger.project.project import Project
from tests.conftest import REPOSITORY, draw
from tests.sentence import run, tree, write_files
from tests.support.cases import cases, each_case
from tests.support.forked import ended, fork
from tests.support.git import git
from tests.support.selected import selected
from tests.support.small import write_params
from tests.support.terminal import fitting, printed


@pytest.fixture
def here(tmp_path, monkeypatch):
    root = tmp_path / "here"
    root.mkdir()
    monkeypatch.chdir(root)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    return root


def test_an_empty_folder_becomes_a_project(here):
    said = init(Path())
    commands = [
        "driftledger plan",
        'git add . && git commit -m "Select models"',
        "driftledger run",
        "driftledger ui",
    ]
    assert said[-4:] == [f"  {each}" for each in commands]
    assert (here / ".git").is_dir()
    assert not (here / "ledger").exists()  # a folder that publishing makes
    assert upgrade(Project(here), check=True) == []
    chosen = selected(Project(here).settings, "benchmarks")
    assert chosen == ["genception", "self_retrieval", "fidelity"]
    for name in (".driftledger", "shards"):
        (here / name).mkdir()
        (here / name / "calls").touch()
    assert "/calls" not in git(".", "status", "--porcelain", "--untracked-files=all")
    exact = ["dvc.lock", "data/resolved.json", "data/settings.json"]
    exact += ["reports/scores/m/score.json", "ledger/1.json"]
    # a clone of Windows has their hashes
    assert git(".", "check-attr", "text", "--", *exact).count("unset") == len(exact)


def besides(files, folder):
    """All files but those of a folder."""
    names = [name for name in files if folder and name.split("/")[0] != folder]
    return {name: files[name] for name in names}


@each_case(cases(__file__, "init"))
def test_a_project_is_begun_and_changed_or_a_sentence_says_why_not(
    case, here, monkeypatch, sentence
):
    outside = str(here.parent / "outside")
    case = json.loads(json.dumps(case).replace("OUTSIDE", outside))
    case.setdefault("code", 0)
    write_files(here, case.get("files", {}))
    if case.get("git"):
        git(".", "init", "--quiet")
        git(".", "add", "--", *case.get("tracked", []))
    for command in case.pop("before", []):
        assert run(monkeypatch, *shlex.split(command)) == 0
    before = tree(here)
    sentence(case, here)
    if case["code"] or case.get("unchanged"):
        assert tree(here) == before
        return
    folder = case.get("folder", "")
    root = here / folder
    assert besides(tree(here), folder) == besides(before, folder)
    assert upgrade(Project(root), check=True) == []
    text = (root / "params.yaml").read_text()
    assert parse_yaml(text, "x") == load_yaml(text)
    settings = Project(root).settings
    for name, value in case.get("settings", {}).items():
        assert selected(settings, name) == value
    for name, fragment in case.get("holds", {}).items():
        assert fragment in (root / name).read_text()
    assert not any((here / name).exists() for name in case.get("absent", []))
    if "ignored" in case:
        untracked = git(".", "status", "--porcelain", "--untracked-files=all")
        assert "params.yaml" in untracked
        assert not {*case["ignored"]} & {*untracked.split()}


def test_rules_of_theirs_stay_whatever_bytes_they_have(here):
    (here / ".gitignore").write_bytes(b"caf\xe9/\n/.driftledger/")
    init(Path())
    text = (here / ".gitignore").read_bytes()
    assert text.startswith(b"caf\xe9/\n/.driftledger/\n")
    assert text.count(b".driftledger") == 1


def test_the_block_of_questions_in_the_docs_works_after_init(here):
    draw(here / "photos/0.png", 0)
    init(Path(), images=Path("photos"))
    page = (REPOSITORY / "docs/data.md").read_text()
    section = page.partition("\n## Questions\n")[2]
    block = load_yaml(section.partition("```yaml\n")[2].partition("```")[0])
    params = load_yaml((here / "params.yaml").read_text())
    assert "mm_sap" not in params
    params["run"] |= block.pop("run")
    settings = write_params(here, params | block).settings
    chosen = selected(settings, "benchmarks")
    assert chosen == ["genception", "self_retrieval", "fidelity", "mm_sap"]
    shipped = load_yaml(section_text("mm_sap"))["mm_sap"]
    assert settings.section("mm_sap").model_dump(mode="json") == shipped


def killed_after(writes, root):
    """Begin a project in a process that ends at once before a further file; whether it came so
    far."""
    left = iter(range(writes))

    def write(path, data):
        if next(left, None) is None:
            os._exit(9)
        write_bytes(path, data)

    def begin():
        beginning.write_bytes = write
        init(root)

    return ended(fork(begin)) == 9


def test_a_killed_init_is_finished_by_the_next(here):
    init(Path("whole"))
    expected, writes, killed = tree(here / "whole"), 0, True
    while killed:
        root = here / "killed"
        killed = killed_after(writes, root)
        init(root)
        assert tree(root) == expected, writes
        shutil.rmtree(root)
        writes += 1
    assert writes > len(expected) // 2


def test_an_upgrade_writes_committed_files_again_and_refuses_others(here):
    init(Path(), preset="minimal")
    git(".", "add", "--all")
    git(".", "commit", "--quiet", "--message", "all")
    project = Project(here)
    pipeline = here / "dvc.yaml"
    rules = here / ".gitignore"
    before = pipeline.read_text()
    assert upgrade(project) == ["every file is as driftledger writes it"]
    pipeline.write_text(f"{before}# mine\n")
    rules.write_text("*.log\n")
    assert upgrade(project, check=True) == [
        f"{name} differs from what driftledger writes"
        for name in ("dvc.yaml", ".gitignore")
    ]
    refusal = r"dvc\.yaml has changes that are not committed; commit them"
    with pytest.raises(ConfigError, match=refusal):
        upgrade(project)
    assert rules.read_text() == "*.log\n"
    git(".", "commit", "--quiet", "--all", "--message", "mine")
    (here / "MLproject").unlink()
    git(".", "commit", "--quiet", "--all", "--message", "without")
    names = ("dvc.yaml", "MLproject", ".gitignore")
    assert upgrade(project) == [
        f"{name}: written again; 'git diff' shows the changes" for name in names
    ]
    assert pipeline.read_text() == before
    assert rules.read_text().startswith("*.log\n")
    assert upgrade(project, check=True) == []


def test_generated_files_are_known_by_their_first_line_also_those_of_other_versions():
    texts = generated()
    ours = {name for name in texts if is_ours(texts[name])}
    assert ours == {"dvc.yaml", "MLproject"}
    assert not is_ours("stages: {}\n")
    for name in texts:
        assert (REPOSITORY / name).read_text() == texts[name]


def test_git_ignores_what_every_stage_collects(here):
    init(Path())
    ignored = (here / ".gitignore").read_text().splitlines()
    for spec in benchmarks():
        for stage in spec.stages[:-1]:
            place = f"/{stage.path}"
            assert any(place.startswith(line) for line in ignored), place
    # keys, which an accidental 'git add --all' would publish
    assert {".env*", "*.pem", "*.key"} <= {*ignored}
    ours = (REPOSITORY / ".gitignore").read_text().splitlines()
    assert {*ignored} <= {*ours}


def test_the_catalogue_is_listed(monkeypatch, tmp_path):
    def names(section):
        shown = catalogue_table(catalogue_rows(section))
        fitting(shown)
        return [line.split()[0] for line in printed(shown).splitlines()[1:]]

    monkeypatch.chdir(REPOSITORY)
    for section in SECTIONS:
        head, *entries = names(section)
        assert (head, {*entries}) == (f"{section}:", {*catalogue(section)})
    here = {*names("models")}
    monkeypatch.chdir(tmp_path)  # where checkpoints of this repository are not
    there = {*names("models")}
    assert {name.split("_")[0] for name in here - there} == {"trio"}
    monkeypatch.chdir(REPOSITORY)
    assert names("")[-len(catalogue("encoders")) :] == list(catalogue("encoders"))
    assert names("DINOv2-base") == ["encoders:", "dinov2"]


def test_what_is_retired_is_listed_last_with_its_date():
    rows = catalogue_rows("models")
    retired = [row["name"] for row in rows if row["retired"]]
    names = "gemini_1_5_pro claude_3_opus gpt_4o gpt_4v gpt_4_judge"
    assert " ".join(retired) == names
    assert [row["name"] for row in rows[-5:]] == retired
    assert printed(catalogue_table(catalogue_rows("dall_e_3"))).endswith(" 2026-05-12")
    _, entry = selectable("models", "gpt_4v", "http://127.0.0.1:9/v1")
    assert "retired" not in entry  # another server may still have it


def test_without_git_nothing_is_written(sentence, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    case = {
        "command": "init --images photos",
        "files": {"photos/0.png": "DRAWN"},
        "lines": ["driftledger: git is not installed, and a project needs it"],
    }
    sentence(case)

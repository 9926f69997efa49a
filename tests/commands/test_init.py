"""``driftledger init``: a folder is a project or is left as it was, whatever it holds."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from dvc.utils.serialize import parse_yaml
from PIL import Image

from driftledger.benchmarks.registry import benchmarks, section_text
from driftledger.commands import init as beginning
from driftledger.commands import models
from driftledger.commands.init import generated, init, is_ours, upgrade
from driftledger.commands.models import catalogue_rows, catalogue_table
from driftledger.core.errors import ConfigError, DataError
from driftledger.core.files import load_yaml, write_bytes
from driftledger.project.catalogue import SECTIONS, catalogue, selectable
from driftledger.project.project import Project
from tests.conftest import REPOSITORY, draw
from tests.support.terminal import fitting, printed

Tree = dict[str, bytes | str]


def tree(root):
    """Every file and link, without what Git and DVC keep for themselves."""
    found: Tree = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if not name.startswith((".git/", ".dvc/tmp", ".dvc/cache")):
            found[name] = (
                str(path.readlink())
                if path.is_symlink()
                else path.read_bytes()
                if path.is_file()
                else ""
            )
    return found


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    return tmp_path


def git(*arguments):
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@localhost", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


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
    assert [spec.name for spec in Project(here).settings.benchmarks] == [
        "genception",
        "fidelity",
    ]
    (here / ".driftledger").mkdir()
    (here / ".driftledger" / "calls").touch()
    (here / "shards").mkdir()
    (here / "shards" / "calls").touch()
    assert "/calls" not in git("status", "--porcelain", "--untracked-files=all")
    exact = (
        "dvc.lock",
        "data/resolved.json",
        "data/settings.json",
        "reports/scores/m/score.json",
        "ledger/1.json",
    )
    # a clone of Windows has their hashes
    assert git("check-attr", "text", "--", *exact).count("unset") == len(exact)


def test_twice_is_once(here):
    init(Path())
    before = tree(here)
    assert "a project already" in init(Path())[0]
    assert tree(here) == before


def test_images_become_a_dataset_that_dvc_keeps(here):
    draw(here / "My Photos" / "0.png", 0)
    (here / "My Photos" / "IMG_2.HEIC").touch()
    xray = Image.new("I;16", (8, 4))
    xray.putpixel((0, 0), 4095)
    xray.save(here / "My Photos" / "xray.png")
    said = init(Path(), images=Path("My Photos"))
    assert (
        "the dataset my_photos: DVC keeps My Photos now; commit My Photos.dvc" in said
    )
    assert "left out, not an image that is read: IMG_2.HEIC" in said
    assert "nothing is left to see in 1 of 2 images after conversion: xray.png" in said
    settings = Project(here).settings
    assert settings.run.datasets == ("my_photos",)
    assert settings.datasets["my_photos"].model_extra == {"path": "My Photos"}
    assert (
        "/My Photos" in (here / ".gitignore").read_text(encoding="utf-8").splitlines()
    )
    assert upgrade(Project(here), check=True) == []


def test_images_that_git_or_dvc_keeps_or_that_lie_elsewhere_are_left_alone(here):
    git("init", "--quiet")
    for name in ("tracked", "kept", "near"):
        draw(here / ("near" if name == "near" else f"a/{name}") / "0.png", 0)
    git("add", "a/tracked")
    (here / "a" / "kept.dvc").write_text("outs: []\n", encoding="utf-8")
    outside = here.parent / f"{here.name}-outside"
    draw(outside / "0.png", 0)
    for images, path in (
        (Path("a/tracked"), "tracked"),
        (Path("a/kept"), "kept"),
        (Path("near"), "../near"),
        (outside, str(outside)),
    ):
        told = init(Path("a"), images=images, force=True)
        assert any(line.endswith(f": {path}, where it is") for line in told), told
        [entry] = Project(here / "a").settings.datasets.values()
        assert entry.model_extra == {"path": path}
    assert not (here / ".dvc").exists()


OTHERS: dict[str, str] = {
    "dvc.yaml": "stages: {}\n",
    "dvc.lock": "schema: '2.0'\n",
    "params.yaml": "lr: 0.1\n",
    "MLproject": "name: theirs\n",
    ".dvc/plots/lines.json": "{}",
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_somebody_else_wrote_is_refused_and_left_alone(here, name):
    (here / name).parent.mkdir(parents=True, exist_ok=True)
    (here / name).write_text(OTHERS[name], encoding="utf-8")
    before = tree(here)
    with pytest.raises(
        ConfigError,
        match="of something else; give the project a folder of its own, as in",
    ):
        init(Path())
    assert tree(here) == before
    init(Path("evaluation"))
    assert {
        path: content
        for path, content in tree(here).items()
        if not path.startswith("evaluation")
    } == before


def test_rules_of_theirs_stay_whatever_bytes_they_have(here):
    (here / ".gitignore").write_bytes(b"caf\xe9/\n/.driftledger/")
    init(Path())
    text = (here / ".gitignore").read_bytes()
    assert text.startswith(b"caf\xe9/\n/.driftledger/\n")
    assert text.count(b".driftledger") == 1


def test_mistakes_are_sentences_before_anything_is_written(here):
    (here / "empty").mkdir()
    draw(here / "line\nbreak" / "0.png", 0)
    draw(here / "photos" / "0.png", 0)
    for name in ("q.tsv", "q\n.tsv"):
        (here / name).touch()
    before = tree(here)
    for error, said, arguments in (
        (ConfigError, "none is not a folder", {"images": Path("none")}),
        (ConfigError, "none.tsv is not a file", {"questions": Path("none.tsv")}),
        (ConfigError, "name that by --questions", {"benchmark": "mme"}),
        (ConfigError, "characters in its name", {"questions": Path("q\n.tsv")}),
        (
            ConfigError,
            "benchmark 'mne' is unknown; did you mean 'mme'",
            {"questions": Path("q.tsv"), "benchmark": "mne"},
        ),
        (
            ConfigError,
            "protocol 'trac' is unknown",
            {"questions": Path("q.tsv"), "benchmark": "trac"},
        ),
        (DataError, "holds no images", {"images": Path("empty")}),
        (ConfigError, "would hold the project itself", {"images": Path()}),
        (ConfigError, "characters in its name", {"images": Path("line\nbreak")}),
        (ConfigError, "preset 'x' is unknown", {"preset": "x"}),
    ):
        with pytest.raises(error, match=said):
            init(**{"folder": Path()} | arguments)  # type: ignore[arg-type]
    assert tree(here) == before
    init(Path("a"))
    with pytest.raises(
        ConfigError, match="a is a project already; 'driftledger add' selects more"
    ):
        init(Path("a"), images=Path("photos"))


def test_questions_make_a_project_of_one_benchmark(here):
    git("init", "--quiet")
    (here / "My MME.tsv").touch()
    init(Path("a"), questions=Path("My MME.tsv"), chosen=chosen(model="openai/gpt-x"))
    settings = Project(here / "a").settings
    assert [spec.name for spec in settings.benchmarks] == ["mme"]
    assert settings.run.mme == settings.run.question_sets == ("my_mme",)
    assert settings.question_sets["my_mme"].model_extra == {
        "protocol": "mme",
        "path": "../My MME.tsv",
    }
    run = settings.run
    assert (run.models, run.datasets, run.generators, run.encoders, run.judge) == (
        ("gpt_x",),
        (),
        (),
        (),
        None,
    )
    draw(here / "photos" / "0.png", 0)
    init(
        Path("b"),
        questions=Path("My MME.tsv"),
        benchmark="mm_vet",
        images=Path("photos"),
    )
    both = Project(here / "b").settings
    assert [spec.name for spec in both.benchmarks] == [
        "genception",
        "fidelity",
        "mm_vet",
    ]
    assert both.judge == "gpt_4_1_judge"
    said = init(
        Path("c"),
        questions=Path("My MME.tsv"),
        benchmark="mm_vet",
        chosen=chosen(model="openai/gpt-x"),
    )
    assert (
        "gpt_4_1_judge grades the answers; run.judge in params.yaml names another"
        in said
    )


def test_the_block_of_questions_in_the_docs_works_after_init(here):
    draw(here / "photos" / "0.png", 0)
    init(Path(), images=Path("photos"))
    text = (
        (REPOSITORY / "docs" / "data.md")
        .read_text(encoding="utf-8")
        .partition("\n## Questions\n")[2]
    )
    block = load_yaml(text.partition("```yaml\n")[2].partition("```")[0])
    params = load_yaml((here / "params.yaml").read_text(encoding="utf-8"))
    assert "mm_sap" not in params
    params["run"] |= block.pop("run")
    (here / "params.yaml").write_text(json.dumps(params | block), encoding="utf-8")
    settings = Project(here).settings
    assert [spec.name for spec in settings.benchmarks] == [
        "genception",
        "fidelity",
        "mm_sap",
    ]
    assert (
        settings.section("mm_sap").model_dump(mode="json")
        == load_yaml(section_text("mm_sap"))["mm_sap"]
    )


def killed_after(writes, root):
    """Begin a project in a process that ends at once before a further file; whether it came so
    far."""
    child = os.fork()
    if not child:
        left = iter(range(writes))

        def write(path, data):
            if next(left, None) is None:
                os._exit(9)
            write_bytes(path, data)

        beginning.write_bytes = write  # type: ignore[attr-defined]
        init(root)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


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
    with pytest.raises(
        ConfigError, match="this folder is not a project; run this in its top folder"
    ):
        upgrade(Project(here))
    init(Path(), preset="minimal")
    git("add", "--all")
    git("commit", "--quiet", "--message", "all")
    project, before = Project(here), (here / "dvc.yaml").read_text(encoding="utf-8")
    assert upgrade(project) == ["every file is as driftledger writes it"]
    (here / "dvc.yaml").write_text(f"{before}# mine\n", encoding="utf-8")
    (here / ".gitignore").write_text("*.log\n", encoding="utf-8")
    assert upgrade(project, check=True) == [
        f"{name} differs from what driftledger writes"
        for name in ("dvc.yaml", ".gitignore")
    ]
    with pytest.raises(
        ConfigError, match=r"dvc\.yaml has changes that are not committed; commit them"
    ):
        upgrade(project)
    assert (here / ".gitignore").read_text(encoding="utf-8") == "*.log\n"
    git("commit", "--quiet", "--all", "--message", "mine")
    (here / "MLproject").unlink()
    git("commit", "--quiet", "--all", "--message", "without")
    names = ("dvc.yaml", "MLproject", ".gitignore")
    assert upgrade(project) == [
        f"{name}: written again; 'git diff' shows the changes" for name in names
    ]
    assert (here / "dvc.yaml").read_text(encoding="utf-8") == before
    assert (here / ".gitignore").read_text(encoding="utf-8").startswith("*.log\n")
    assert upgrade(project, check=True) == []


def test_generated_files_are_known_by_their_first_line_also_those_of_other_versions():
    texts = generated()
    assert {name for name, text in texts.items() if is_ours(text)} == {
        "dvc.yaml",
        "MLproject",
    }
    assert not is_ours("stages: {}\n")
    assert [
        name
        for name, text in texts.items()
        if (REPOSITORY / name).read_text(encoding="utf-8") != text
    ] == []


def test_git_ignores_what_every_stage_collects(here):
    init(Path())
    ignored = (here / ".gitignore").read_text(encoding="utf-8").splitlines()
    for stage in (stage for spec in benchmarks() for stage in spec.stages[:-1]):
        assert any(f"/{stage.path}".startswith(line) for line in ignored), stage.path
    # keys, which an accidental 'git add --all' would publish
    assert {".env*", "*.pem", "*.key"} <= {*ignored}
    assert {*ignored} <= {
        *(REPOSITORY / ".gitignore").read_text(encoding="utf-8").splitlines()
    }


def test_the_catalogue_is_listed():
    def names(section):
        shown = catalogue_table(catalogue_rows(section))
        fitting(shown)
        return [line.split()[0] for line in printed(shown).splitlines()[1:]]

    for section in SECTIONS:
        head, *entries = names(section)
        assert (head, {*entries}) == (f"{section}:", {*catalogue(section)})
    assert names("")[-len(catalogue("encoders")) :] == list(catalogue("encoders"))
    assert names("DINOv2-base") == ["encoders:", "dinov2"]
    [row] = [
        each
        for each in printed(
            catalogue_table(catalogue_rows("gpt_5_4_mini"))
        ).splitlines()
        if "OPENAI" in each
    ]
    assert row.split()[:2] == ["gpt_5_4_mini", "openai/gpt-5.4-mini-2026-03-17"]
    assert row.split()[2:] == ["OPENAI_API_KEY", "0.75", "/", "4.5", "2026-11-26"]
    with pytest.raises(
        ConfigError, match=r"name 'dinov9' is unknown; did you mean 'dinov"
    ):
        catalogue_rows("dinov9")


def test_what_is_retired_is_listed_last_with_its_date_and_selected_with_a_warning(here):
    rows = catalogue_rows("models")
    retired = [row["name"] for row in rows if row["retired"]]
    assert retired == [
        "gemini_1_5_pro",
        "claude_3_opus",
        "gpt_4o",
        "gpt_4v",
        "gpt_4_judge",
    ]
    assert [row["name"] for row in rows[-5:]] == retired
    assert printed(catalogue_table(catalogue_rows("dall_e_3"))).endswith(" 2026-05-12")
    _, entry = selectable("models", "gpt_4v", ELSEWHERE)
    assert "retired" not in entry  # another server may still have it
    chosen = {
        "models": {"gpt_4v": None},
        "generators": {"dall_e_3": None},
        "encoders": {"dinov2": None},
    }
    lines = init(Path(), chosen=chosen)
    assert (
        "generators.dall_e_3: retired on 2026-05-12, so that its service refuses it"
        in lines
    )
    assert (
        "models.gpt_4v: retired on 2024-12-06, so that its service refuses it" in lines
    )
    added = models.add(
        Project(here), "models", "gpt_4o", only=False, base_url=None, key=None
    )
    assert (
        "models.gpt_4o: retired on 2026-10-23, so that its service refuses it" in added
    )


ELSEWHERE = "http://127.0.0.1:9/v1"


def chosen(**given):
    return {
        f"{kind}s": dict([selectable(f"{kind}s", each, ELSEWHERE)])
        for kind, each in given.items()
    }


def test_a_model_a_generator_and_an_encoder_are_named_in_one_command(here):
    assert "what it selects is a demonstration" in "".join(init(Path("demonstration")))
    (here / "mine").mkdir()
    (here / "mine" / "config.json").write_text('{"model_type": "dinov2"}')
    given = chosen(
        model="openai/gpt-5.4-mini", generator="openai/draws:v1", encoder="mine"
    )
    with pytest.raises(
        ConfigError, match="'painter' only works for models of regions"
    ) as refused:
        init(Path("a"), chosen={"models": given["models"]})
    assert "select gpt_image_2 or sdxl" in str(refused.value)
    assert not (here / "a").exists()
    lines = "\n".join(init(Path(), chosen=given))
    assert "Git ignores /mine" in lines
    (here / "score.zip").touch()
    assert "params.yaml" in (
        untracked := git("status", "--porcelain", "--untracked-files=all")
    )
    assert not {"mine/config.json", "score.zip"} & {*untracked.split()}
    assert "demonstration" not in lines
    assert (
        "models.gpt_5_4_mini: missing: openai gpt-5.4-mini at 127.0.0.1:9 cannot be reached"
        in lines
    )
    assert "generators.draws_v1: openai draws:v1: no price is known" in lines
    text = (here / "params.yaml").read_text(encoding="utf-8")
    assert (
        "  gpt_5_4_mini:\n    provider: openai\n    model: gpt-5.4-mini\n    base_url: "
        f"{ELSEWHERE}\n" in text
    )
    assert parse_yaml(text, "x") == load_yaml(text)
    run = Project(here).settings.run
    assert (run.models, run.generators, run.encoders) == (
        ("gpt_5_4_mini",),
        ("draws_v1",),
        ("mine",),
    )
    assert Project(here).settings.build("encoders", "mine").provider == "dinov2"


def test_one_more_is_added_or_refused(here):
    init(Path())
    project, before = Project(here), (here / "params.yaml").read_text(encoding="utf-8")

    def add(section, given, only=False):
        return models.add(project, section, given, only=only, base_url=None, key=None)

    for section, given, sentence in (
        ("models", "openai/gpt-x", "'painter' only works for models of regions"),
        ("models", "gpt_5_4_mni", "did you mean 'gpt_5_4_mini'"),
        ("models", "anthropic/claude", "PROVIDER/MODEL with one of the providers"),
        ("generators", "nowhere", "a folder, or PROVIDER/MODEL"),
    ):
        with pytest.raises(ConfigError, match=sentence):
            add(section, given)
    assert (here / "params.yaml").read_text(encoding="utf-8") == before
    add("generators", "gpt_image_2", only=True)
    add("encoders", "vit/facebook/dino-vitb16", only=True)
    assert add("models", "openai/gpt-x")[0] == "params.yaml selects gpt_x"
    add("models", "openai/gpt-x")
    settings = Project(here).settings
    assert settings.run.models == ("regions_fine", "blind", "gpt_x")
    assert settings.run.generators == ("gpt_image_2",)
    assert settings.encoders["dino_vitb16"].model_extra == {
        "path": "facebook/dino-vitb16",
        "revision": "main",
    }
    (here / "gpt-x").mkdir()
    with pytest.raises(
        ConfigError, match=r"params\.yaml has another entry models\.gpt_x"
    ):
        add("models", "gpt-x")

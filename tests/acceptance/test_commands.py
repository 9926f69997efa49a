"""The commands of README and of the pages run."""

import re
import shutil
import subprocess

import pytest

from tests.acceptance import own_code
from tests.acceptance.checkout import Checkout, draw
from tests.acceptance.numbers import numbers, read
from tests.acceptance.places import (
    REPOSITORY,
    RUN,
    dataset_images,
    score_files,
)
from tests.acceptance.service import Service
from tests.support.cases import cases

PLACES = cases(__file__, "typed")
"""Regular expression of commands → where they run: in the default project, in one of simulated
services, or in another test."""
PAGES = (
    "README.md",
    "docs/data.md",
    "docs/benchmarks.md",
    "CONTRIBUTING.md",
    "docs/quick_start.md",
    *(
        f"docs/{name}.md"
        for name in ("components", "services", "mlflow_and_dvc", "teams")
    ),
    "docs/regressions.md",
    "docs/extending.md",
    "docs/trust.md",
    "docs/troubleshooting.md",
    "docs/method/demonstration.md",
    "docs/method/papers.md",
)
"""Those with commands, in the order in which the services answer."""


def typed(place=None):
    """Return the commands of all pages, or of one place, without their comments."""
    commands = []
    for page in PAGES:
        text = (REPOSITORY / page).read_text(encoding="utf-8")
        for block in re.findall(r"```(?:console|sh)\n(.*?)```", text, re.DOTALL):
            for line in block.splitlines():
                command = re.sub(r"(^|\s+)#.*", "", line).strip()
                if command:
                    commands.append(command)
    if place is None:
        return commands
    return [command for command in commands if place_of(command).get("in") == place]


def place_of(command):
    return next(case for case in PLACES if re.match(case["line"], command))


@pytest.fixture(scope="module")
def project(evaluated, tmp_path_factory):
    """Copy the default project, to run the commands of the README in."""
    copied = evaluated.copy(tmp_path_factory.mktemp("readme"))
    copied.commit("results")
    return copied


def ran(project, command):
    """Run a command as it is typed; a gate or a check may fail, but not by a mistake."""
    done = project.run("bash", "-e", "-c", command, check=False, BROWSER="true")
    judges = "--fail-if" in command or " check " in command
    assert done.returncode in ((0, 1, 3) if judges else (0,)), (
        f"{command}\n{done.stdout}{done.stderr}"
    )
    return done


def test_each_command_of_each_page_has_its_place():
    every = "".join(
        file.read_text(encoding="utf-8")
        for file in (REPOSITORY / "tests").rglob("test_*.py")
    )
    used = [place_of(command) for command in typed()]
    assert [case["line"] for case in PLACES if case not in used] == []
    tests = [case["test"] for case in PLACES if "test" in case]
    assert [name for name in tests if f"def {name}(" not in every] == []
    named = {
        page.relative_to(REPOSITORY).as_posix()
        for page in (REPOSITORY / "docs").rglob("*.md")
        if re.search(r"```(console|sh)\n", page.read_text(encoding="utf-8"))
    }
    assert named <= set(PAGES)


def test_the_commands_about_the_default_project_run(project):
    (project.root / "photos").mkdir()
    shutil.copy(dataset_images(project.root)[0], project.root / "photos" / "2.png")
    commands = dict.fromkeys(typed("evaluated"))  # what two pages name runs once
    assert len(commands) > 20
    for command in commands:
        done = ran(project, command)
        silent = re.search(" (report|upgrade) |^dvc ", f"{command} ")
        assert done.stdout or silent, command


@pytest.mark.slow
def test_the_commands_about_a_service_run(tmp_path):
    """Each ``init`` begins a project, in which the commands of further pages go on."""
    pytest.importorskip("openai")
    with Service() as service:
        service.listed = ["gpt-5.4-mini-2026-03-17", "gemini-3.8-flash"]
        service.listed += ["gpt-image-2-2026-04-21"]
        address = f" --base-url {service.base_url} --key-env OPENAI_API_KEY"
        projects = []
        for typed_command in typed("services"):
            command = re.sub(
                " --encoder (dinov2|qwen_3_vl_embedding_2b)", "", typed_command
            )
            command = re.sub("dinov2|qwen_3_vl_embedding_2b", "hues", command)
            command = command.replace("gc_at_5", "gc_at_1")  # drawings are paid
            if command.startswith("driftledger init"):
                projects.append(six_photographs(tmp_path / f"project {len(projects)}"))
                command += " --encoder hues:Hues" + address
            elif command.startswith("driftledger add generator"):
                command += address
            project = projects[-1]
            if "run --again" in command:
                project.commit("what is there")
            ran(project, command.replace("git commit", "git commit --allow-empty"))
            if "llava" in command:  # which no server here has
                project.git("checkout", "--quiet", "params.yaml")
        assert service.kinds["generations"] > 6


def six_photographs(folder):
    """Make a repository of pictures, an encoder that reads, and a key."""
    project = Checkout(folder / "theirs", folder / "state")
    for number in range(6):
        draw(project.root / "photos" / f"{number}.png", number)
    own_code.write(project.root, hues=own_code.READER)
    project.run("git", "init", "--quiet")
    project.env["OPENAI_API_KEY"] = "sk-newcomer"
    return project


@pytest.mark.slow
def test_ui_shows_the_scores(small, tmp_path):
    copied = small.copy(tmp_path)
    copied.driftledger("track")
    with subprocess.Popen(
        ["driftledger", "ui"],
        cwd=copied.root,
        env=copied.env | {"PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    ) as ui:
        try:
            assert ui.stdout.readline().startswith("scores: http")
        finally:
            ui.terminate()


def test_audit_leads_from_a_value_to_the_version_of_the_generator(evaluated_copy):
    assert (
        f"driftledger audit {RUN}:gc_at_5"
        in evaluated_copy.driftledger("audit", "0.743").stdout
    )
    model, generator, encoder = RUN.split("/")
    keys = {
        "dataset": "photos",
        "encoder": encoder,
        "generator": generator,
        "model": model,
    }
    [score] = [
        score
        for score in map(read, score_files(evaluated_copy.root))
        if (score["benchmark"], score["keys"]) == ("genception", keys)
    ]
    audited = evaluated_copy.driftledger("audit", f"{RUN}:gc_at_5").stdout
    assert f"{numbers(score)['gc_at_5']:.3f}" in audited
    assert (
        f"{generator}@{score['components']['generator']['fingerprint'][:8]}" in audited
    )


def test_a_wrong_name_is_one_sentence_and_exit_code_2(evaluated_copy):
    done = evaluated_copy.driftledger("audit", "nobody/painter/layout", check=False)
    assert done.returncode == 2
    assert "nobody" in done.stderr
    assert "Traceback" not in done.stderr

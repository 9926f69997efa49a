"""From an empty repository, twelve photographs and a key to an audited score, by the commands of
the README."""

import re
import shlex
import sqlite3

import pytest

from tests.acceptance import own_code
from tests.acceptance.checkout import Checkout, draw
from tests.acceptance.places import REPOSITORY
from tests.acceptance.service import Service

PHOTOGRAPHS = 12
NAMES = "gpt_5_4_mini/gpt_image_2/hues"


def of_the_readme():
    """Return the first commands of the README, with an encoder that needs no weights."""
    block = re.findall(
        r"```console\n(.*?)```",
        (REPOSITORY / "README.md").read_text(encoding="utf-8"),
        re.DOTALL,
    )[0]
    lines = (
        block.replace("--encoder dinov2", "--encoder hues:hues")
        .replace("/dinov2:", "/hues:")
        .splitlines()
    )
    commands = [shlex.split(line, comments=True) for line in lines]
    return [command for command in commands if command[0] in ("pip", "driftledger")]


def test_six_commands_lead_to_an_audited_score(tmp_path):
    pytest.importorskip("openai")
    commands = of_the_readme()
    assert len(commands) <= 6
    assert [command[1] for command in commands] == [
        "install",
        "init",
        "plan",
        "run",
        "ui",
        "audit",
    ]
    project = Checkout(tmp_path / "theirs", tmp_path / "state")
    for number in range(PHOTOGRAPHS):
        draw(project.root / "photos" / f"{number}.png", number)
    own_code.write(project.root, hues=own_code.ENCODER)
    project.run("git", "init", "--quiet")
    _, init, plan, run, _, audit = commands
    with Service() as service:
        shown = project.run(
            *init, "--base-url", service.base_url, "--key-env", "OPENAI_API_KEY"
        ).stdout
        assert "models.gpt_5_4_mini: missing: openai gpt-5.4-mini" in shown
        refused = project.run(
            *run, check=False
        )  # before any stage, and before any call
        assert refused.returncode == 2
        assert (
            "nothing was asked yet: generators.gpt_image_2: openai gpt-image-2"
            in refused.stderr
        )
        assert not service.arrived
        project.env["OPENAI_API_KEY"] = "sk-newcomer"
        planned = project.run(*plan, check=False)
        assert planned.returncode == 1
        assert re.search(r"^models\.gpt_5_4_mini +72 ", planned.stdout, re.M)
        missing = re.findall(
            r"^missing: (\S+): .*: the service lists 4 models, but not this one",
            planned.stderr,
            re.M,
        )
        assert missing == ["generators.gpt_image_2", "models.gpt_5_4_mini"]
        service.listed = ["gpt-5.4-mini-2026-03-17", "gpt-image-2-2026-04-21"]
        assert "missing" not in project.run(*plan).stderr
        assert not service.arrived
        scores = project.run(*run).stdout
        assert service.kinds == {"completions": 72, "generations": 72}
    assert f"driftledger audit {NAMES}:gc_at_5" in scores
    answer = project.run(*audit).stdout
    assert re.search(r"generator +gpt_image_2@[0-9a-f]{8}", answer), answer
    with sqlite3.connect(project.root / "mlflow.db") as mlflow:
        names = [name for (name,) in mlflow.execute("SELECT name FROM runs")]
    assert NAMES.replace("/", " · ") in names


def test_questions_alone_lead_to_a_checked_score(tmp_path):
    """A project of MME alone: no image dataset, no generator, no encoder."""
    project = Checkout(tmp_path / "theirs", tmp_path / "state")
    rows = ["id\timage\tquestion\tanswer\tcategory"]
    for number in range(4):
        draw(project.root / "photos" / f"{number}.png", number)
        for answer in ("yes", "no"):
            rows.append(
                f"{number}{answer}\tphotos/{number}.png\tIs it {answer}? Please answer yes or "
                f"no.\t{answer}\tposters"
            )
    (project.root / "my.tsv").write_text("\n".join(rows), encoding="utf-8")
    models = ("--model", "blind", "--model", "random")
    project.run(
        "driftledger", "init", "--questions", "my.tsv", "--benchmark", "mme", *models
    )
    assert re.search(
        r"^models\.blind +8$", project.run("driftledger", "plan").stdout, re.M
    )
    project.commit("Select models")
    assert (
        "next: driftledger audit blind:score"
        in project.run("driftledger", "run").stdout
    )
    assert "8/8 scored" in project.run("driftledger", "audit", "blind:score").stdout
    assert (
        "mme on my" in project.run("driftledger", "compare", "blind", "random").stdout
    )
    assert "2 runs: all holds" in project.run("driftledger", "verify").stdout
    assert "reports/leaderboard.md" in project.run("driftledger", "report").stdout
    project.run("driftledger", "bundle", "blind", "-o", "score.zip")
    assert re.search(
        r"[1-9]\d* reproduced, .* 0 differ",
        project.run("driftledger", "check", "score.zip").stdout,
    )
    project.commit("First scores")
    assert "score.zip" not in project.git("ls-files")

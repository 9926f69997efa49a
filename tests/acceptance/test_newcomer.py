"""From an empty repository, twelve photographs and a key to an audited score, by the commands of
the quick start."""

import re
import shlex
import sqlite3

import pytest

from tests.acceptance import own_code
from tests.acceptance.checkout import Checkout, draw
from tests.acceptance.places import REPOSITORY
from tests.acceptance.service import Service

PHOTOGRAPHS = 12
MODELS = ("gpt_5_4_mini", "gemini_3_8_flash")


def of_the_quick_start():
    """Return its commands up to the audit, with an encoder that needs no weights."""
    page = (REPOSITORY / "docs/quick_start.md").read_text(encoding="utf-8")
    commands = []
    for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL):
        for line in block.splitlines():
            words = shlex.split(
                line.replace("qwen_3_vl_embedding_2b", "hues"), comments=True
            )
            if words[:2] == ["pip", "install"] or words[0] in ("driftledger", "git"):
                commands.append(words)
    ends = [words[1] for words in commands].index("audit") + 1
    return [words for words in commands[:ends] if words[1] not in ("ui", "report")]


def test_six_commands_lead_to_a_first_answer_and_four_more_to_an_audited_drawing(
    tmp_path,
):
    pytest.importorskip("openai")
    commands = of_the_quick_start()
    names = [words[1] for words in commands]
    assert names[:6] == ["install", "init", "plan", "add", "run", "compare"]
    assert names[6:] == ["add", "plan", "add", "run", "audit"]
    assert commands[3][0] == commands[8][0] == "git"
    project = Checkout(tmp_path / "theirs", tmp_path / "state")
    for number in range(PHOTOGRAPHS):
        draw(project.root / "photos" / f"{number}.png", number)
    own_code.write(project.root, hues=own_code.READER)
    project.run("git", "init", "--quiet")
    _, init, plan, _, run, compare, add, _, _, _, audit = commands
    with Service() as service:
        address = ("--base-url", service.base_url, "--key-env", "OPENAI_API_KEY")
        shown = project.run(*init, "--encoder", "hues:Hues", *address).stdout
        assert "models.gpt_5_4_mini: missing: openai gpt-5.4-mini" in shown
        refused = project.run(*run, check=False)  # only the control needs no key
        assert refused.returncode == 1
        for model in MODELS:
            lacks = rf"{model}: openai \S+: the environment variable OPENAI_API_KEY is not set"
            assert re.search(lacks, refused.stderr), model
        assert not service.arrived
        project.env["OPENAI_API_KEY"] = "sk-newcomer"
        planned = project.run(*plan, check=False)
        assert planned.returncode == 1
        for model in MODELS:
            assert re.search(rf"^models\.{model} +– +12 ", planned.stdout, re.M)
        missing = re.findall(
            r"^missing: (\S+): .*: the service lists 4 models, but not this one",
            planned.stderr,
            re.M,
        )
        assert missing == ["models.gemini_3_8_flash", "models.gpt_5_4_mini"]
        service.listed = ["gpt-5.4-mini-2026-03-17", "gemini-3.8-flash"]
        assert "missing" not in project.run(*plan).stderr
        assert not service.arrived
        project.commit("Select models")
        scores = project.run(*run).stdout
        assert service.kinds == {"completions": 24}
        assert re.search(r"^next: driftledger audit \w+/hues:recall1$", scores, re.M)
        assert re.search(r"^blind +8\.33", scores, re.M)
        compared = project.run(*compare).stdout
        assert "self_retrieval on photos: " in compared

        service.listed += ["gpt-image-2-2026-04-21"]
        added = project.run(*add, *address).stdout
        assert "selects GenCeption, too, over the images of self-retrieval" in added
        planned = project.run(*plan).stdout
        assert re.search(r"^generators\.gpt_image_2 +– +36 ", planned, re.M)
        project.commit("Add a generator")
        project.run(*run)
        assert service.kinds == {"completions": 24, "generations": 36}
    answer = project.run(*audit).stdout
    assert re.search(r"generator +gpt_image_2@[0-9a-f]{8}", answer), answer
    with sqlite3.connect(project.root / "mlflow.db") as mlflow:
        runs = [name for (name,) in mlflow.execute("SELECT name FROM runs")]
    assert "gpt_5_4_mini · gpt_image_2 · hues" in runs


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

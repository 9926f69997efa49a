"""A service that changes behind its name: a gate finds it where the service was asked twice."""

import json

import pytest

from tests.acceptance.checkout import Checkout, draw
from tests.acceptance.service import Service, send

QUESTIONS = 240
BY_ITSELF = 7
CHANGED = 73


class Weeks(Service):
    """Answer no to the first ``flipped`` questions, and yes to the others."""

    flipped = 0

    def _serve(self, request, body):
        number = int(body.partition(b"Question ")[2].partition(b":")[0])
        message = {"role": "assistant", "content": "Yes", "refusal": None}
        if number < self.flipped:
            message["content"] = "No"
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        send(request, {"model": "eyes-1", "choices": [choice]})


def ask(project, as_of):
    """Evaluate the service as of a day, commit, and return the run's fingerprint."""
    project.params(lambda params: params["models"]["eyes"].update(as_of=as_of))
    project.run("driftledger", "run")
    project.commit(as_of)
    [published] = project.git(
        "show", "--name-only", "--format=", "--", "ledger"
    ).split()
    return json.loads((project.root / published).read_bytes())["fingerprint"]


def test_a_service_that_changed_is_found_where_it_was_asked_twice(tmp_path):
    pytest.importorskip("openai")
    project = Checkout(tmp_path / "theirs", tmp_path / "state")
    rows = ["id\timage\timage_id\tquestion\tanswer\tcategory"]
    draw(project.root / "photos" / "0.png", 0)
    for number in range(QUESTIONS):
        answer = ("yes", "no")[number % 2]
        rows.append(
            f"{number}\tphotos/0.png\t{number // 2}\tQuestion {number}: is it? Please answer yes "
            f"or no.\t{answer}\tposters"
        )
    (project.root / "my.tsv").write_text("\n".join(rows), encoding="utf-8")
    with Weeks() as weeks:
        project.env["EYES_KEY"] = "sk-eyes"
        service = ("--base-url", weeks.base_url, "--key-env", "EYES_KEY")
        questions = ("--questions", "my.tsv", "--benchmark", "mme")
        project.run(
            "driftledger", "init", *questions, "--model", "openai/eyes", *service
        )
        first = ask(project, "2026-11-26")
        weeks.flipped = CHANGED
        later = ask(project, "2026-12-03")
        gate = ("driftledger", "compare", first, later, "--fail-if", "changed")
        alone = project.run(*gate, check=False)
        weeks.flipped = BY_ITSELF
        ask(project, "2026-11-26.2")
    assert alone.returncode == 3
    lines = alone.stdout.splitlines()
    basis = "A as published, B recomputed from its records"
    assert lines[0] == f"scores: {basis}"
    assert "no difference in score that these samples show" in alone.stdout
    assert (
        "  240 answers: 73 changed (30 %, 23 to 39): 37 right → wrong, 36 wrong → right; "
        "McNemar p = 1" in lines
    )
    assert lines[-2].startswith(
        "unknown: mme on my: 73 of 240 answers changed, and nothing says how many change by "
        "themselves: ask A twice"
    )
    assert lines[-1] == (
        f"unknown: cannot tell: 1 of 1 sets of answers or descriptions ({basis})"
    )
    judged = project.run(*gate, "--markdown", "--show", "1", check=False)
    assert judged.returncode == 1
    text = judged.stdout.replace("\\", "")
    assert "73 of 240 answers changed, and 7 of 240 change by themselves (p = " in text
    assert "McNemar p = 1; noise floor 7 of 240" in text
    assert "right 'Yes' → wrong 'No'" in text
    shown = json.loads(project.run(*gate, "--json", check=False).stdout)
    [changes] = shown["pairs"][0]["changes"]
    assert (changes["changed"], changes["floor"]["changed"]) == (CHANGED, BY_ITSELF)
    texts = [(each["a_text"], each["b_text"]) for each in changes["furthest"]]
    assert texts == [("Yes", "No")] * CHANGED
    same = project.run("driftledger", "compare", first, first, "--fail-if", "changed")
    assert same.stdout.splitlines()[-1].startswith("passes: A and B are one run (A ")

"""A second judge behind a real socket: counted before it is asked, asked once, and without a part in any score."""

import hashlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

pytest.importorskip("openai")

from driftledger.cli import app
from driftledger.project.settings import parse_settings
from tests.benchmarks._questions.asking import VET, Says, exam
from tests.support.openai_server import ChatAnswer, OpenAIServer
from tests.support.params import default_params

KEY = "sk-test-0123456789abcdefghijklmnopqrstuv"
MOST = 2 * 2 * (2 + 11)
"""Calls: first and second askings of two gradings of two answers and eleven calibration answers."""


def lenient(body: dict[str, Any]) -> ChatAnswer:
    """Finds all answers right, whatever is asked."""
    return ChatAnswer("1.0")


@contextmanager
def checkout(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """One in which ``rubric`` has graded the answers of ``seer``, and ``second`` is a service."""
    monkeypatch.setenv("TEST_KEY", KEY)
    monkeypatch.chdir(folder)
    with OpenAIServer(api_key=KEY, reply=lenient) as served:
        params = default_params()
        params["run"] |= {"models": ["seer"], "judge": "rubric"}
        params["models"]["seer"] = params["models"]["regions_medium"]
        params["models"]["second"] = {"provider": "openai", "model": "m-1", "base_url": served.base_url}
        params["models"]["second"] |= {"service_name": "ours", "api_key_env": "TEST_KEY"}
        params["mm_vet"]["gradings"] = 5  # and the answers were graded twice
        Path("params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
        rubric = parse_settings(params, "params.yaml").model("rubric")
        prompt = params["mm_vet"]["grade_prompt"]
        exam(folder, "mm_vet", VET, Says(text="It is red, and eight."), rubric, grade_prompt=prompt).collect()
        yield served


def agreement(*options: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["grades", "agreement", "exam", *options], catch_exceptions=True)
    return done.exit_code, " ".join(f"{done.stdout} {done.exception or ''}".split())


def files(folder: Path) -> dict[str, str]:
    """Without the call store."""
    return {
        str(file): hashlib.sha256(file.read_bytes()).hexdigest()
        for part in ("data", "reports")
        for file in (folder / part).rglob("*")
        if file.is_file()
    }


def test_it_is_counted_asked_once_and_set_beside_the_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with checkout(tmp_path, monkeypatch) as served:
        before = files(tmp_path)
        code, told = agreement("--judge", "second")
        assert code == 0
        assert f"nobody was asked; --paid {MOST} allows" in told
        assert f"judge second 0 {MOST}" in told
        assert len(served.requests) == 0
        code, told = agreement("--judge", "second", "--paid", str(MOST - 1))
        assert code != 0
        assert f"up to {MOST} calls may cost money; allow them with --paid {MOST}" in told
        assert len(served.requests) == 0

        code, told = agreement("--judge", "second", "--paid", str(MOST))
        assert code == 0, told
        asked = len(served.requests)
        assert asked == MOST / 2
        assert "umpire and second 0.000 2" in told
        assert "umpire and second: no interval, since there are fewer than 6 images" in told
        table = told.partition("umpire ↓ second → 0 below 0.5 0.5 above 0.5 1 ")[2]
        assert table == "0 0 0 0 0 1 below 0.5 0 0 0 0 0 0.5 0 0 0 0 1 above 0.5 0 0 0 0 0 1 0 0 0 0 0"
        assert "on the calibration answers second has sensitivity 1.000 and specificity 0.000, over 4 answers" in told
        again = agreement("--judge", "second")
        assert again == (0, told)
        assert len(served.requests) == asked
        assert files(tmp_path) == before


def test_what_models_answered_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, read_bytes = Counter[str](), Path.read_bytes

    def counted(file: Path) -> bytes:
        read[file.relative_to(tmp_path).as_posix()] += 1
        return read_bytes(file)

    with checkout(tmp_path, monkeypatch):
        assert agreement("--judge", "second", "--paid", str(MOST))[0] == 0
        monkeypatch.setattr(Path, "read_bytes", counted)
        assert agreement("--judge", "second")[0] == 0
    [*answered], questions = tmp_path.glob("data/*/exam/seer/records.jsonl"), "data/questions/exam/questions.jsonl"
    assert len(answered) == 2
    assert [read[file.relative_to(tmp_path).as_posix()] for file in answered] == [1, 1]
    assert read[questions] == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("rubric", "rubric is the judge that graded these answers; name another model"),
        ("secnd", "model 'secnd' is unknown; did you mean 'second'"),
    ],
)
def test_what_is_no_second_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, message: str) -> None:
    with checkout(tmp_path, monkeypatch) as served:
        code, told = agreement("--judge", name)
        assert code != 0
        assert message in told
        assert len(served.requests) == 0

"""``watch``: services over real sockets, of which some have changed."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

pytest.importorskip("openai")

from driftledger.cli import app
from driftledger.collect.observations import Observed, Watched, read_observations, write_observations, write_watched
from driftledger.commands import watch as watching
from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import ConfigError, ServiceError, StoreError
from driftledger.core.images import png_bytes
from driftledger.ledger.watch import watch as module
from driftledger.ledger.watch.probe import PROMPTS, QUESTIONS, TIMES, VERSION, picture
from driftledger.ledger.watch.watch import Watch, compare_watches, kept_watches, verdict
from driftledger.project.project import Project
from tests.support.openai_server import ChatAnswer, OpenAIServer, text_of
from tests.support.params import default_params

KEY = "sk-test-0123456789abcdefghijklmnopqrstuv"
ASKED = TIMES * len(QUESTIONS)
FIRST, LATER, LAST = date(2026, 11, 1), date(2026, 11, 15), date(2026, 11, 23)


def service(seed: int, habit: int) -> Any:
    """Says mostly the same words of a thing, and never quite the same; another habit is another model."""
    dice = Random(seed)

    def reply(body: dict[str, Any]) -> ChatAnswer:
        about = Random(int(hashlib.sha256(f"{habit} {text_of(body)}".encode()).hexdigest(), 16))
        words = about.sample(range(300), 30)
        return ChatAnswer(" ".join(f"w{word}" for word in dice.sample(words, 15)))

    return reply


@contextmanager
def project(folder: Path, seed: int = 1, habit: int = 1) -> Iterator[Project]:
    """One of which the only model is a service; the address stays, so that it is the same component."""
    with OpenAIServer(api_key=KEY, reply=service(seed, habit)) as served:
        params = default_params()
        params["run"] |= {"models": ["seer"], "generators": ["painter"], "judge": "rubric"}
        settings = {"base_url": served.base_url, "service_name": "ours", "api_key_env": "TEST_KEY"}
        params["models"] = {"seer": {"provider": "openai", "model": "vision-1", **settings}}
        params["generators"]["pen"] = {
            "provider": "openai_images",
            "model": "image-1",
            "image_size": "64x64",
            **settings,
        }
        (folder / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
        yield Project(folder, own_code=True)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)


def watched(folder: Path, seed: int, habit: int) -> Watched:
    with project(folder, seed, habit) as ours:
        [found] = watching.watch(ours, ["seer"], paid=ASKED)
    assert found.watched is not None
    return found.watched


def test_a_service_that_stays_is_told_from_one_that_was_exchanged(tmp_path: Path) -> None:
    first = watched(tmp_path, seed=1, habit=1)
    assert (first.times, first.answers, first.p, first.changed) == (1, ASKED, None, None)
    same = watched(tmp_path, seed=2, habit=1)
    assert (same.times, same.changed) == (2, None)
    assert same.p is not None
    assert same.p > module.LEVEL
    other = watched(tmp_path, seed=3, habit=2)
    assert (other.times, other.p, other.changed) == (3, 1 / 2000, other.last)
    [[fingerprint, seen]] = read_observations(tmp_path / "data" / "observations.json").items()
    assert seen == Observed(name="openai", watched=other)
    assert len(kept_watches(tmp_path / "data" / "watch" / f"{fingerprint}.jsonl")) == 3


def test_a_generator_is_watched_by_what_it_draws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with project(tmp_path) as ours:
        component = ours.settings.generator("pen")
        once, again = (module.ask("pen", component) for _ in range(2))
    assert [len(some) for some in once.images] == [TIMES] * len(PROMPTS)
    assert (once.texts, once.count) == ([], TIMES * len(PROMPTS))
    found = compare_watches(once, again)
    assert found is not None
    assert found.p > module.LEVEL
    exchanged = again.model_copy(update={"images": again.images[1:] + again.images[:1]})
    found = compare_watches(once, exchanged)
    assert found is not None
    assert found.p <= module.LEVEL


def test_nobody_is_asked_unless_that_was_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with project(tmp_path) as ours:
        with pytest.raises(ConfigError, match=f"{ASKED} calls that may cost money; allow them with --paid {ASKED}"):
            watching.watch(ours, paid=ASKED - 1)
        monkeypatch.chdir(tmp_path)
        done = CliRunner().invoke(app, ["watch"])
        assert done.exit_code == 0
        assert "was never watched" in done.stdout
        assert "nobody was asked; --paid N allows N calls" in done.stdout
    assert not (tmp_path / "data").exists()


def test_the_command_asks_and_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for habit, code in ((1, 0), (2, 1)):
        with project(tmp_path, seed=habit, habit=habit):
            monkeypatch.chdir(tmp_path)
            done = CliRunner().invoke(app, ["watch", "seer", "--paid", "100", "--json"])
        assert done.exit_code == code
        [told] = json.loads(done.stdout)
        assert (told["service"], told["watched"]["times"]) == ("models.seer", habit)
    assert told["watched"]["changed"] == told["watched"]["last"]
    with project(tmp_path):
        done = CliRunner().invoke(app, ["watch"])
    assert "it began to answer otherwise" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("names", "message"),
    [(["sear"], "service 'sear' is unknown; did you mean 'seer'"), (["painter"], "service 'painter' is unknown")],
)
def test_what_is_no_service_of_the_selection(tmp_path: Path, names: list[str], message: str) -> None:
    with project(tmp_path) as ours, pytest.raises(ConfigError, match=message):
        watching.watch(ours, names)


def test_a_selection_without_services(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(default_params()), encoding="utf-8")
    with pytest.raises(ConfigError, match="no selected model, judge or generator is a service"):
        watching.watch(Project(tmp_path))


def test_a_service_that_does_not_answer_has_no_verdict(tmp_path: Path) -> None:
    with project(tmp_path) as ours:
        settings = ours.settings.model("seer").model_dump()
    gone = type(ours.settings.model("seer")).model_validate(
        settings | {"limits": {"attempts": 1, "timeout": 5.0}, "base_url": "http://127.0.0.1:9/v1"}
    )
    with pytest.raises(ServiceError, match=f"seer answered 0 of {ASKED} calls of its probe: "):
        module.ask("seer", gone)


def said(day: date, word: str, probe: str = VERSION) -> Watch:
    return Watch(day=day, name="seer", probe=probe, texts=[[word] * TIMES] * 5, served={f"m-{word}": 25})


def test_days_between_which_it_changed() -> None:
    found = verdict([said(FIRST, "a"), said(LATER, "a"), said(LAST, "b")])
    assert (found.changed, found.unchanged, found.served) == (LAST, LATER, ["m-a", "m-b"])
    assert "between 2026-11-15 and 2026-11-23 it began to answer otherwise than on 2026-11-01" in str(found)
    back = verdict([said(FIRST, "a"), said(LATER, "b"), said(LAST, "a")])
    assert (back.changed, back.unchanged, back.p) == (LATER, None, 1.0)
    assert "between 2026-11-01 and 2026-11-15" in str(back)


def test_another_probe_begins_anew() -> None:
    found = verdict([said(FIRST, "a", "0"), said(LAST, "b")])
    assert (found.times, found.first, found.p) == (1, LAST, None)
    assert compare_watches(said(FIRST, "a", "0"), said(LAST, "b")) is None
    with pytest.raises(StoreError, match="never watched"):
        verdict([])


def test_an_image_that_is_none_is_refused() -> None:
    broken = Watch(day=LAST, name="pen", probe=VERSION, images=[["AAAA"] * TIMES])
    with pytest.raises(StoreError, match="has 3 bytes and not 768"):
        verdict([broken, broken])


def test_what_is_watched_and_what_was_made_twice_stand_side_by_side(tmp_path: Path) -> None:
    file, shown = tmp_path / "observations.json", verdict([said(FIRST, "a"), said(LAST, "a")])
    write_observations(file, {"f": Observed(name="openai", asked_again=4, other=1)})
    plain = file.read_bytes()
    assert b"watched" not in plain
    write_watched(file, "f", "openai", shown)
    write_observations(file, {"f": Observed(name="openai", asked_again=5, other=2)})
    [seen] = read_observations(file).values()
    assert seen == Observed(name="openai", asked_again=5, other=2, watched=shown)
    assert str(seen) == (
        "2 of 5 calls made twice gave other bytes; watched 2 times, and on 2026-11-23 answers as on 2026-11-01 "
        "(p = 1.000)"
    )


def test_the_probe_is_frozen() -> None:
    """Whoever changes a word or a pixel of it raises its version, and this digest."""
    pixels = b"".join(picture(number).tobytes() for number in range(3))
    asked = json.dumps([QUESTIONS, PROMPTS, TIMES])
    assert VERSION == "1"
    assert sha256_bytes(pixels + asked.encode())[:16] == "5e37da5a7ff94fb3"
    assert len({png_bytes(picture(number)) for number in range(3)}) == 3

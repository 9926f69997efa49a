"""Calls in batches: what comes of batches that go wrong, and of runs that are killed."""

import os
import random
import signal
import threading
import time
from functools import partial
from itertools import chain

import pytest

pytest.importorskip("openai")

from driftledger.collect import submitted
from driftledger.collect.call import Ask, Draw
from driftledger.collect.store import CallStore
from driftledger.components import openai_batches
from driftledger.components.openai_chat import OpenAIChat
from driftledger.components.openai_images import OpenAIImages
from driftledger.core.errors import DriftledgerError
from driftledger.core.types import Conversation, Subject, Turn
from tests.collect.chains import eight_images, run_protocols
from tests.support.cases import cases, each_case
from tests.support.forked import ended, fork
from tests.support.server import Server

PRICES = {"input": 1, "output": 2, "batch_discount": 0.5}
"""Of a call with 10 and 2 tokens in a batch: 7 millionths; at most, with its 2 and 100: 101."""
HAZARDS = [(case["rule"], case["plans"]) for case in cases(__file__, "hazards")]
"""What may go wrong with a batch: the rule for its creation, and its plan if it is created."""
EVENTS = 1500
"""Calls and returns of the functions below, about, in a run that is not killed."""
WATCHED = ("store.py", "submitted.py", "openai_batches.py")


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    for name in ("GATHERING", "POLL", "SETTLED"):
        monkeypatch.setattr(submitted, name, 0.01)


def model_at(url, **settings):
    fixed = {"model": "vision-1", "base_url": url, "api_key_env": None, "batch": True}
    fixed |= {"max_tokens": 100, "prices": PRICES}
    return OpenAIChat.model_validate(fixed | settings)


def asks(model, number):
    """One call, or two of a negative number, and a drawing where the model is a generator."""
    text = ""
    for step in ("call", "again")[: 1 + (number < 0)]:
        text = f"{step} {number}"
        about = Subject(f"s{number}", 1, "d")
        ask = Draw(model, text, 7, about)
        if isinstance(model, OpenAIChat):
            asked = Conversation((Turn("user", (text,)),))
            ask = Ask(model, "describe", asked, about)
        result = yield ask
        text = result.text or f"{result.outcome}: {result.error}"
    return text


def collect(model, folder, numbers=range(4)):
    with CallStore(folder) as store:
        return run_protocols([asks(model, number) for number in numbers], store)


def spent(model, folder, held=0):
    with CallStore(folder, writes=False) as store:
        batches = store.submitted(model.fingerprint)
        assert sum(len(batch.keys) for batch in batches) == held
        assert not any(mean.seconds for mean in store.means().values())
        attempts, cost = store.spent(model.fingerprint)
    return attempts, round(cost * 1e6, 6)


@each_case(cases(__file__, "batches"))
def test_what_comes_of_batches(case, tmp_path, monkeypatch, capsys):
    for name, value in case.get("bounds", {}).items():
        monkeypatch.setattr(submitted, name, value)
    if "largest" in case:
        monkeypatch.setattr(openai_batches, "MOST_ANSWERS", 1)
        monkeypatch.setattr(OpenAIChat, "largest", case["largest"])
    texts, errors = [], []
    rules = {"plans": case.get("plans", ()), "room": case.get("room", 99)}
    with Server(*case.get("script", ()), **rules) as server:
        model = model_at(server.base_url, limits=case.get("limits", {}))
        for numbers in case.get("runs", [range(4)]):
            try:
                texts += collect(model, tmp_path, numbers)
            except DriftledgerError as error:
                errors.append(str(error))
    for error, expected in zip(errors, case.get("errors", []), strict=True):
        assert expected in error
    assert texts == case.get("texts", ["call 0", "call 1", "call 2", "call 3"])
    assert [len(batch["asked"]) for batch in server.batches] == case["batches"]
    assert server.asked(r"GET /v1/batches(\?|$)") <= 5
    assert case.get("says", "") in capsys.readouterr().err
    paid = (case.get("attempts", 4), case["cost"])
    assert spent(model, tmp_path, case.get("held", 0)) == paid


def about(model, number, image):
    """Ask about an image between words."""
    turn = Turn("user", ("Is ", image, f" larger than {number % 2}?"))
    context = Subject(f"s{number}", 1, "d")
    result = yield Ask(model, "answer", Conversation((turn,)), context)
    return result.text


@pytest.mark.parametrize("batch", [False, True])
def test_a_model_that_sees_nothing_is_sent_words_alone_and_asked_once(batch, tmp_path):
    """Two questions about eight images are two calls, and are paid once each."""
    images = eight_images(tmp_path)
    with Server() as server, CallStore(tmp_path) as store:
        model = model_at(server.base_url, sees="nothing", batch=batch)
        units = [about(model, number, image) for number, image in enumerate(images)]
        texts = run_protocols(units, store)
        again = run_protocols([about(model, 8, images[0])], store)
        attempts = store.spent(model.fingerprint).attempts
    calls = server.files[0] if batch else []
    bodies = [call["body"] for call in calls] or [each.body for each in server.requests]
    asked = []
    for body in bodies:
        [message] = body["messages"]
        asked.append([(part["type"], part["text"]) for part in message["content"]])
    expected = [[("text", "Is "), ("text", f" larger than {n}?")] for n in (0, 1)]
    assert sorted(asked) == expected
    assert attempts == 2
    assert texts == [*texts[:2]] * 4
    assert texts[0] != texts[1]
    assert again == texts[:1]


def test_images_are_drawn_in_batches(tmp_path):
    with Server() as server:
        settings = {"model": "m", "base_url": server.base_url, "api_key_env": None}
        generator = OpenAIImages.model_validate(settings | {"batch": True})
        assert collect(generator, tmp_path) == ["ok: None"] * 4
    assert generator.fingerprint == OpenAIImages.model_validate(settings).fingerprint
    assert {call["url"] for call in server.files[0]} == {"/v1/images/generations"}
    assert len([*tmp_path.glob("objects/*/*.png")]) == 4


def test_a_stopped_run_leaves_its_batches_and_the_next_collects_them(
    tmp_path, monkeypatch, capsys
):
    with Server(plans=[{"looks": 2}]) as server:
        model = model_at(server.base_url)

        def interrupt():
            while not server.batches:
                time.sleep(0.01)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

        monkeypatch.setattr(submitted, "POLL", 60)
        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            collect(model, tmp_path)
        monkeypatch.setattr(submitted, "POLL", 0.01)
        with pytest.raises(DriftledgerError, match="set `batch: true`"):
            collect(model_at(server.base_url, batch=False), tmp_path)
        with (
            CallStore(tmp_path, writes=False) as held,
            CallStore(tmp_path / "shard", fallback=held) as shard,
            pytest.raises(DriftledgerError, match="set `batch: true`"),
        ):
            run_protocols([asks(model_at(server.base_url, batch=False), 0)], shard)
        assert collect(model, tmp_path)[3] == "call 3"
    assert [*server.paid.values()] == [1, 1, 1, 1]
    assert "1 batch, 4 calls, until 2" in capsys.readouterr().err
    assert spent(model, tmp_path) == (4, 28)


def be_killed(url, folder, events):
    """Collect, and be killed after so many events, if there are as many."""
    left = [events]

    def count(frame, event, _):
        left[0] -= frame.f_code.co_filename.endswith(WATCHED)
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    threading.setprofile(count)
    collect(model_at(url), folder, range(-3, 3))


@pytest.mark.slow
def test_no_call_is_paid_twice_over_thirty_kills(tmp_path):
    chance = random.Random(51)
    kills = 0
    while kills < 30:
        folder = tmp_path / f"{kills}"
        script, plans = zip(*chance.sample(HAZARDS, 4), strict=True)
        with Server(*script, plans=[*chain(*plans)]) as server:
            code = -signal.SIGKILL
            while code:
                events = chance.randrange(1, EVENTS)
                work = partial(be_killed, server.base_url, folder, events)
                code = ended(fork(work))
                assert code in (0, -signal.SIGKILL)
                kills += code != 0
            again = collect(model_at(server.base_url), folder, range(-3, 3))
        assert (
            ", ".join(again) == "again -3, again -2, again -1, call 0, call 1, call 2"
        )
        assert [*server.paid.values()] == [1] * 9
        assert spent(model_at(server.base_url), folder) == (server.answered, 63)

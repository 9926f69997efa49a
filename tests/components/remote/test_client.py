import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable

import pytest
from tenacity import wait_fixed, wait_none

from driftledger.components.remote import client as patience
from driftledger.components.remote.client import Answered, Meter, ServiceClient, TransientError
from driftledger.components.remote.limits import Limits, Prices
from driftledger.core.errors import BudgetError, ServiceError
from driftledger.core.types import Reply, Usage
from tests.support.virtual_time import STARTED, run

EXPECTED = Usage(input_tokens=1000, output_tokens=1000)
PRICES = Prices(input=1.0, output=2.0)
MOST = 0.003


@pytest.fixture(autouse=True)
def no_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "_BACKOFF", wait_none())


def line(limits: Limits, calls: int = 0, cost: float = 0.0) -> ServiceClient:
    return ServiceClient(limits, PRICES, Meter(limits, "far model", calls, cost))


def scripted(*events: Reply | Exception | float) -> Callable[[], Awaitable[Reply]]:
    """Attempts that give these in turn; a number is a time to take before the next."""
    script = list(events)

    async def attempt() -> Reply:
        event = script.pop(0)
        if isinstance(event, float):
            await asyncio.sleep(event)
            event = script.pop(0)
        if isinstance(event, Exception):
            raise event
        assert isinstance(event, Reply)
        return event

    return attempt


def call(limits: Limits, *events: Reply | Exception | float) -> Answered[Reply]:
    async def once() -> Answered[Reply]:
        return await line(limits).call(scripted(*events), EXPECTED)

    return run(once())


FINE = Reply("fine", usage=Usage(200, 100))


def test_an_answer_after_hiccups_is_an_answer_and_every_attempt_is_counted() -> None:
    answered = call(Limits(), TransientError("500"), TransientError("half an answer", billed=True), FINE)
    assert answered.answer == FINE
    assert answered.bill.attempts == 3
    assert answered.bill.cost == pytest.approx(MOST + PRICES.cost(Usage(200, 100)))


def test_attempts_end_and_the_last_reason_is_kept() -> None:
    answered = call(Limits(attempts=3), *[TransientError(f"50{number}") for number in range(3)])
    assert (answered.answer, answered.error, answered.bill.attempts) == (None, "502 (3 attempts)", 3)


def test_an_attempt_that_takes_too_long_is_tried_again_and_counted_as_paid() -> None:
    answered = call(Limits(timeout=0.05), 5.0, FINE, FINE)
    assert answered.answer == FINE
    assert answered.bill.cost > MOST
    gone = call(Limits(timeout=0.01, attempts=2), 5.0, 5.0)
    assert gone.error == "no answer within 0.01 s (2 attempts)"


def test_what_the_service_asks_to_wait_is_waited_but_not_past_the_deadline() -> None:
    async def seconds_for(*events: Reply | Exception | float) -> float:
        assert (await line(Limits()).call(scripted(*events), EXPECTED)).answer == FINE
        return time.monotonic() - STARTED

    assert 20 <= run(seconds_for(TransientError("429", retry_after=20), FINE)) <= 20 * 1.1
    answered = call(Limits(deadline=1.0), 0.6, TransientError("429", retry_after=0.9), FINE)
    assert answered.error == "429 (1 attempts)"


def test_a_service_that_asks_to_wait_for_hours_ends_the_run() -> None:
    with pytest.raises(ServiceError, match=r"429; the service asks to wait 3600 s, and limits.deadline is 60 s"):
        call(Limits(deadline=60.0), TransientError("429", retry_after=3600.0), FINE)


def test_a_break_that_one_call_is_asked_for_is_a_break_for_all() -> None:
    async def two() -> tuple[float, float]:
        one = line(Limits())
        first = asyncio.create_task(one.call(scripted(TransientError("429", retry_after=3), FINE), EXPECTED))
        await asyncio.sleep(1)
        await one.call(scripted(FINE), EXPECTED)
        second_over = time.monotonic() - STARTED
        await first
        return second_over, time.monotonic() - STARTED

    second_over, first_over = run(two())
    assert second_over == pytest.approx(3)
    assert 3 <= first_over <= 3.3


def test_another_error_is_not_retried() -> None:
    with pytest.raises(ServiceError, match="key"):
        call(Limits(), ServiceError("the key is not valid"), FINE)


def test_once_a_service_refuses_for_good_nobody_asks_again() -> None:
    asked = []

    async def refused() -> Reply:
        asked.append(1)
        await asyncio.sleep(0)
        raise ServiceError("the key is not valid")

    async def many() -> list[object]:
        one = line(Limits(concurrency=2))
        return list(await asyncio.gather(*(one.call(refused, EXPECTED) for _ in range(20)), return_exceptions=True))

    results = run(many())
    assert all(isinstance(result, ServiceError) for result in results)
    assert len(asked) <= 2


@pytest.mark.parametrize("is_there", [False, True])
def test_once_a_service_refuses_for_good_nobody_sleeps_any_longer(is_there: bool) -> None:
    """Whether a sleeping call has kept its slot, or has given it to others, or waits for the service's break to end."""

    async def many() -> float:
        one = line(Limits(concurrency=3, deadline=900.0))
        calls = [one.call(scripted(2.0, TransientError("429", retry_after=600)), EXPECTED)]
        calls += [one.call(scripted(3.0, ServiceError("the key is not valid")), EXPECTED)]
        calls += [one.call(scripted(1.0, FINE), EXPECTED)] if is_there else []
        tasks = [asyncio.create_task(each) for each in calls]
        await asyncio.sleep(2.5)
        tasks.append(asyncio.create_task(one.call(scripted(FINE), EXPECTED)))
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert sum(isinstance(result, ServiceError) for result in results) == 3
        return time.monotonic() - STARTED

    assert run(many()) == pytest.approx(3)


def test_an_attempt_that_is_dropped_on_its_way_counts_as_paid_and_one_before_it_as_none() -> None:
    async def dropped(limits: Limits) -> Meter:
        meter = Meter(limits, "far model")
        one = ServiceClient(limits, PRICES, meter)
        tasks = [asyncio.create_task(one.call(scripted(100.0, FINE), EXPECTED)) for _ in range(2)]
        await asyncio.sleep(1)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        return meter

    both = run(dropped(Limits()))
    assert (both.calls, both.cost) == (2, pytest.approx(2 * MOST))
    one = run(dropped(Limits(requests_per_minute=1)))
    assert (one.calls, one.cost) == (1, pytest.approx(MOST))


@pytest.mark.parametrize(
    ("used", "cost"),
    [
        (None, MOST),
        (Usage(None, None), MOST),
        (Usage(None, 100), 0.0012),
        (Usage(200, None), 0.0022),
        (Usage(0, 0), 0.0),
    ],
)
def test_tokens_that_a_service_does_not_count_cost_what_was_expected(used: Usage | None, cost: float) -> None:
    assert call(Limits(), Reply("fine", usage=used)).bill.cost == pytest.approx(cost)


def test_max_calls_counts_attempts_of_earlier_runs_too() -> None:
    async def spend() -> int:
        one = line(Limits(max_calls=5), calls=2)
        for _ in range(3):
            await one.call(scripted(FINE), EXPECTED)
        with pytest.raises(BudgetError, match=r"far model: limits.max_calls = 5 is used up"):
            await one.call(scripted(FINE), EXPECTED)
        return 1

    assert run(spend())


def test_max_cost_is_never_passed_and_calls_wait_for_cheaper_ones_under_way() -> None:
    """Each call may cost 0.003 and costs 0.0004: one after the other, seven or more fit into 0.006."""

    async def one_call(one: ServiceClient) -> object:
        return await one.call(scripted(0.01, FINE), EXPECTED)

    async def spend() -> tuple[int, float]:
        limits = Limits(max_cost=0.006, concurrency=16)
        meter = Meter(limits, "far model")
        one = ServiceClient(limits, PRICES, meter)
        results = await asyncio.gather(*(one_call(one) for _ in range(16)), return_exceptions=True)
        refused = [result for result in results if isinstance(result, BudgetError)]
        assert "limits.max_cost = 0.006" in str(refused[0])
        return len(results) - len(refused), meter.cost

    answered, cost = run(spend())
    assert 7 <= answered < 16
    assert 0.003 < cost <= 0.006


def test_no_more_calls_at_once_than_allowed() -> None:
    under_way, most = 0, 0

    async def attempt() -> Reply:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.002)
        under_way -= 1
        return FINE

    async def many() -> None:
        one = line(Limits(concurrency=3))
        await asyncio.gather(*(one.call(attempt, EXPECTED) for _ in range(20)))

    run(many())
    assert most == 3


@pytest.fixture
def backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "_BACKOFF", wait_fixed(40))


@pytest.fixture
def two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """For which a call leaves its slot to others, from the second time on that it waits."""
    monkeypatch.setattr(patience, "_SOON", 2.0)


async def moments(one: ServiceClient, failures: int) -> tuple[list[float], Answered[Reply]]:
    """When each attempt of a call began that fails so often, a second after it began."""
    begun: list[float] = []

    async def attempt() -> Reply:
        begun.append(time.monotonic() - STARTED)
        await asyncio.sleep(1)
        if len(begun) <= failures:
            raise TransientError("503")
        return FINE

    return begun, await one.call(attempt, EXPECTED)


@pytest.mark.usefixtures("backoff")
def test_the_first_retry_follows_at_once_and_the_others_wait_for_a_service_that_answers_nobody() -> None:
    begun, answered = run(moments(line(Limits()), 3))
    assert answered.answer == FINE
    assert begun == pytest.approx([0, 1, 42, 83])


@pytest.mark.usefixtures("backoff")
def test_a_call_comes_back_soon_to_a_service_that_answers_others() -> None:
    async def beside_others() -> list[float]:
        one = line(Limits(concurrency=2, attempts=9))
        failing = asyncio.create_task(moments(one, 8))
        for _ in range(80):
            await asyncio.sleep(0.3)
            await one.call(scripted(FINE), EXPECTED)
        return (await failing)[0]

    begun = run(beside_others())
    waits = [after - before - 1 for before, after in itertools.pairwise(begun)]
    assert waits == pytest.approx([0, 0.1, 0.2, 0.4, 0.8, 1.6, 2, 2])


@pytest.mark.usefixtures("backoff")
def test_a_call_that_comes_back_at_once_keeps_its_slot() -> None:
    """Given away, the slot would be back after the second that another call takes."""

    async def many() -> list[float]:
        seen, one = Open(), line(Limits(concurrency=2))
        others = [one.call(seen.attempt(f"{number}", FINE), EXPECTED) for number in range(12)]
        failing = asyncio.create_task(moments(one, 3))
        await asyncio.gather(*others)
        return (await failing)[0]

    assert run(many()) == pytest.approx([0, 1, 2.1, 3.3])


class Open:
    """Attempts of one service: how many are on their way, in which order they began."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.now = self.most = 0

    def attempt(self, name: str, *events: Reply | Exception) -> Callable[[], Awaitable[Reply]]:
        """One that takes a second and ends as these say in turn."""
        script = list(events)

        async def one() -> Reply:
            self.begun.append(name)
            self.now += 1
            self.most = max(self.most, self.now)
            await asyncio.sleep(1)
            self.now -= 1
            event = script.pop(0)
            if isinstance(event, Exception):
                raise event
            return event

        return one


@pytest.mark.usefixtures("backoff", "two_seconds")
def test_a_call_that_waits_leaves_its_slot_to_others_and_is_the_first_to_get_one_back() -> None:
    async def many() -> tuple[Open, float]:
        seen, one = Open(), line(Limits(concurrency=2))
        hiccups = [TransientError("503") for _ in range(2)]
        calls = [one.call(seen.attempt("failing", *hiccups, FINE), EXPECTED)]
        calls += [one.call(seen.attempt(f"{number}", FINE), EXPECTED) for number in range(9)]
        answered = await asyncio.gather(*calls)
        assert [each.answer for each in answered] == [FINE] * 10
        return seen, time.monotonic() - STARTED

    seen, seconds = run(many())
    assert seen.most == 2
    assert seconds == pytest.approx(6)  # twelve attempts of a second, two at a time, and no slot ever stands empty
    last = len(seen.begun) - 1 - seen.begun[::-1].index("failing")
    assert seen.begun.index("5") < last < seen.begun.index("7")


@pytest.mark.usefixtures("backoff")
def test_while_a_service_answers_nobody_no_other_call_uses_up_its_attempts() -> None:
    async def many() -> tuple[Open, list[Answered[Reply]]]:
        seen, one = Open(), line(Limits(concurrency=2, attempts=2))
        gone = [TransientError("503") for _ in range(2)]
        names = [f"{number}" for number in range(6)]
        return seen, await asyncio.gather(*(one.call(seen.attempt(name, *gone), EXPECTED) for name in names))

    seen, answered = run(many())
    assert [each.bill.attempts for each in answered] == [2] * 6
    assert seen.begun == ["0", "1", "0", "1", "2", "3", "2", "3", "4", "5", "4", "5"]


@pytest.mark.usefixtures("backoff", "two_seconds")
def test_a_call_that_is_dropped_while_it_waits_takes_no_slot_with_it() -> None:
    async def dropped() -> Open:
        seen, one = Open(), line(Limits(concurrency=1))

        async def in_turn() -> None:
            await one.call(scripted(FINE), EXPECTED)

        failing = asyncio.create_task(
            one.call(scripted(0.0, TransientError("503"), 0.0, TransientError("503")), EXPECTED)
        )
        others = [asyncio.create_task(in_turn()) for _ in range(2)]
        waiting = asyncio.create_task(in_turn())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.sleep(10)
        failing.cancel()
        await asyncio.gather(failing, waiting, return_exceptions=True)
        await asyncio.gather(*others)
        await asyncio.gather(*(one.call(seen.attempt(f"{number}", FINE), EXPECTED) for number in range(3)))
        return seen

    assert run(dropped()).most == 1

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest
from tenacity import wait_none

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

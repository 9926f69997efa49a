import asyncio
import time

import pytest

from driftledger.components.remote.limits import Limits
from driftledger.components.remote.rate_limit import Pace
from tests.support.virtual_time import STARTED, run


def starts(limits: Limits, tokens: list[int], counted: list[int | None] | None = None) -> list[float]:
    """When each of these requests starts, in seconds from the first."""

    async def all_of_them() -> list[float]:
        pace = Pace(limits)
        moments = []
        for index, amount in enumerate(tokens):
            taken = await pace.start(amount)
            moments.append(time.monotonic() - STARTED)
            pace.settle(taken, counted[index] if counted else None)
        return moments

    return run(all_of_them())


def test_without_limits_nothing_waits() -> None:
    assert starts(Limits(), [10**9] * 50) == [0.0] * 50


def test_no_more_requests_in_any_minute_than_allowed() -> None:
    moments = starts(Limits(requests_per_minute=10), [0] * 35)
    assert moments == pytest.approx([0.0] * 10 + [60.0] * 10 + [120.0] * 10 + [180.0] * 5)


def test_no_more_tokens_in_any_minute_than_allowed() -> None:
    moments = starts(Limits(tokens_per_minute=100), [60, 40, 30, 30, 30, 20])
    assert moments == pytest.approx([0, 0, 60, 60, 60, 120])


def test_the_counted_tokens_replace_the_estimate() -> None:
    assert starts(Limits(tokens_per_minute=100), [90, 90, 90], counted=[10, 0, 5]) == [0.0, 0.0, 0.0]


def test_a_request_above_the_limit_goes_alone_instead_of_never() -> None:
    assert starts(Limits(tokens_per_minute=100), [500, 500, 10]) == pytest.approx([0.0, 60.0, 120.0])


def test_a_service_that_asks_for_a_break_gets_it_from_everyone() -> None:
    async def held() -> float:
        pace = Pace(Limits())
        pace.hold(7.5)
        pace.hold(2.0)
        await pace.start(0)
        return time.monotonic() - STARTED

    assert run(held()) == pytest.approx(7.5)


def test_whoever_sleeps_is_woken() -> None:
    async def woken() -> float:
        pace = Pace(Limits(requests_per_minute=1))
        await pace.start(0)
        asleep = [pace.start(0), pace.start(0), pace.sleep(900.0)]
        tasks = [asyncio.create_task(each) for each in asleep]
        async with pace.slot():
            tasks.append(asyncio.create_task(pace.rest(900.0)))
            await asyncio.sleep(3)
            pace.wake()
        await asyncio.gather(*tasks)
        await pace.sleep(900.0)
        return time.monotonic() - STARTED

    assert run(woken()) == pytest.approx(3)

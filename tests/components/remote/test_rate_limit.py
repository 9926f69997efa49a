import asyncio

import pytest

from driftledger.components.remote import rate_limit as pace_module
from driftledger.components.remote.limits import Limits
from driftledger.components.remote.rate_limit import Pace


class Clock:
    """Time that passes only in sleeps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(pace_module.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(pace_module.asyncio, "sleep", self.sleep)

    async def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def starts(limits: Limits, clock: Clock, tokens: list[int], counted: list[int | None] | None = None) -> list[float]:
    """When each of these requests starts, in seconds from the first."""

    async def all_of_them() -> list[float]:
        pace = Pace(limits)
        found = []
        for index, amount in enumerate(tokens):
            taken = await pace.start(amount)
            found.append(clock.now - 1000.0)
            pace.settle(taken, counted[index] if counted else None)
        return found

    return asyncio.run(all_of_them())


def test_without_limits_nothing_waits(clock: Clock) -> None:
    assert starts(Limits(), clock, [10**9] * 50) == [0.0] * 50


def test_no_more_requests_in_any_minute_than_allowed(clock: Clock) -> None:
    found = starts(Limits(requests_per_minute=10), clock, [0] * 35)
    assert found == [0.0] * 10 + [60.0] * 10 + [120.0] * 10 + [180.0] * 5


def test_no_more_tokens_in_any_minute_than_allowed(clock: Clock) -> None:
    assert starts(Limits(tokens_per_minute=100), clock, [60, 40, 30, 30, 30, 20]) == [0, 0, 60, 60, 60, 120]


def test_the_counted_tokens_replace_the_estimate(clock: Clock) -> None:
    assert starts(Limits(tokens_per_minute=100), clock, [90, 90, 90], counted=[10, 0, 5]) == [0.0, 0.0, 0.0]


def test_a_request_above_the_limit_goes_alone_instead_of_never(clock: Clock) -> None:
    assert starts(Limits(tokens_per_minute=100), clock, [500, 500, 10]) == [0.0, 60.0, 120.0]


def test_a_service_that_asks_for_a_break_gets_it_from_everyone(clock: Clock) -> None:
    async def held() -> float:
        pace = Pace(Limits())
        pace.hold(7.5)
        pace.hold(2.0)
        await pace.start(0)
        return clock.now - 1000.0

    assert asyncio.run(held()) == 7.5

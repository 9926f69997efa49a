"""Which request fails and how: by script, by a function, or at a rate that is the same in every run."""

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .requests import CHAT, IMAGES, Incoming

TRANSIENT = (
    "429",
    "429_date",
    "408",
    "409",
    "500",
    "502_page",
    "503",
    "timeout",
    "drop",
    "reset",
    "drop_midway",
    "drip",
)
"""Faults that another attempt may get past."""
BROKEN = (
    "malformed_json",
    "wrong_type",
    "error_in_200",
    "empty",
    "no_choices",
    "truncated",
    "no_data",
    "not_an_image",
    "bad_base64",
)
"""Answers with status 200 that are none."""
FLAGGED = ("content_filter_error", "moderation_blocked", "content_filter_finish", "content_filter_partial", "refusal")
"""The server does not want to answer this."""
FINAL = ("400", "401", "404_model", "429_quota")
"""No attempt gets past these."""
KINDS = TRANSIENT + BROKEN + FLAGGED + FINAL

ONLY = {
    CHAT: ("empty", "no_choices", "truncated", "content_filter_finish", "content_filter_partial", "refusal"),
    IMAGES: ("no_data", "not_an_image", "bad_base64", "moderation_blocked"),
}
"""Kinds that need an endpoint's own answer."""


def fits(kind: str, path: str) -> bool:
    """Whether the endpoint at ``path`` can fail in this way."""
    return all(path == endpoint or kind not in kinds for endpoint, kinds in ONLY.items())


@dataclass(frozen=True)
class Faults:
    """A plan of faults, asked in this order: ``script``, ``choose``, ``rate``.

    ``script`` holds a kind, or None, for each request in the order of arrival. ``choose`` returns a kind or None for a
    request. ``rate`` is the share of attempts that get one of ``kinds``, decided by a hash of ``seed``, the request's
    body and the number of its attempt; an endpoint gets those kinds that it can have. After ``most_in_a_row`` of these,
    the next attempt at the same body is answered.
    """

    rate: float = 0.0
    seed: int = 0
    kinds: Sequence[str] = ("429", "500", "503", "drop")
    script: Sequence[str | None] = ()
    choose: Callable[[Incoming], str | None] | None = None
    most_in_a_row: int = 4
    paths: Sequence[str] = (CHAT, IMAGES)
    """Paths, or their beginnings, where faults happen; requests elsewhere take nothing from the script."""
    retry_after: float = 0.05
    """Seconds that a 429 asks to wait; as a date, rounded up to the next full second."""
    hold: float = 30.0
    """Seconds for which ``timeout`` keeps a silent connection open, and which the body of ``drip`` takes to arrive."""

    def __post_init__(self) -> None:
        for kind in (*self.kinds, *self.script):
            if kind is not None and kind not in KINDS:
                raise ValueError(f"no fault is called {kind!r}; there are {', '.join(KINDS)}")
        if not 0 <= self.rate <= 1 or self.most_in_a_row < 1:
            raise ValueError("rate is between 0 and 1, most_in_a_row at least 1")


class Plan:
    """Walks through the faults of one server, request by request."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self._scripted = 0
        self._in_a_row: Counter[bytes] = Counter()

    def next(self, request: Incoming) -> str | None:
        """The fault of this request; None where it is answered."""
        faults = self._faults
        if not request.path.startswith(tuple(faults.paths)):
            return None
        position, self._scripted = self._scripted, self._scripted + 1
        if position < len(faults.script):
            return self._checked(faults.script[position], request)
        chosen = faults.choose(request) if faults.choose else None
        if chosen is not None:
            return self._checked(chosen, request)
        kind = self._drawn(request) if self._in_a_row[request.digest] < faults.most_in_a_row else None
        self._in_a_row[request.digest] = self._in_a_row[request.digest] + 1 if kind else 0
        return kind

    def _drawn(self, request: Incoming) -> str | None:
        kinds = [kind for kind in self._faults.kinds if fits(kind, request.path)]
        if not kinds:
            return None
        digest = hashlib.sha256(f"{self._faults.seed} {request.attempt} ".encode() + request.digest).digest()
        if int.from_bytes(digest[:8], "big") >= self._faults.rate * 2**64:
            return None
        return kinds[int.from_bytes(digest[8:16], "big") % len(kinds)]

    def _checked(self, kind: str | None, request: Incoming) -> str | None:
        if kind is not None and (kind not in KINDS or not fits(kind, request.path)):
            raise ValueError(f"{request.path} has no fault {kind!r}")
        return kind

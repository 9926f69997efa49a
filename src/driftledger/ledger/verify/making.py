"""One call, made once more without the call store, and what it gives beside what is stored."""

from collections import Counter
from io import BytesIO
from itertools import takewhile

import numpy as np
from PIL import Image

from driftledger.benchmarks.runner import RecordedCall
from driftledger.collect.call_result import Result
from driftledger.collect.steps import Ask, Call, result_of
from driftledger.components.checkpoints.component import CheckpointComponent
from driftledger.components.remote.component import RemoteComponent
from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import DriftledgerError
from driftledger.core.escaping import for_line
from driftledger.core.types import Generated, Outcome, Reply
from driftledger.ledger.findings import Finding, Skipped, VerifyResult

GREY_LEVELS = 2
"""How far a pixel may be off, of 255, where weights drew it: a processor with other last bits rounds some otherwise."""

_BEFORE, _AFTER = 20, 40
"""How much of a text is shown around the place where it differs."""


def make_again(recorded: RecordedCall) -> VerifyResult:
    """Make a call of a component on this machine, and compare: a text as it is, an image by its file's bytes."""
    where = for_line(recorded.where)
    try:
        result, png = _make(recorded.call())
        if result.outcome is Outcome.FAILED:
            return _skipped(where, f"it failed when it was made again: {result.error or 'no reason given'}")
        return _compared(recorded, where, result, png)
    except DriftledgerError as error:
        return _skipped(where, str(error))
    except (ValueError, LookupError, OSError) as error:
        said = f"it cannot be made again from the records: {type(error).__name__}: {error}"
        return _found(where, for_line(said)[:300])


def _make(call: Call) -> tuple[Result, bytes | None]:
    if isinstance(call.component, RemoteComponent):
        raise TypeError(f"{call.component.provider} is a service, which verifying never calls")
    made: list[Reply] | list[Generated]
    if isinstance(call, Ask):
        made = call.component.respond([call.conversation])
    else:
        made = call.component.generate([call.prompt], [call.seed])
    return result_of(made[0])


def _compared(recorded: RecordedCall, where: str, result: Result, png: bytes | None) -> VerifyResult:
    name, gave = recorded.component.provider, recorded.gave
    if isinstance(gave, str):
        if result.text == gave:
            return _held()
        return _found(where, "{!r} is stored, {} now says {!r}".format(*_around(gave, name, result.text or "")))
    stored = gave.path.read_bytes()
    digest = sha256_bytes(stored)
    if digest != gave.sha256:
        return _found(where, f"its sha256 is {digest[:12]}…, and its record says {gave.sha256[:12]}…")
    if png is None:
        return _found(where, f"{name} now gives no image ({result.outcome})")
    if png == stored:
        return _held()
    if isinstance(recorded.component, CheckpointComponent) and _look_alike(stored, png):
        return _skipped(where, f"drawn again it differs by no more than {GREY_LEVELS} of 255, as by another processor")
    return _found(where, f"sha256 {digest[:12]}… is stored, {name} now draws {sha256_bytes(png)[:12]}…")


def _around(stored: str, name: str, made: str) -> tuple[str, str, str]:
    """Both texts around the first character in which they differ."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(stored, made, strict=False)))
    first, last = max(0, same - _BEFORE), same + _AFTER
    return for_line(stored[first:last]), name, for_line(made[first:last])


def _look_alike(one: bytes, other: bytes) -> bool:
    """Whether two images are equal but for roundings."""
    first, second = (np.asarray(Image.open(BytesIO(png)).convert("RGB"), dtype=np.int16) for png in (one, other))
    return first.shape == second.shape and int(np.abs(first - second).max()) <= GREY_LEVELS


def _held() -> VerifyResult:
    return VerifyResult(checked=Counter(calls=1))


def _found(where: str, what: str) -> VerifyResult:
    return _held() + VerifyResult([Finding("bytes", where, what)])


def _skipped(where: str, why: str) -> VerifyResult:
    return VerifyResult(skipped=[Skipped(where, for_line(why))])

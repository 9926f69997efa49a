"""Why was a call made again? The part of its key that differs from the nearest stored call."""

from collections.abc import Iterator
from typing import Any

from driftledger.collect.store import CallStore, StoredCall
from driftledger.core.canonical import canonical_json
from driftledger.core.changes import changes
from driftledger.core.errors import StoreError

_SHOWN = 160


def why(store: CallStore, key_or_sample: str) -> list[str]:
    """Say for a call, or for each of a sample's newest calls, how it differs from the nearest older one.

    Args:
        key_or_sample: the first eight or more hex digits of a key, or a sample's id.

    Raises:
        StoreError: the store has no such call.
    """
    is_key = len(key_or_sample) >= 8 and set(key_or_sample) <= set("0123456789abcdef")
    chosen = store.rows(digest_prefix=key_or_sample) if is_key else []
    chosen = chosen or _newest(store.rows(sample=key_or_sample))
    if not chosen:
        raise StoreError(f"the call store {store.folder} has no call with key or sample {key_or_sample!r}")
    return [line for call in chosen for line in _explain(call, store.rows(sample=call.context.sample))]


def _newest(calls: list[StoredCall]) -> list[StoredCall]:
    return list({(call.context, call.parts["role"]): call for call in calls}.values())


def _explain(call: StoredCall, others: list[StoredCall]) -> Iterator[str]:
    dataset, sample, t = call.context
    yield f"{call.digest[:16]}  {call.parts['role']} {dataset}/{sample} t={t}, {call.seconds:.3f} s"
    rivals = [other for other in others if other.digest != call.digest and other.parts["role"] == call.parts["role"]]
    if not rivals:
        yield "  no other call for this sample to compare with"
        return
    apart = [list(changes(call.parts, other.parts, into_lists=True)) for other in rivals]
    found, nearest = min(
        zip(apart, rivals, strict=True), key=lambda pair: (len(pair[0]), pair[1].context != call.context)
    )
    yield f"  nearest is {nearest.digest[:16]} (t={nearest.context.t}); what differs:"
    for each in found:
        yield f"  {each.key}: {_short(each.old)} here, {_short(each.new)} there"


def _short(value: Any) -> str:
    text = canonical_json(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text)} characters)"

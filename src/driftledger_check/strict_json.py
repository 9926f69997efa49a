"""JSON that can be read in one way only."""

import json
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

MOST_VALUES = (
    2**21
)  # commas and brackets of one text: an empty object takes 30 times its bytes


def canonical(value: Any) -> bytes:
    """Write JSON so that equal values have equal bytes: sorted keys, no blanks, finite numbers.

    Raises:
        ValueError: a number is not finite, or a text is not Unicode.
    """
    text = json.dumps(
        value,
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
        allow_nan=False,
    )
    return text.encode()


def loads(data: bytes, *, in_one_form: bool = False) -> Any:
    """Read JSON without duplicate keys, NaN or infinity, and with a bounded number of values.

    Args:
        in_one_form: require the bytes to be :func:`canonical`.

    Raises:
        ValueError: it is not such JSON.
    """
    if data.count(b"[") + data.count(b"{") + data.count(b",") > MOST_VALUES:
        raise ValueError(f"it holds more than {MOST_VALUES:,} values")
    try:
        value = _DECODER.decode(data.decode())
        if in_one_form or b"\\u" in data:  # an escape may stand for half a character
            written = canonical(value)
            if in_one_form and written != data:
                raise ValueError(
                    "it is not written in the one form that driftledger writes"
                )
    except RecursionError:
        raise ValueError("it nests too deep to be read") from None
    return value


def _without_duplicates(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        [(name, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"the key {name!r:.80} is there twice")
    return value


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"it holds {text[:40]}, which is no finite number")
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_without_duplicates, parse_constant=_finite, parse_float=_finite
)

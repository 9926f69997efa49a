"""JSON that can be read in one way only."""

import json
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

MOST_VALUES = 2**21  # commas and brackets of one text: an empty object takes 30 times its bytes


def canonical(value: Any) -> bytes:
    """Sorted keys, no blanks, finite numbers, UTF-8: equal values have equal bytes.

    Raises:
        ValueError: a number is not finite, or a text is not Unicode.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def loads(data: bytes, *, in_one_form: bool = False) -> Any:
    """Read JSON without a key twice and without NaN or infinity, with a bounded number of values; else ValueError.

    Args:
        in_one_form: whether the bytes must be :func:`canonical`.
    """
    if data.count(b"[") + data.count(b"{") + data.count(b",") > MOST_VALUES:
        raise ValueError(f"it holds more than {MOST_VALUES:,} values")
    try:
        value = _DECODER.decode(data.decode())
        if (in_one_form or b"\\u" in data) and (written := canonical(value)) and in_one_form and written != data:
            raise ValueError("it is not written in the one form that driftledger writes")
    except RecursionError:
        raise ValueError("it nests too deep to be read") from None
    return value


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError(f"the key {Counter(name for name, _ in pairs).most_common(1)[0][0]!r:.80} is there twice")
    return value


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise ValueError(f"it holds {text[:40]}, which is no finite number")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_finite, parse_float=_finite)

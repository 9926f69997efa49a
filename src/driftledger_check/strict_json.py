"""JSON that can be read in one way only."""

import json
import math
from collections.abc import Sequence
from typing import Any


def canonical(value: Any) -> bytes:
    """Sorted keys, no blanks, finite numbers, UTF-8: equal values have equal bytes.

    Raises:
        ValueError: a number is not finite, or a text is not Unicode.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def loads(data: bytes, *, in_one_form: bool = False) -> Any:
    """Read JSON without a key twice and without NaN or infinity.

    Args:
        in_one_form: whether the bytes must be :func:`canonical`.

    Raises:
        ValueError: they are not what is asked for.
    """
    try:
        value = json.loads(data.decode(), object_pairs_hook=_once, parse_constant=_finite, parse_float=_finite)
        if (in_one_form or b"\\u" in data) and (written := canonical(value)) and in_one_form and written != data:
            raise ValueError("it is not written in the one form that driftledger writes")
    except RecursionError:
        raise ValueError("it nests too deep to be read") from None
    return value


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} is there twice")
    return value


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"it holds {text[:40]}, which is no finite number")
    return value

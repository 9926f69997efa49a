"""JSON that can be read in one way only."""

import json
import math
import re
from collections.abc import Sequence
from typing import Any, NoReturn

JSON_BYTES = 256_000_000
"""Of all JSON and JSONL members together: a description of 2 kB for each of 100,000 records."""
DEPTH = 32
"""How deep JSON may nest; a score has eight levels."""

_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")


def canonical(value: Any) -> bytes:
    """Sorted keys, no blanks, finite numbers, UTF-8: equal values have equal bytes.

    Raises:
        ValueError: a number is not finite, or a text is not Unicode.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def loads(data: bytes, *, in_one_form: bool = False) -> Any:
    """Read JSON without a key twice, without NaN or infinity, and not nested deeper than :data:`DEPTH`.

    Args:
        in_one_form: whether the bytes must be :func:`canonical`.

    Raises:
        ValueError: they are not what is asked for.
    """
    if len(data) > JSON_BYTES:
        raise ValueError(f"it has {len(data):,} bytes, and no more than {JSON_BYTES:,} are read")
    depth = 0
    for bracket in _BRACKET.finditer(_TEXT.sub(b"", data)):
        depth += 1 if bracket[0] in b"[{" else -1
        if depth > DEPTH:
            raise ValueError(f"it nests deeper than {DEPTH} levels")
    value = json.loads(data.decode(), object_pairs_hook=_once, parse_constant=_refuse, parse_float=_finite)
    if (in_one_form or b"\\u" in data) and (written := canonical(value)) and in_one_form and written != data:
        raise ValueError("it is not written in the one form that driftledger writes")
    return value


def lines(data: bytes) -> list[dict[str, Any]]:
    """The objects of a JSONL file; errors as in :func:`loads`."""
    found = [loads(row) for row in data.removesuffix(b"\n").split(b"\n")] if data else []
    for number, each in enumerate(found, 1):
        if not isinstance(each, dict):
            raise ValueError(f"line {number} is not an object")
    return found


def misfit(value: Any, shape: Any, where: str = "it") -> str:
    """What of a JSON value is not as ``shape`` has it: a type, ``[shape]``, ``{str: shape}``, or members that must be
    there; empty where all is."""
    if isinstance(shape, type):
        fits = isinstance(value, shape) and not (shape is int and isinstance(value, bool))
        return "" if fits else f"{where} is not a {shape.__name__}"
    if not isinstance(value, type(shape)):
        return f"{where} is not a {type(shape).__name__}"
    if isinstance(shape, list):
        parts = [(each, shape[0], f"{where}[{number}]") for number, each in enumerate(value)]
    elif str in shape:
        parts = [(each, shape[str], f"{where}.{key}") for key, each in value.items()]
    else:
        parts = [(value.get(key), each, f"{where}.{key}") for key, each in shape.items()]
    return next((wrong for each, some, place in parts if (wrong := misfit(each, some, place))), "")


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice!r} is there twice")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"it holds {constant}, which is no number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"it holds {text[:40]}, which is no finite number")
    return value

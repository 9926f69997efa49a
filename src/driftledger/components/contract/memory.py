"""How much memory a component holds, as far as Python can see it: arrays, tensors, images and long texts."""

import gc
import sys
import types
from typing import Any

_UNTOUCHED = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.CodeType, types.FrameType)
"""From these, everything that is imported can be reached; what hangs there is nobody's own."""


def held_by(component: Any) -> int:
    """Bytes of data that can be reached from a component's attributes."""
    seen: set[int] = set()
    waiting: list[Any] = [vars(component), getattr(component, "__pydantic_private__", None)]
    total = 0
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, _UNTOUCHED):
            continue
        seen.add(id(one))
        total += _own_bytes(one)
        waiting.extend(gc.get_referents(one))
    return total


def tensors() -> int:
    """Bytes of all tensors of torch that are alive in this process, on whatever device; 0 where torch is not used."""
    torch = sys.modules.get("torch")
    if torch is None:
        return 0
    gc.collect()
    alive = [each for each in gc.get_objects() if issubclass(type(each), torch.Tensor)]
    return sum(_tensor_bytes(each) for each in alive)


def _own_bytes(one: Any) -> int:
    if isinstance(one, str | bytes | bytearray):
        return len(one)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(one, torch.Tensor):
        return _tensor_bytes(one)
    size = getattr(one, "nbytes", 0)  # of an array, of NumPy or of anybody
    return size if isinstance(size, int) else 0


def _tensor_bytes(tensor: Any) -> int:
    try:
        return int(tensor.nelement() * tensor.element_size())
    except (RuntimeError, NotImplementedError):  # of a kind without elements
        return 0

"""What settings say, under the name that a case gives it."""

from operator import attrgetter
from pathlib import Path
from typing import Any

from driftledger.benchmarks.registry import benchmark
from driftledger.project.settings import Settings


def selected(settings: Settings, name: str) -> Any:
    """Return what ``name`` says: a dotted name, or one of the forms below."""
    value: Any = settings
    match name.split():
        case ["benchmarks"]:
            return [spec.name for spec in settings.benchmarks]
        case ["named", section]:
            return list(settings.named(section))
        case ["encoder", entry]:
            return settings.encoders[entry].model_extra
        case ["keys", "of", benchmark_name]:
            return settings.keys_of(benchmark(benchmark_name))
        case [name, "of", place]:
            value = settings.build(*place.split("."))
    value = attrgetter(name)(value)
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, dict):
        return {entry: value[entry].model_extra for entry in value}
    return value

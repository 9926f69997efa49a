"""Records as a collect stage writes them, without asking anybody, and rows of scores."""

from collections.abc import Mapping, Sequence
from typing import Any

from driftledger.benchmarks.records import CollectedRecord, RecordedResult
from driftledger.benchmarks.score import Row
from driftledger.core.types import Outcome


def result(role: str, outcome: Outcome | str = Outcome.OK, text: str | None = None, **more: Any) -> RecordedResult:
    """What a call gave."""
    return RecordedResult(role=role, key=more.pop("key", role), outcome=Outcome(outcome), text=text, **more)


def record(
    unit: str,
    outcome: Outcome | str = Outcome.OK,
    text: str | None = None,
    step: int = 1,
    repeat: int = 0,
    **extra: Any,
) -> CollectedRecord:
    """What a model said of a unit; ``extra`` may hold ``served_model`` and ``error`` of the call."""
    of_call = {name: extra.pop(name) for name in ("served_model", "error") if name in extra}
    said = result("model", outcome, text, key=f"{unit} {step} {repeat}", **of_call)
    return CollectedRecord(unit=unit, step=step, repeat=repeat, results=[said], extra=extra)


def iteration(
    sample: str,
    t: int,
    text: str | None = None,
    image: str | None = None,
    outcome: Outcome | str = Outcome.OK,
    repeat: int = 0,
    image_sha256: str = "i",
    **more: Any,
) -> CollectedRecord:
    """An iteration of a chain: a description and, where there is an image, what was drawn from it.

    Args:
        more: of the drawing.
    """
    key, drawn = f"{sample} {t} {repeat}", image is not None
    results = [result("model", Outcome.OK if drawn else outcome, text, key=key)]
    if drawn:
        results.append(result("generator", outcome, image=image, image_sha256=image_sha256, key=f"{key} drawn", **more))
    extra = {"parent_sha256": "p", "seed": 1}
    return CollectedRecord(unit=sample, step=t, repeat=repeat, results=results, extra=extra)


def row(
    unit: str,
    values: Mapping[str, Sequence[float | None]],
    group: str = "all",
    cluster: str | None = None,
    outcome: Outcome = Outcome.OK,
    **extra: Any,
) -> Row:
    """A row of a score; a unit is its own cluster if no other is given."""
    plain = {key: list(some) for key, some in values.items()}
    return Row(unit=unit, group=group, cluster=cluster or unit, outcome=outcome, values=plain, extra=extra)

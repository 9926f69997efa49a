"""What the calls behind a score took. It lives in the call store, never in a hashed file."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from driftledger.collect.call_result import Cost
from driftledger.collect.call_store import CallStore
from driftledger.core.paths import Paths
from driftledger.ledger.lineage import Lineage
from driftledger.metrics.exact import exact_mean
from driftledger.tracking.content import LoggedMetric


def cost_metrics(root: Path, prefix: str, lineage: Lineage) -> Iterator[LoggedMetric]:
    """Per call of each role the mean seconds and tokens, and what all of them cost together, as far as known.

    None where the call store of the time is gone.
    """
    state = Paths(root).state
    if not (state / "calls.db").is_file():
        return
    with CallStore(state) as store:
        for role, keys in lineage.spec.costs(lineage, root).items():
            for key, value in _summary(role, list(store.costs(keys).values())).items():
                yield LoggedMetric(f"{prefix}/cost/{key}", value, dataset=lineage.on)


def _summary(role: str, costs: Sequence[Cost]) -> dict[str, float]:
    means: dict[str, float] = {}
    for column in ("seconds", "input_tokens", "output_tokens"):
        known = [float(value) for cost in costs if (value := getattr(cost, column)) is not None]
        if known:
            means[f"{column}_per_{role}"] = exact_mean(known)
    paid = [cost.cost for cost in costs if cost.cost is not None]
    return means | ({f"cost_of_{role}": exact_mean(paid) * len(paid)} if paid else {})

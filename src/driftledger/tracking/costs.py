"""What the calls behind a score took. It lives in the call store, never in a hashed file."""

from collections.abc import Sequence
from pathlib import Path

from driftledger.call_key import CallKey
from driftledger.call_result import Cost
from driftledger.calls import CallStore
from driftledger.layout import Layout
from driftledger.ledger.evidence import Behind
from driftledger.metrics.exact import exact_mean
from driftledger.records import ChainRecord, generation_prompt, read_jsonl
from driftledger.types import Conversation, ImageFile


def call_costs(layout: Layout, behind: Behind) -> dict[str, float]:
    """Per describe and generate call the mean seconds and tokens, and what all of them cost together, as far as known.

    Empty where the call store of the time is gone.
    """
    if not (layout.state / "calls.db").is_file():
        return {}
    keys = _keys(layout, behind)
    with CallStore(layout.state) as store:
        found = {role: list(store.costs(digests).values()) for role, digests in keys.items()}
    return {key: value for role, costs in found.items() for key, value in _summary(role, costs).items()}


def _keys(layout: Layout, behind: Behind) -> dict[str, list[str]]:
    chain = behind.score.inputs.chain
    records = read_jsonl(layout.root / behind.images.path / "records.jsonl", ChainRecord)
    keys: dict[str, list[str]] = {"describe": [], "generate": []}
    for record in records:
        shown = Conversation.ask(chain.describe_prompt, ImageFile(Path(), record.parent_sha256))
        keys["describe"].append(CallKey.of_conversation(chain.model.fingerprint, "describe", shown, {}).digest)
        if record.image is not None:
            prompt = generation_prompt(chain.generate_prompt, record.description)
            keys["generate"].append(CallKey.of_prompt(chain.generator.fingerprint, prompt, record.seed, {}).digest)
    return keys


def _summary(role: str, costs: Sequence[Cost]) -> dict[str, float]:
    means: dict[str, float] = {}
    for column in ("seconds", "input_tokens", "output_tokens"):
        known = [float(value) for cost in costs if (value := getattr(cost, column)) is not None]
        if known:
            means[f"{column}_per_{role}"] = exact_mean(known)
    paid = [cost.cost for cost in costs if cost.cost is not None]
    return means | ({f"cost_of_{role}": exact_mean(paid) * len(paid)} if paid else {})

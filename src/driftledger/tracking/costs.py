"""What the calls behind a score took. It lives in the call store, never in a hashed file."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from driftledger.benchmarks.description_records import DescriptionRecord, DescriptionsCard
from driftledger.benchmarks.genception.records import ChainCard, ChainRecord, generation_prompt
from driftledger.collect.call_key import CallKey
from driftledger.collect.call_result import Cost
from driftledger.collect.call_store import CallStore
from driftledger.core.files import read_jsonl
from driftledger.core.paths import Layout
from driftledger.core.types import Conversation, ImageFile
from driftledger.data.records import SampleEntry
from driftledger.metrics.exact import exact_mean
from driftledger.tracking.content import Metric

Calls = Mapping[str, Sequence[str]]
"""Role, ``describe`` or ``generate`` → keys of calls."""


def cost_metrics(layout: Layout, prefix: str, dataset: str, calls: Callable[[], Calls]) -> Iterator[Metric]:
    """Per describe and generate call the mean seconds and tokens, and what all of them cost together, as far as known.

    None where the call store of the time is gone.
    """
    if not (layout.state / "calls.db").is_file():
        return
    with CallStore(layout.state) as store:
        for role, keys in calls().items():
            for key, value in _summary(role, list(store.costs(keys).values())).items():
                yield Metric(f"{prefix}/{key}", value, dataset=dataset)


def chain_calls(folder: Path, chain: ChainCard) -> Calls:
    """The calls behind a folder of chains or redrawings."""
    calls: dict[str, list[str]] = {"describe": [], "generate": []}
    for record in read_jsonl(folder / "records.jsonl", ChainRecord):
        asked = (chain.model.fingerprint, chain.describe_prompt, record.parent_sha256, chain.max_tokens)
        calls["describe"].append(_describe_key(*asked))
        if record.image is not None:
            prompt = generation_prompt(chain.generate_prompt, record.description)
            calls["generate"].append(CallKey.of_prompt(chain.generator.fingerprint, prompt, record.seed, {}).digest)
    return calls


def describe_calls(folder: Path, dataset: Path, card: DescriptionsCard) -> Calls:
    """The calls behind a folder of descriptions, less those with demonstrations: their cost hangs on what was shown."""
    images = {entry.id: entry.sha256 for entry in read_jsonl(dataset / "samples.jsonl", SampleEntry)}
    plain = (each for each in read_jsonl(folder / "descriptions.jsonl", DescriptionRecord) if each.shots == 0)
    model, prompt = card.model.fingerprint, card.prompt
    return {"describe": [_describe_key(model, prompt, images[each.sample], each.max_tokens) for each in plain]}


def _describe_key(model: str, prompt: str, image_sha256: str, max_tokens: int | None) -> str:
    asked = Conversation.ask(prompt, ImageFile(Path(), image_sha256), max_tokens=max_tokens)
    return CallKey.of_conversation(model, "describe", asked, {}).digest


def _summary(role: str, costs: Sequence[Cost]) -> dict[str, float]:
    means: dict[str, float] = {}
    for column in ("seconds", "input_tokens", "output_tokens"):
        known = [float(value) for cost in costs if (value := getattr(cost, column)) is not None]
        if known:
            means[f"{column}_per_{role}"] = exact_mean(known)
    paid = [cost.cost for cost in costs if cost.cost is not None]
    return means | ({f"cost_of_{role}": exact_mean(paid) * len(paid)} if paid else {})

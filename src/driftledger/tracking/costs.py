"""What the calls behind a score took. It lives in the call store, never in a hashed file."""

from pathlib import Path

from driftledger.call_key import CallKey
from driftledger.calls import CallStore
from driftledger.layout import Layout
from driftledger.ledger.evidence import Behind
from driftledger.metrics.exact import exact_mean
from driftledger.records import ChainRecord, generation_prompt, read_jsonl
from driftledger.types import Conversation, ImageFile


def mean_seconds(layout: Layout, behind: Behind) -> dict[str, float]:
    """Mean seconds per describe and generate call; empty where the call store of the time is gone."""
    if not (layout.state / "calls.db").is_file():
        return {}
    chain = behind.score.inputs.chain
    records = read_jsonl(layout.root / behind.images.path / "records.jsonl", ChainRecord)
    keys: dict[str, list[str]] = {"describe": [], "generate": []}
    for record in records:
        shown = Conversation.ask(chain.describe_prompt, ImageFile(Path(), record.parent_sha256))
        keys["describe"].append(CallKey.of_conversation(chain.model.fingerprint, "describe", shown, {}).digest)
        if record.image is not None:
            prompt = generation_prompt(chain.generate_prompt, record.description)
            keys["generate"].append(CallKey.of_prompt(chain.generator.fingerprint, prompt, record.seed, {}).digest)
    with CallStore(layout.state) as store:
        found = {role: list(store.seconds(digests).values()) for role, digests in keys.items()}
    return {f"seconds_per_{role}": exact_mean(seconds) for role, seconds in found.items() if seconds}

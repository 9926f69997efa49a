"""The calls behind a folder of chains, by their keys."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from driftledger.benchmarks._chains.records import ChainRecord, ChainRequest, generation_prompt
from driftledger.benchmarks.costs import describe_key
from driftledger.benchmarks.records import RECORDS
from driftledger.benchmarks.score import Score
from driftledger.collect.call_key import CallKey
from driftledger.core.files import read_jsonl


def chain_calls(score: Score, folder: Path) -> Mapping[str, Sequence[str]]:
    """``describe`` and ``generate`` → keys of the calls that the chains in ``folder``, which ``score`` is of, made."""
    asked = ChainRequest.model_validate(score.inputs.protocol)
    model, generator = score.components["model"].fingerprint, score.components["generator"].fingerprint
    calls: dict[str, list[str]] = {"describe": [], "generate": []}
    for record in read_jsonl(folder / RECORDS, ChainRecord):
        calls["describe"].append(describe_key(model, asked.describe_prompt, record.parent_sha256, asked.max_tokens))
        if record.image is not None:
            prompt = generation_prompt(asked.generate_prompt, record.description)
            calls["generate"].append(CallKey.of_prompt(generator, prompt, record.seed, {}).digest)
    return calls

"""What the specifications of benchmarks over chains have in common: the flow from a dataset to a score."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from driftledger.benchmarks._chains.records import (
    ChainRecord,
    ChainRequest,
    asked_again,
    check_chains,
    generation_prompt,
)
from driftledger.benchmarks.base import DATASET, Artifacts, Benchmark, Input, Metric, Rule, Stage
from driftledger.benchmarks.descriptions import describe_key
from driftledger.benchmarks.records import RECORDS, CollectedCard, Linked
from driftledger.benchmarks.score import Score
from driftledger.collect.call import CallKey
from driftledger.core.escaping import csv_table
from driftledger.core.files import read_jsonl

if TYPE_CHECKING:
    from driftledger.ledger.lineage import Lineage

KEYS = ("dataset", "model", "generator")
"""What names a folder of chains."""

SEEN = frozenset({Input.ENCODER, Input.DRAWN, Input.DESCRIPTIONS, Input.DATA})
"""What an encoder's view of chains depends on."""

ANOTHER_DESCRIPTION = Rule("describe_prompt", "another prompt asks for another description")
BEGUN = Rule("prefix", "a reply that is begun for a model goes on otherwise")
LONGER = Rule("max_tokens", "longer descriptions tell more")


WORDS = Metric(
    "words",
    "words",
    "mean number of words of the descriptions",
    "exact.exact_mean",
    frozenset({Input.DESCRIPTIONS}),
    higher_is_better=None,
    digits=1,
)
IMAGES = Metric(
    "images",
    "N",
    "how many images stand behind the Fréchet distance over all of them",
    "frechet.frechet_distance",
    SEEN - {Input.ENCODER},
    higher_is_better=None,
    digits=0,
)


class ChainBenchmark(Benchmark):
    """Collects chains of describe → generate over a dataset, in one stage."""

    data: ClassVar[Stage] = DATASET
    protocol: ClassVar[type[ChainRequest]] = ChainRequest

    def links(
        self, stage: str, records: Sequence[ChainRecord], card: CollectedCard, parents: Mapping[str, str]
    ) -> Iterator[Linked]:
        return check_chains(records, card, parents)

    def artifacts(self, lineage: "Lineage", root: Path) -> Artifacts:
        """Every description."""
        return {"descriptions.csv": partial(_descriptions_csv, root / lineage.collected[self.collects[0].name].path)}

    def costs(self, lineage: "Lineage", root: Path) -> Mapping[str, Sequence[str]]:
        return _calls(lineage.score, root / lineage.collected[self.collects[0].name].path)


def _descriptions_csv(folder: Path) -> bytes:
    records = read_jsonl(folder / RECORDS, ChainRecord)
    rows = ([each.sample, each.repeat, each.t, each.outcome, each.description, each.error] for each in records)
    return csv_table(["sample", "repeat", "t", "outcome", "description", "error"], rows)


def _calls(score: Score, folder: Path) -> Mapping[str, Sequence[str]]:
    """``describe`` and ``generate`` → keys of the calls that the chains in ``folder``, which ``score`` is of, made."""
    asked = ChainRequest.model_validate(score.inputs.protocol)
    model, generator = score.components["model"], score.components["generator"].fingerprint
    calls: dict[str, list[str]] = {"describe": [], "generate": []}
    for record in read_jsonl(folder / RECORDS, ChainRecord):
        who = score.components["writer"] if asked.writer is not None and record.t == 1 else model
        described = (who.fingerprint, asked.describe_prompt, record.parent_sha256, asked.max_tokens, asked.prefix)
        again = asked_again(who.settings, record.repeat)
        calls["describe"].append(describe_key(*described, again))
        if record.image is not None:
            prompt = generation_prompt(asked.generate_prompt, record.description)
            calls["generate"].append(CallKey.of_prompt(generator, prompt, record.seed, {}).digest)
    return calls

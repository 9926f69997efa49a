"""The collecting half: T iterations of describe → generate per sample, written as records and images."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from driftledger.benchmarks.genception.records import ChainCard, ChainRecord, generation_prompt
from driftledger.collect.call_result import Context, Result
from driftledger.collect.call_store import CallStore
from driftledger.collect.failures import refuse_failures
from driftledger.collect.scheduler import run_protocols
from driftledger.collect.steps import Ask, Draw, Steps
from driftledger.components.base import Generator, Model
from driftledger.components.card import ComponentCard
from driftledger.core.files import write_json, write_jsonl
from driftledger.core.progress import Progress
from driftledger.core.seeds import derive_seed
from driftledger.core.types import Conversation, ImageFile, Outcome, Sample, Subject
from driftledger.data.records import DatasetCard

CALLS_PER_ITERATION = 2


class Iteration(NamedTuple):
    """A record and, where the iteration drew one, its image."""

    record: ChainRecord
    image: ImageFile | None


@dataclass(frozen=True)
class ChainProtocol:
    """What is fixed for all samples of a chain stage."""

    dataset: DatasetCard
    model: Model
    generator: Generator
    iterations: int
    describe_prompt: str
    generate_prompt: str
    run_seed: int
    max_tokens: int | None = None
    """Of a description; None is the model's own limit."""

    def run(self, sample: Sample) -> Steps[list[Iteration]]:
        """One sample's chain. It ends at T, or with the first outcome that leaves nothing to go on with."""
        done: list[Iteration] = []
        parent = sample.image
        for t in range(1, self.iterations + 1):
            context = Context(self.dataset.name, sample.id, t)
            seed = derive_seed(self.run_seed, self.dataset.name, sample.id, t)
            asked = Conversation.ask(self.describe_prompt, parent, Subject(sample.id, t), self.max_tokens)
            described = yield Ask(self.model, "describe", asked, context)
            drawn = None
            if described.outcome.goes_on:
                prompt = generation_prompt(self.generate_prompt, described.text)
                drawn = yield Draw(self.generator, prompt, seed, context)
            done.append(_iteration(sample.id, t, parent, seed, described, drawn))
            if done[-1].image is None:
                break
            parent = done[-1].image
        return done


def _iteration(sample: str, t: int, parent: ImageFile, seed: int, described: Result, drawn: Result | None) -> Iteration:
    outcome = described.outcome if drawn is None or drawn.outcome.goes_on else drawn.outcome
    image = drawn.image if drawn is not None else None
    record = ChainRecord(
        sample=sample,
        t=t,
        outcome=outcome,
        description=described.text,
        image=f"images/{sample}/{t}.png" if image else None,
        image_sha256=image.sha256 if image else None,
        parent_sha256=parent.sha256,
        seed=seed,
        served_model=described.served_model,
        served_generator=drawn.served_model if drawn else None,
        revised_prompt=drawn.revised_prompt if drawn else None,
        system_fingerprint=described.system_fingerprint,
        generator_system_fingerprint=drawn.system_fingerprint if drawn else None,
        prompt_reading=drawn.reading if drawn else None,
        notes=[result.note for result in (described, drawn) if result is not None and result.note is not None],
        error=described.error or (drawn.error if drawn else None),
    )
    return Iteration(record, image)


def collect(protocol: ChainProtocol, samples: Sequence[Sample], store: CallStore, title: str) -> list[list[Iteration]]:
    """Run every sample's chain, with calls that are already stored taken from ``store``."""
    most_calls = protocol.iterations * CALLS_PER_ITERATION
    with Progress(title, total=len(samples) * most_calls) as progress:
        return run_protocols([protocol.run(sample) for sample in samples], store, progress, most_calls)


def check_failures(chains: Sequence[Sequence[Iteration]], min_coverage: float, benchmark: str) -> None:
    """Refuse chains of which too many were ended by a failed call; errors as in :func:`refuse_failures`."""
    ends = [chain[-1].record for chain in chains]
    failed = [
        f"{end.sample} at t={end.t}: {end.error or 'no reason given'}" for end in ends if end.outcome is Outcome.FAILED
    ]
    refuse_failures(failed, len(chains), min_coverage, "chains", f"{benchmark}.min_coverage")


def write_chains(folder: Path, protocol: ChainProtocol, names: tuple[str, str], chains: list[list[Iteration]]) -> None:
    """Write ``records.jsonl``, ``images/<sample>/<t>.png`` and ``components.json`` into ``folder``."""
    iterations = [iteration for chain in chains for iteration in chain]
    for record, image in iterations:
        if image is not None and record.image is not None:
            target = folder / record.image
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(image.path, target)
    write_jsonl(folder / "records.jsonl", (record for record, _ in iterations))
    model, generator = names
    card = ChainCard(
        dataset=protocol.dataset.name,
        dataset_digest=protocol.dataset.digest,
        model=ComponentCard.of(model, protocol.model),
        generator=ComponentCard.of(generator, protocol.generator),
        iterations=protocol.iterations,
        describe_prompt=protocol.describe_prompt,
        max_tokens=protocol.max_tokens,
        generate_prompt=protocol.generate_prompt,
        seed=protocol.run_seed,
    )
    write_json(folder / "components.json", card)

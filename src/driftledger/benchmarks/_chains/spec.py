"""The common part of the specifications of benchmarks over chains: from a dataset to a score."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from driftledger.benchmarks._chains.records import (
    ChainRequest,
    asked_again,
    medium_path,
    of_repeat,
)
from driftledger.benchmarks.base import (
    DATASET,
    RECORDS_OF,
    Benchmark,
    Rule,
    Stage,
)
from driftledger.benchmarks.collecting import Collecting, FailedCalls
from driftledger.benchmarks.records import (
    CollectedRecord,
    Folders,
    RecordedResult,
    Records,
    stream_records,
)
from driftledger.benchmarks.traces import Shown, Step, Trace, shot, values_of
from driftledger.collect.call import Ask, Draw, NotStoredError, Planned, RunSteps, Steps
from driftledger.components.base import Component, Model, longest_reply
from driftledger.core.canonical import derive_seed
from driftledger.core.types import Conversation, Medium, Sample, Subject
from driftledger.data.records import read_samples
from driftledger.scoring.means import mean_over_samples
from driftledger.scoring.metric import Input, Metric, ShownIn
from driftledger.scoring.score import Rows, Score

KEYS = ("dataset", "model", "generator")
"""What names a folder of chains."""

SEEN = frozenset({Input.ENCODER, Input.DRAWN, Input.DESCRIPTIONS, Input.DATA})
"""What an encoder's view of chains depends on."""

ANOTHER_DESCRIPTION = Rule(
    "describe_prompt", "another prompt asks for another description"
)
BEGUN = Rule("prefix", "a reply that is begun for a model goes on otherwise")
LONGER = Rule("max_tokens", "longer descriptions tell more")


EVERYWHERE: frozenset[ShownIn] = frozenset(
    {"headline", "compared", "glance", "across", "table", "bars", "last", "curve"}
)
NOWHERE: frozenset[ShownIn] = frozenset()
WORDS = Metric(
    "words",
    "words",
    "mean number of words of the descriptions",
    "exact.exact_mean",
    needs=frozenset({Input.DESCRIPTIONS}),
    estimate=mean_over_samples,
    direction="neither",
    digits=1,
)


def chain_stage(name: str, benchmark_name: str, *settings: str) -> Stage:
    """Return the stage that makes a benchmark's chains, which depends on these settings."""
    path = f"{RECORDS_OF}/{benchmark_name}/{{dataset}}/{{generator}}"
    return Stage(name, KEYS, path, 6, settings, holds=("seed", "parent_sha256"))


class ChainBenchmark(Benchmark):
    """Collects chains of describe → generate over a dataset, in one stage."""

    data = DATASET

    def samples(self, samples: Sequence[Sample]) -> Sequence[Sample]:
        """Return the samples that chains may begin with."""
        return samples

    def collect(
        self, collecting: Collecting, run: RunSteps
    ) -> Iterator[CollectedRecord]:
        """Go through the chains of all samples, repeat after repeat.

        So the calls of each repeat are in the company that they would be in if it were the only
        one, and a reply that several of them need is there when the later ones look for it.

        Raises:
            NotStoredError: as of :class:`RunSteps`, after every repeat has been gone through.
        """
        request = ChainRequest.model_validate(collecting.protocol)
        samples = self.samples(collecting.samples)
        twins = twin_numbers(samples)
        longest = longest_reply(collecting.model(), request.max_tokens)
        draw = (collecting.generator(), request.drawing(longest))

        def planned(repeat: int) -> Iterator[Planned[Records]]:
            # Stand-ins: what is asked of t > 1 is not known before the chain goes on.
            for sample in samples:
                subject = Subject(sample.id, 1, collecting.on)
                ask = describe(collecting.model(), request, sample.medium, subject)
                last = request.last(sample.category, collecting.dataset)
                calls: list[tuple[Component, Conversation | str]]
                calls = [(ask.component, ask.conversation), draw] * last
                if sample.medium.kind == "text":  # which is drawn first, and is known
                    first = request.drawing(sample.medium.open())
                    calls = [(draw[0], first), *calls[:-1]]
                twin = twins[sample.id]
                steps = chain(collecting, request, sample, repeat, twin)
                yield Planned(steps, calls)

        complete = True
        for repeat in range(request.repeats):
            try:
                for records in run(planned(repeat)):
                    yield from records
            except NotStoredError:
                complete = False
        if not complete:
            raise NotStoredError

    def failures(self, records: Sequence[CollectedRecord]) -> FailedCalls:
        chains = {(record.unit, record.repeat) for record in records}
        return super().failures(records)._replace(total=len(chains), things="chains")

    def traces(self, folders: Folders, score: Score, rows: Rows) -> Iterator[Trace]:
        """Yield the chains of these rows, those of one sample one after the other."""
        folder = folders[self.collects.name]
        files = {
            sample.id: sample.medium.path for sample in read_samples(folders["dataset"])
        }
        prompt = score.inputs.protocol["describe_prompt"]
        records: dict[str, Records] = {row.unit: [] for row in rows}
        for record in stream_records(folder, self.collects.holds):
            if record.unit in records:
                records[record.unit].append(record)
        values = values_of(self, score)
        for row in rows:
            start = shot(files[row.unit])
            steps: list[Step] = []
            end = records[row.unit][0]
            before = start
            for record in records[row.unit]:
                if record.step == 1:
                    before = start
                drawn = (
                    {}
                    if record.drawing is None
                    else shot(folder / str(record.drawing.file))
                )
                similarity = row.alone(record.repeat).values.get("similarity", [])
                said: dict[str, Shown] = {"description": record.text}
                asked: dict[str, dict[str, Shown]] = {
                    "model": before,
                    "generator": said,
                }
                after = drawn
                if "description" in start:  # a text, which is drawn first
                    asked = {"generator": before, "model": drawn}
                    after = said
                steps += _steps(record, prompt, asked, drawn, similarity)
                before = after
                if record.repeat == 0:
                    end = record
            drawn = {} if end.drawing is None else shot(folder / str(end.drawing.file))
            category = row.extra.get("category", row.group)
            yield Trace(
                unit=row.unit,
                name="chain",
                inputs={"sample": row.unit, "category": category, **start},
                outputs={"description": end.text, **drawn},
                outcome=row.outcome,
                steps=steps,
                values=values(row),
                start="t = 0",
            )


def twin_numbers(samples: Iterable[Sample]) -> dict[str, int]:
    """Return sample id → how many samples before it have the same bytes."""
    seen = Counter[str]()
    numbers = {}
    for sample in samples:
        numbers[sample.id] = seen[sample.medium.sha256]
        seen[sample.medium.sha256] += 1
    return numbers


def chain(
    collecting: Collecting,
    request: ChainRequest,
    sample: Sample,
    repeat: int = 0,
    twin: int = 0,
) -> Steps[Records]:
    """Go through one sample's chain, to T or to the first outcome without anything to go on.

    An image or a sound is described and drawn at each t; a text is drawn, and that described.

    Args:
        twin: the sample's number among those with the same bytes, as of :func:`twin_numbers`.
    """
    model = collecting.model()
    records: Records = []
    parent = sample.medium
    roles = ["model", "generator"]
    text = ""
    if parent.kind == "text":
        roles.reverse()
        text = parent.open()
    for t in range(1, request.last(sample.category, collecting.dataset) + 1):
        context = Subject(sample.id, t, collecting.on)
        seed = derive_seed(request.seed, sample.medium.sha256, twin, t, repeat)
        record = CollectedRecord(
            unit=sample.id,
            step=t,
            repeat=repeat,
            results=[],
            extra={"parent_sha256": parent.sha256, "seed": seed},
        )
        records.append(record)
        for role in roles:
            if role == "model":
                ask = describe(model, request, parent, context, repeat)
                described = yield ask
                record.results.append(RecordedResult.of(role, ask, described))
                if not described.text or not described.outcome.goes_on:
                    return records
                text = described.text
            else:
                prompt = request.drawing(text)
                draw = Draw(collecting.generator(), prompt, seed, context)
                drawn = yield draw
                suffix = drawn.medium.path.suffix if drawn.medium is not None else ""
                file = medium_path(sample.id, t, repeat, suffix)
                record.results.append(RecordedResult.of(role, draw, drawn, file))
                if drawn.medium is None:
                    return records
                parent = drawn.medium
    return records


def _steps(
    record: CollectedRecord,
    prompt: str,
    asked: Mapping[str, Mapping[str, Shown]],
    drawn: Mapping[str, Shown],
    similarity: Sequence[float | None],
) -> Iterator[Step]:
    """Yield the steps of one iteration: its description and its drawing.

    Args:
        prompt: for the model.
        asked: role → what it is shown, in the order of the calls.
        similarity: s(1) … s(T) of the chain.
    """
    t = record.step
    [_, last] = asked
    for each in record.results:
        verb = "describe"
        inputs = {"prompt": prompt, **asked["model"]}
        outputs: dict[str, Shown] = {"description": each.text}
        if each.role == "generator":
            verb = "generate"
            inputs = {**asked["generator"], "seed": record.extra["seed"]}
            outputs = dict(drawn)
        mark = ""
        if each.role == last:
            if each.file or each.text:
                mark = largest_loss(similarity).get(t, "")
            for s in similarity[t - 1 : t]:
                if s is not None:
                    outputs[f"s({t})"] = s
        yield Step(
            f"{verb} {t}{of_repeat(record.repeat)}",
            each.role,
            inputs=inputs,
            outputs=outputs,
            outcome=each.outcome,
            error=each.error,
            column=f"t = {t}",
            mark=mark,
            again=f"repeat {record.repeat}" if record.repeat else "",
        )


def describe(
    model: Model,
    request: ChainRequest,
    medium: Medium,
    context: Subject,
    repeat: int = 0,
) -> Ask:
    """Return the call for a description of a medium."""
    shown = Conversation.ask(
        request.describe_prompt,
        medium,
        context,
        request.max_tokens,
        prefix=request.prefix,
    )
    return Ask(
        model, "describe", shown, context, asked_again(model.model_dump(), repeat)
    )


def largest_loss(similarity: Sequence[float | None]) -> dict[int, str]:
    """Return the t at which s(t) falls most, from s(0) = 1, and how far; empty if it never falls.

    >>> largest_loss([0.9, 0.5, None, 0.4])
    {2: 'largest loss −0.400'}
    """
    largest = 0.0
    loss = {}
    for t, (before, after) in enumerate(pairwise([1.0, *similarity]), 1):
        if before is not None and after is not None and before - after > largest:
            largest = before - after
            loss = {t: f"largest loss −{largest:.3f}"}
    return loss

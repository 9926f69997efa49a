"""The base of benchmarks over chains."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from driftledger.benchmarks.base.benchmark import Benchmark, Collecting, Rule
from driftledger.benchmarks.base.chains.records import (
    ChainRequest,
    asked_again,
    image_path,
    of_repeat,
)
from driftledger.benchmarks.base.records import (
    CollectedRecord,
    FailedCalls,
    Folders,
    RecordedResult,
    Records,
    stream_records,
)
from driftledger.benchmarks.base.stage import DATASET, RECORDS_OF, Stage
from driftledger.benchmarks.base.traces import Shown, Step, Trace, shot, values_of
from driftledger.collect.call import (
    Ask,
    Draw,
    NotStoredError,
    Planned,
    RunSteps,
    StandIn,
    Steps,
)
from driftledger.components.base import Model, longest_reply
from driftledger.core.canonical import derive_seed
from driftledger.core.grouping import grouped
from driftledger.core.types import Conversation, Medium, Sample, Subject
from driftledger.data.records import read_samples
from driftledger.scoring.means import mean_over_samples
from driftledger.scoring.metric import Input, Metric, ShownIn
from driftledger.scoring.score import Row, Rows, Score

KEYS = ("dataset", "model", "generator")
"""The keys that name a folder of chains."""

SEEN = frozenset({Input.ENCODER, Input.DRAWN, Input.DESCRIPTIONS, Input.DATA})
"""The inputs of what an encoder sees of chains."""

ANOTHER_DESCRIPTION = Rule(
    "describe_prompt", "another prompt asks for another description"
)
BEGUN = Rule("prefix", "a reply that is begun for a model goes on otherwise")
LONGER = Rule("max_tokens", "longer descriptions tell more")
ANOTHER_ENCODER = Rule(
    "encoder",
    "values seen through different encoders are on different scales",
    Input.ENCODER,
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
    """Return the stage that collects chains and depends on these settings."""
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
        """Collect the chains of all samples, one repeat after the other.

        A repeat is batched as if it were the only one, and finds the replies of earlier ones in the
        store.

        Raises:
            NotStoredError: as of :class:`RunSteps`, after every repeat has been gone through.
        """
        request = ChainRequest.model_validate(collecting.protocol)
        complete = True
        for repeat in range(request.repeats):
            try:
                for records in run(self.planned(collecting, request, repeat)):
                    yield from records
            except NotStoredError:
                complete = False
        if not complete:
            raise NotStoredError

    def planned(
        self, collecting: Collecting, request: ChainRequest, repeat: int
    ) -> Iterator[Planned[Records]]:
        """Yield the chain of each sample, with stand-ins for unknown inputs."""
        model = collecting.model()
        longest = longest_reply(model, request.max_tokens)
        draw = (collecting.generator(), request.drawing(longest))
        twins = Counter[str]()
        for sample in self.samples(collecting.samples):
            ask = describe(
                model, request, sample.medium, Subject(sample.id, 1, collecting.on)
            )
            last = request.last(sample.category, collecting.dataset)
            asked = ask.conversation
            # a model that sees nothing is asked the same at each t
            again = asked if sample.medium in asked.media else None
            calls: list[StandIn]
            calls = [(model, asked), draw, *[(model, again), draw] * (last - 1)]
            if sample.medium.kind == "text":  # which is drawn first, and is known
                first = request.drawing(sample.medium.open())
                calls = [(draw[0], first), *calls[:-1]]
            twin = twins[sample.medium.sha256]
            twins[sample.medium.sha256] += 1
            yield Planned(chain(collecting, request, sample, repeat, twin), calls)

    def failures(self, records: Sequence[CollectedRecord]) -> FailedCalls:
        chains = {(record.unit, record.repeat) for record in records}
        return super().failures(records)._replace(total=len(chains), things="chains")

    def traces(self, folders: Folders, score: Score, rows: Rows) -> Iterator[Trace]:
        """Yield a trace per row, with all chains of its sample."""
        samples = read_samples(folders["dataset"])
        files = {sample.id: sample.medium.path for sample in samples}
        prompt = score.inputs.protocol["describe_prompt"]
        units = {row.unit for row in rows}
        stored = stream_records(folders[self.collects.name], self.collects.holds)
        records = grouped(
            (record for record in stored if record.unit in units),
            lambda record: record.unit,
        )
        values = values_of(self.metrics, score)
        for row in rows:
            own = records[row.unit]
            start = shot(files[row.unit])
            [*_, end] = [record for record in own if not record.repeat]
            category = row.extra.get("category", row.group)
            yield Trace(
                unit=row.unit,
                name="chain",
                inputs={"sample": row.unit, "category": category, **start},
                outputs={"description": end.text, **_drawn(end.drawing)},
                outcome=row.outcome,
                steps=[*_steps(row, own, start, prompt)],
                values=values(row),
                start="t = 0",
            )


def chain(
    collecting: Collecting,
    request: ChainRequest,
    sample: Sample,
    repeat: int = 0,
    twin: int = 0,
) -> Steps[Records]:
    """Collect one sample's chain, up to T or to a call without a result.

    An image is described and drawn at each t; a text is drawn, and that described.

    Args:
        twin: how many samples before it have the same bytes.
    """
    records: Records = []
    parent = sample.medium
    roles = ["model", "generator"]
    text = ""
    if parent.kind == "text":
        roles.reverse()
        text = parent.open()
    for t in range(1, request.last(sample.category, collecting.dataset) + 1):
        subject = Subject(sample.id, t, collecting.on)
        seed = derive_seed(request.seed, sample.medium.sha256, twin, t, repeat)
        extra = {"parent_sha256": parent.sha256, "seed": seed}
        record = CollectedRecord(
            unit=sample.id, step=t, repeat=repeat, results=[], extra=extra
        )
        records.append(record)
        for role in roles:
            if role == "model":
                ask = describe(collecting.model(), request, parent, subject, repeat)
                reply = yield ask
                record.results.append(RecordedResult.of(role, ask, reply))
                text = reply.text or ""
                if not text or not reply.outcome.goes_on:
                    return records
            else:
                prompt = request.drawing(text)
                draw = Draw(collecting.generator(), prompt, seed, subject)
                drawn = yield draw
                suffix = drawn.medium.path.suffix if drawn.medium is not None else ""
                file = image_path(sample.id, t, repeat, suffix)
                record.results.append(RecordedResult.of(role, draw, drawn, file))
                if drawn.medium is None:
                    return records
                parent = drawn.medium
    return records


def _steps(
    row: Row, records: Records, start: Mapping[str, Shown], prompt: str
) -> Iterator[Step]:
    """Yield the calls behind a row; each is shown what came of the one before.

    Args:
        records: of its chains, from t = 1 to the end of each.
        start: the sample, as a trace shows it.
        prompt: for the model.
    """
    previous = start
    for record in records:
        t = record.step
        if t == 1:
            previous = start
        similarity = row.alone(record.repeat).values.get("similarity", [])
        for number, result in enumerate(record.results):
            if result.role == "model":
                verb = "describe"
                inputs = {"prompt": prompt, **previous}
                previous = {"description": result.text}
            else:
                verb = "generate"
                inputs = {**previous, "seed": record.extra["seed"]}
                previous = _drawn(result)
            outputs = dict(previous)
            mark = ""
            if number == 1:  # with which an iteration is complete
                if result.file or result.text:
                    mark = largest_loss(similarity).get(t, "")
                for s in similarity[t - 1 : t]:
                    if s is not None:
                        outputs[f"s({t})"] = s
            yield Step(
                f"{verb} {t}{of_repeat(record.repeat)}",
                result.role,
                inputs=inputs,
                outputs=outputs,
                outcome=result.outcome,
                error=result.error,
                column=f"t = {t}",
                mark=mark,
                again=f"repeat {record.repeat}" if record.repeat else "",
            )


def _drawn(result: RecordedResult | None) -> Mapping[str, Shown]:
    """Return the image of a result as a trace shows it; empty if it has none."""
    if result is None or result.medium is None:
        return {}
    return shot(result.medium.path)


def describe(
    model: Model,
    request: ChainRequest,
    image: Medium,
    context: Subject,
    repeat: int = 0,
) -> Ask:
    """Return the call for the description of an image."""
    conversation = Conversation.ask(
        request.describe_prompt,
        image,
        context,
        request.max_tokens,
        prefix=request.prefix,
    )
    return Ask(
        model,
        "describe",
        conversation,
        context,
        asked_again(model.model_dump(), repeat),
    )


def largest_loss(similarity: Sequence[float | None]) -> dict[int, str]:
    """Return the t at which s(t) falls most, and how far; empty if it never falls.

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

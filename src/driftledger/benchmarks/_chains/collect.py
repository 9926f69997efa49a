"""Chains of describe → draw again: the protocol of one sample, and how all samples are gone through."""

from collections.abc import Sequence
from functools import partial

from driftledger.benchmarks._chains.records import ChainRequest, asked_again, image_path
from driftledger.benchmarks.collecting import Collecting
from driftledger.benchmarks.records import CollectedRecord, RecordedResult
from driftledger.collect.call import Ask, Context, Draw, NotStoredError, Planned, RunSteps, Steps
from driftledger.components.base import Component, Model
from driftledger.core.canonical import derive_seed
from driftledger.core.types import Conversation, ImageFile, Sample, Subject


def chain(collecting: Collecting, sample: Sample, repeat: int = 0) -> Steps[list[CollectedRecord]]:
    """Go through one sample's chain. It ends at T, or with the first outcome that leaves nothing to go on with."""
    asked, on = ChainRequest.model_validate(collecting.protocol), collecting.on
    records: list[CollectedRecord] = []
    parent = sample.image
    for t in range(1, asked.of_category(sample.category, collecting.dataset.groups) + 1):
        context = Context(on, sample.id, t)
        seed = derive_seed(asked.seed, on, sample.id, t, repeat)
        ask = describe(collecting.model(), asked, parent, context, repeat)
        described = yield ask
        results, drawn = [RecordedResult.of("model", ask, described)], None
        if described.outcome.goes_on:
            prompt = asked.generate_prompt.replace("{description}", described.text or "")
            draw = Draw(collecting.generator(), prompt, seed, context)
            drawn = yield draw
            results.append(RecordedResult.of("generator", draw, drawn, image_path(sample.id, t, repeat)))
        extra = {"parent_sha256": parent.sha256, "seed": seed}
        records.append(CollectedRecord(unit=sample.id, step=t, repeat=repeat, results=results, extra=extra))
        if drawn is None or drawn.image is None:
            break
        parent = drawn.image
    return records


def describe(model: Model, asked: ChainRequest, image: ImageFile, context: Context, repeat: int = 0) -> Ask:
    """Return the call for a description of an image."""
    subject = Subject(context.sample, context.t)
    shown = Conversation.ask(asked.describe_prompt, image, subject, asked.max_tokens, prefix=asked.prefix)
    return Ask(model, "describe", shown, context, asked_again(model.model_dump(), repeat))


def collect_chains(collecting: Collecting, samples: Sequence[Sample], run: RunSteps) -> list[CollectedRecord]:
    """Go through the chains of all samples, repeat after repeat.

    So the calls of each repeat are in the company that they would be in if it were the only one, and a reply that
    several of them need is there when the later ones look for it.

    Raises:
        NotStoredError: as of :class:`RunSteps`, after every repeat has been gone through.
    """
    asked, groups = ChainRequest.model_validate(collecting.protocol), collecting.dataset.groups
    calls: dict[str, list[tuple[Component, Conversation | str]]] = {}
    for sample in samples:  # stand-ins: what is asked of t > 1 is not known before the chain goes on
        ask = describe(collecting.model(), asked, sample.image, Context(collecting.on, sample.id, 1))
        draw = collecting.generator(), asked.generate_prompt
        calls[sample.id] = [(ask.component, ask.conversation), draw] * asked.of_category(sample.category, groups)
    records, complete = list[CollectedRecord](), True
    for repeat in range(asked.repeats):
        try:
            chains = run([Planned(partial(chain, collecting, each, repeat), calls[each.id]) for each in samples])
            records += [record for some in chains for record in some]
        except NotStoredError:
            complete = False
    if not complete:
        raise NotStoredError
    return records

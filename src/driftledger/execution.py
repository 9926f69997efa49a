"""Runs component calls: which ones at once, which from the store, and what becomes of the results.

A protocol is written once, as a generator function that yields a call and is sent its result, for one sample and in
the order in which the paper tells it (:data:`Steps`). How the steps of many samples are interleaved is decided here.
"""

import time
from collections import defaultdict
from collections.abc import Generator as PythonGenerator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from driftledger.call_key import CallKey
from driftledger.calls import CallStore, Context, Finished, Result
from driftledger.components import Generator, Model
from driftledger.images import png_bytes
from driftledger.progress import Progress
from driftledger.types import Conversation, Generated, Reply

R = TypeVar("R")


@dataclass(frozen=True)
class Ask:
    """Ask ``component`` to answer a conversation. ``role`` says what for: describe, answer, grade."""

    component: Model
    role: str
    conversation: Conversation
    context: Context

    @property
    def key(self) -> CallKey:
        component = self.component
        return CallKey.of_conversation(component.fingerprint, self.role, self.conversation, component.spec)


@dataclass(frozen=True)
class Draw:
    """Ask ``component`` to draw a prompt."""

    component: Generator
    prompt: str
    seed: int
    context: Context

    @property
    def key(self) -> CallKey:
        return CallKey.of_prompt(self.component.fingerprint, self.prompt, self.seed, self.component.spec)


Call: TypeAlias = Ask | Draw
Steps: TypeAlias = PythonGenerator[Call, Result, R]


def run_in_waves(protocols: Sequence[Steps[R]], store: CallStore, progress: Progress, most_calls: int) -> list[R]:
    """Run every sample's protocol to its end and return what each returned, in order.

    All samples take one step before any takes the next, so that a model and a generator that do not fit into memory
    together are loaded once per step and not once per sample. Batches are blocks of neighbouring samples, fixed by
    their positions: a resumed run, or one in which some samples have dropped out, puts no call into other company.

    Args:
        protocols: one started-by-us generator per sample.
        most_calls: how many calls one protocol makes at the most, for the progress bar.
    """
    waiting: dict[int, Call] = {}
    returned: dict[int, R] = {}
    made: dict[int, int] = defaultdict(int)

    def advance(index: int, result: Result | None) -> None:
        waiting.pop(index, None)
        try:
            waiting[index] = next(protocols[index]) if result is None else protocols[index].send(result)
            made[index] += 1
        except StopIteration as stop:
            returned[index] = stop.value
            progress.skip(most_calls - made[index])

    for index in range(len(protocols)):
        advance(index, None)
    while waiting:
        for block in _blocks(waiting):
            results = perform([waiting[index] for index in block], store)
            for index, result in zip(block, results, strict=True):
                advance(index, result)
            progress.update(len(block))
    return [returned[index] for index in range(len(protocols))]


def _blocks(waiting: dict[int, Call]) -> list[list[int]]:
    """One wave: the waiting calls of the first component in line, in blocks of that component's batch size."""
    component = waiting[min(waiting)].component
    blocks: dict[int, list[int]] = defaultdict(list)
    for index in sorted(waiting):
        if waiting[index].component.fingerprint == component.fingerprint:
            blocks[index // component.batch_size].append(index)
    return list(blocks.values())


def perform(calls: Sequence[Call], store: CallStore) -> list[Result]:
    """The results of calls to one component: stored ones from the store, the others made at once and stored."""
    keys = [call.key for call in calls]
    digests = [key.digest for key in keys]
    results = store.get(digests)
    missing = {digest: call for digest, call in zip(digests, calls, strict=True) if digest not in results}
    if missing:
        finished = _make(list(missing.values()))
        results.update(zip(missing, store.put(finished), strict=True))
    return [results[digest] for digest in digests]


def _make(calls: Sequence[Call]) -> list[Finished]:
    component = calls[0].component
    started = time.perf_counter()
    made: list[Reply | Generated]
    if isinstance(component, Model):
        made = [*component.respond([call.conversation for call in calls if isinstance(call, Ask)])]
    else:
        draws = [call for call in calls if isinstance(call, Draw)]
        made = [*component.generate([draw.prompt for draw in draws], [draw.seed for draw in draws])]
    seconds = (time.perf_counter() - started) / len(calls)
    if len(made) != len(calls):
        raise ValueError(f"{component.provider} gave {len(made)} results for {len(calls)} calls")
    return [
        Finished(call.key, call.context, *_result(answer), seconds) for call, answer in zip(calls, made, strict=True)
    ]


def _result(made: Reply | Generated) -> tuple[Result, bytes | None]:
    text: dict[str, Any] = {
        "served_model": _utf8(made.served_model),
        "error": _utf8(made.error),
    }
    if isinstance(made, Reply):
        return Result(made.outcome, text=_utf8(made.text), **text), None
    if made.outcome.goes_on and made.image is None:
        raise ValueError(f"a generator said {made.outcome} and gave no image")
    png = png_bytes(made.image) if made.image is not None and made.outcome.goes_on else None
    return Result(made.outcome, revised_prompt=_utf8(made.revised_prompt), **text), png


def _utf8(text: str | None) -> str | None:
    """The text as UTF-8 can hold it: a lone surrogate becomes a question mark."""
    return None if text is None else text.encode("utf-8", "replace").decode()

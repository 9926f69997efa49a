"""CPU time of choosing batches, per call, where many samples wait: its growth should be none.

Samples wait for a component that does nothing; nothing is made or stored. In ``lined up``, all ask the same component,
so that batches are whole. In ``scattered``, neighbours ask different ones, and none ever is.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import ClassVar

import numpy as np
from _report import write

from driftledger.collect.blocks import Blocks
from driftledger.collect.call_result import Context
from driftledger.collect.steps import Ask
from driftledger.components.base import Model
from driftledger.core.types import Conversation, Reply, Turn

SAMPLES = (1_000, 10_000, 100_000)
BATCHES = (1, 8, 64)
REPEATS = 3
"""Of which the fastest counts: what else the machine does can only add."""


class Silent(Model):
    """Is never asked."""

    provider: ClassVar[str] = "silent"
    version: ClassVar[str] = "1"
    code_is_identity: ClassVar[bool] = False
    voice: int = 0

    def respond(self, conversations: object) -> list[Reply]:
        raise NotImplementedError


def main() -> None:
    results: dict[str, object] = {"clock": "CPU time of this process, fastest of 3"}
    for name, voices in (("lined_up", 1), ("scattered", 2)):
        for batch in BATCHES:
            models = [Silent(batch_size=batch, voice=voice) for voice in range(voices)]
            spent = [fastest(partial(take_all, count, models)) for count in SAMPLES]
            exponent = float(np.polyfit(np.log(SAMPLES), np.log(spent), 1)[0])
            each = {str(count): round(seconds / count * 1e3, 4) for count, seconds in zip(SAMPLES, spent, strict=True)}
            results[f"{name}_batch_{batch}"] = {"ms_per_call": each, "exponent": round(exponent, 3)}
            print(f"{name}, batches of {batch}: {each} ms a call, exponent {exponent:.3f}")
    write("scheduler", results, libraries=("numpy",))


def fastest(work: Callable[[], float]) -> float:
    return min(work() for _ in range(REPEATS))


def take_all(samples: int, models: list[Silent]) -> float:
    """Seconds of CPU time until each sample has waited for one call and has ended."""
    question = Conversation((Turn("user", ("?",)),))
    calls = [Ask(model, "describe", question, Context("d", "s", 0)) for model in models]
    started = time.process_time()
    blocks = Blocks(range(samples))
    for position in range(samples):
        blocks.add(position, calls[position % len(calls)])
    taken = 0
    while block := blocks.take(lambda _: True, partial=True):
        blocks.after(block)
        taken += len(block.calls)
        for position in block.calls:
            blocks.end(position)
    if taken != samples:
        raise RuntimeError(f"{taken} of {samples} calls were taken")
    return time.process_time() - started


if __name__ == "__main__":
    main()

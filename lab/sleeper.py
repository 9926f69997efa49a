"""A component that sleeps, for what is timed without work; in a module of its own, whose code is its identity."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from driftledger.collect.call_result import Context
from driftledger.collect.call_store import CallStore
from driftledger.collect.scheduler import run_protocols
from driftledger.collect.steps import Ask, Steps
from driftledger.components.base import Model
from driftledger.core.progress import Progress
from driftledger.core.types import Conversation, Reply, Turn

SLEEPS = 0.5
BATCH = 4


class Sleeper(Model):
    """Takes its time, and says what it was asked; a line of its log for each batch."""

    provider: ClassVar[str] = "sleeper"
    version: ClassVar[str] = "1"
    log: str

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        began = time.time()
        time.sleep(SLEEPS)
        with Path(self.log).open("a") as log:
            log.write(f"{began} {time.time()}\n")
        return [Reply(str(conversation.turns[-1].parts[0])) for conversation in conversations]


def _one(model: Sleeper, number: int) -> Steps[str]:
    asked = Ask(model, "describe", Conversation((Turn("user", (f"number {number}",)),)), Context("d", str(number), 1))
    return str((yield asked).text)


def make_all(folder: Path, batches: int) -> None:
    """Have so many batches made in this process, over a store that others may use too."""
    model = Sleeper(log=str(folder / "log"), batch_size=BATCH)
    with CallStore(folder) as store, Progress("sleep", 0) as progress:
        run_protocols([_one(model, number) for number in range(BATCH * batches)], store, progress, 1)

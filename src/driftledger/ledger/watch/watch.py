"""A service is asked its probe again, and set beside what it answered the first time.

What it answered is kept in ``data/watch/<fingerprint>.jsonl``, a line each time, so that whoever doubts a verdict can
compute it again. The verdict goes to ``data/observations.json``, where the report, its pages and ``compare`` find it by
the fingerprint, beside every score that rests on this service.
"""

import base64
import tempfile
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime
from io import BytesIO
from pathlib import Path
from typing import ClassVar

import numpy as np
from PIL import Image
from pydantic import Field

from driftledger.collect.batches import make_batch
from driftledger.collect.call import Finished, version
from driftledger.collect.observations import Watched
from driftledger.components.base import Component
from driftledger.core.errors import ServiceError, StoreError
from driftledger.core.files import Record, read_jsonl, write_jsonl
from driftledger.core.types import Outcome
from driftledger.ledger.watch.probe import TIMES, VERSION, probe_calls
from driftledger.metrics.likeness import SIDE, Answer, likeness, thumbnail
from driftledger.metrics.two_sample import TwoSample, energy_test

PERMUTATIONS = 1999
SEED = 0
LEVEL = 0.01
"""Below which p says that the service answers otherwise: one time in a hundred it does of a service that does not."""
ENOUGH = 0.5
"""The share of the probe that has to be answered."""


class Watch(Record):
    """What a service answered at one time: a line of its file."""

    SCHEMA: ClassVar[int] = 2
    day: date
    """In UTC."""
    name: str
    """In the catalogue, then."""
    probe: str
    """The version of what was asked."""
    served: dict[str, int] = Field(default_factory=dict)
    """What the service said it is → how often."""
    texts: list[list[str]] = Field(default_factory=list)
    """Of a model: its answers to each question."""
    images: list[list[str]] = Field(default_factory=list)
    """Of a generator: what it drew of each prompt, as base64 of the bytes of a thumbnail."""

    @property
    def answers(self) -> list[list[Answer]]:
        """By question or prompt."""
        if self.texts:
            return [list(some) for some in self.texts]
        return [[_thumbnail_in(each) for each in some] for some in self.images]

    @property
    def count(self) -> int:
        """How many answers there are."""
        return sum(map(len, self.texts or self.images))


def _thumbnail_in(text: str) -> Answer:
    data = base64.b64decode(text, validate=True)
    if len(data) != SIDE * SIDE * 3:
        raise ValueError(f"an image of a watch has {len(data)} bytes and not {SIDE * SIDE * 3}")
    return np.frombuffer(data, dtype=np.uint8).reshape(SIDE, SIDE, 3) / 255


def ask(name: str, component: Component) -> Watch:
    """Ask a service its probe.

    Raises:
        ServiceError: fewer than :data:`ENOUGH` of its calls were answered.
    """
    with tempfile.TemporaryDirectory() as folder:
        calls = probe_calls(component, Path(folder))
        made = make_batch(calls)
    there = [each for each in made if each.result.outcome is not Outcome.FAILED]
    if len(there) < ENOUGH * len(made):
        why = next((each.result.error for each in made if each.result.error), "no reason was given")
        raise ServiceError(f"{name} answered {len(there)} of {len(made)} calls of its probe: {why}")
    served = Counter(version(each.result.served_model, each.result.system_fingerprint) for each in there)
    by_question = [[each for each in some if each.result.outcome is not Outcome.FAILED] for some in _asked_alike(made)]
    draws = any(each.png is not None for each in made)
    return Watch(
        day=datetime.now(UTC).date(),
        name=name,
        probe=VERSION,
        served={said: count for said, count in sorted(served.items()) if said},
        texts=[] if draws else [[_said(each) for each in some] for some in by_question],
        images=[[_small(each.png) for each in some if each.png is not None] for some in by_question] if draws else [],
    )


def _asked_alike(made: Sequence[Finished]) -> list[tuple[Finished, ...]]:
    return [tuple(made[start : start + TIMES]) for start in range(0, len(made), TIMES)]


def _said(made: Finished) -> str:
    """Its text; where there is none, what became of the call, which is an answer too."""
    return made.result.text or f"[{made.result.outcome}]"


def _small(png: bytes) -> str:
    with Image.open(BytesIO(png)) as image:
        return base64.b64encode(np.rint(thumbnail(image) * 255).astype(np.uint8).tobytes()).decode()


def compare_watches(before: Watch, after: Watch) -> TwoSample | None:
    """Whether what answered at both times may be one and the same; None where nothing can be set side by side."""
    if before.probe != after.probe:
        return None
    pairs = list(zip(before.answers, after.answers, strict=True))
    distances = [_distances([*first, *second]) for first, second in pairs]
    return energy_test(distances, [len(first) for first, _ in pairs], permutations=PERMUTATIONS, seed=SEED)


def _distances(answers: Sequence[Answer]) -> np.ndarray:
    matrix = np.zeros((len(answers), len(answers)))
    for at, one in enumerate(answers):
        for other in range(at):
            matrix[at, other] = matrix[other, at] = 1 - likeness(one, answers[other])
    return matrix


def kept_watches(file: Path) -> list[Watch]:
    """What was kept of a service, the first time first; nothing where it was never watched."""
    return read_jsonl(file, Watch) if file.is_file() else []


def keep(file: Path, watches: Sequence[Watch]) -> None:
    write_jsonl(file, watches)


def verdict(watches: Sequence[Watch]) -> Watched:
    """What all times together say: each time is set beside the first one of the same probe.

    Raises:
        StoreError: there are none, or an image among them cannot be read.
    """
    if not watches:
        raise StoreError("a service that was never watched has no verdict")
    probe = [watch for watch in watches if watch.probe == watches[-1].probe]
    try:
        tests = [compare_watches(probe[0], watch) for watch in probe[1:]]
    except ValueError as error:
        raise StoreError(f"a watch cannot be read: {error}") from None
    days = [watch.day for watch in probe[1:]]
    otherwise = [number for number, test in enumerate(tests) if test is not None and test.p <= LEVEL]
    as_it_did = [day for day, test in zip(days, tests, strict=True) if test is not None and test.p > LEVEL]
    last = tests[-1] if tests else None
    return Watched(
        times=len(probe),
        answers=probe[-1].count,
        first=probe[0].day,
        last=probe[-1].day,
        p=None if last is None else last.p,
        changed=days[otherwise[0]] if otherwise else None,
        unchanged=max((day for day in as_it_did if not otherwise or day <= days[otherwise[0]]), default=None),
        served=sorted({said for watch in probe for said in watch.served}),
    )

"""CPU seconds that users wait for, of this checkout and of an earlier revision, in turn.

Run: python -m lab.perf.waits [--against REVISION]  (ten minutes; twice that with a revision)

CPU seconds are of a command and all that it starts. It first waits up to five minutes for an idle
machine, since others that share it make them more; the page says if it was not idle.
"""

import argparse
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lab.kills import ITERATIONS, Project, Service
from lab.perf._report import ROOT, Row, Took, row, took, wait_until_idle, write
from lab.perf.growth import make_project
from tests.support.wheels import photograph

SLOTS = 128
"""Calls of a service at a time; each answers after a second."""


class Step(NamedTuple):
    what: str
    goal: float | None
    command: str
    folder: str = "clone"


RUN = "driftledger run"
TARGET = "regions_fine/painter/layout"
FIRST = "driftledger init --images photos && driftledger run"
ONE_LESS = "sed -i 's/iterations: 5/iterations: 4/' params.yaml && driftledger run"
# the first one is GenCeption's
OTHER = (
    "sed -i '0,/confidence: [0-9.]*/s//confidence: 0.9/' params.yaml && driftledger run"
)
ENTRY = "newcomer: { provider: regions, detail: coarse, batch_size: 8 }"
NEW = f"sed -i 's/random\\]/random, newcomer]/; s/^models:/&\\n  {ENTRY}/' params.yaml"
STEPS = (
    Step("ten photographs: `driftledger init` and `run`", 8.5, FIRST, "ten"),
    Step("`driftledger run --force` in a new clone", 50, f"{RUN} --force"),
    Step("`driftledger run`, nothing to do", 2.2, RUN),
    Step("`dvc repro`, nothing to do", None, "dvc repro"),
    Step("`driftledger verify RUN`", 4, f"driftledger verify {TARGET}"),
    Step("`driftledger bundle RUN`", None, f"driftledger bundle {TARGET} -o score.zip"),
    Step("`driftledger check` of that bundle", None, "driftledger check score.zip"),
    Step("`driftledger plan`", 1.5, "driftledger plan"),
    Step("`driftledger report`", 5, "driftledger report"),
    Step("`driftledger run` after T is one less", 13, ONE_LESS),
    Step("`driftledger run` after another confidence", 12, OTHER),
    Step("`driftledger run` after a model is added", 13, f"{NEW} && {RUN}"),
    Step("`driftledger run`: 30 free models, 100 images", 28, RUN, "many"),
    Step("`driftledger run`: 2 free models, 10,000 images", 70, RUN, "large"),
)


class Side(NamedTuple):
    """A checkout whose code is measured, and the folder of its projects."""

    root: Path
    folder: Path

    def prepare(self) -> None:
        took([sys.executable, "-m", "compileall", "-q", "src"], self.root)
        photograph(self.folder / "ten/photos", 10)
        took("git init --quiet", self.folder / "ten")
        took(["git", "clone", "--quiet", str(self.root), "clone"], self.folder)
        make_project(self.folder / "many", images=100, models=30, root=self.root)
        make_project(self.folder / "large", images=10_000, models=2, root=self.root)

    def measure(self, step: Step) -> Took:
        command = ["sh", "-c", step.command]
        return took(command, self.folder / step.folder, self.root)

    def collect(self, name: str, service: Service, photos: list[bytes]) -> Took:
        """Collect chains of services with driftledger, in a new project."""
        folder = self.folder / name
        Project(folder, self.root, service, images=len(photos), at_once=SLOTS)
        files = sorted((folder / "images").rglob("*.png"))
        for file, photo in zip(files, photos, strict=True):
            file.write_bytes(photo)
        took("driftledger stage resolve", folder, self.root)
        took("driftledger stage data", folder, self.root)
        return took("driftledger collect", folder, self.root)


def of_commands(sides: list[Side]) -> Iterator[Row]:
    for step in STEPS:
        *before, now = [side.measure(step) for side in sides]
        beside = f"{now.seconds:.3g} s by the clock, {now.memory:.0f} MiB"
        for each in before:
            beside += f"; before {each.cpu:.3g} s of CPU"
        yield row(step.what, now.cpu, "s of CPU", step.goal, beside)


def of_services(sides: list[Side], pixels: int, samples: int) -> Row:
    """Measure calls of services that answer after a second, and a bare loop that does the same."""
    folder = sides[-1].folder / f"photographs of {pixels}"
    for number in range(samples // 8):
        # of another width, since datasets compare pixels
        photograph(folder / f"{number:02}", 8, (pixels - number, pixels))
    photos = [file.read_bytes() for file in sorted(folder.rglob("*.png"))]
    service = Service(1.0, lambda digest: marked(photos[digest[0] % 8], digest))
    *before, now = [side.collect(f"chains {pixels}", service, photos) for side in sides]
    numbers = (service.address, str(ITERATIONS), f"chains {pixels}/images")
    script = (sys.executable, str(ROOT / "lab/perf/loop.py"))
    loop = took([*script, *numbers], sides[-1].folder)
    calls = samples * ITERATIONS * 2
    if service.answered.total() != calls * (len(sides) + 1):
        raise RuntimeError(f"{service.answered.total()} calls were made")

    def a_call(cost: Took) -> str:
        return f"{1000 * cost.cpu / calls:.3g} ms a call, {cost.seconds:.3g} s by the clock"

    beside = "; ".join([a_call(now), *(f"before {a_call(each)}" for each in before)])
    beside += f"; the loop {a_call(loop)}"
    what = f"{calls} calls at {SLOTS} slots, photographs of {pixels}²"
    return row(what, now.cpu / loop.cpu, "× a bare loop", 1.4, beside)


def marked(png: bytes, mark: bytes) -> bytes:
    """Return the photograph as other bytes, with a comment, which costs the server nothing."""
    chunk = b"tEXtComment\0" + mark.hex().encode()
    end = zlib.crc32(chunk).to_bytes(4) + png[-12:]
    return png[:-12] + (len(chunk) - 4).to_bytes(4) + chunk + end


def main(revision: str | None) -> None:
    load = wait_until_idle()
    # /tmp may be memory, where nothing waits for a disk
    with tempfile.TemporaryDirectory(prefix="driftledger-", dir="/var/tmp") as name:
        top = Path(name)
        sides = [Side(ROOT, top / "now")]
        if revision is not None:
            took(["git", "clone", "--quiet", "--shared", str(ROOT), "checkout"], top)
            took(["git", "checkout", "--quiet", revision], top / "checkout")
            sides.insert(0, Side(top / "checkout", top / "before"))
        for side in sides:
            side.prepare()
        rows = list(of_commands(sides))
        rows.append(of_services(sides, pixels=512, samples=128))
        rows.append(of_services(sides, pixels=1024, samples=64))
    write("waits", rows, ("dvc", "mlflow", "numpy", "openai", "pillow"), load)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--against", metavar="REVISION")
    main(parser.parse_args().against)

"""Single bytes changed anywhere in a ledger: is each found, and named as what it is?

Run as ``python -m lab.byte_changes RUN`` in the top folder of an evaluated checkout whose runs are published and
committed; every byte is changed in a copy, and put back. Exit code 1 if one passes.
"""

import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from driftledger.benchmarks.registry import lock_files
from driftledger.commands import bundle as bundling
from driftledger.commands import verify as verifying
from driftledger.ledger.findings import Finding, VerifyResult
from driftledger.ledger.lock import LockEntry, locks_here, parse_locks
from driftledger.project.project import Project
from driftledger_check.archive import ArchiveError
from driftledger_check.bundle import BundleError
from driftledger_check.cli import check

CHANGES = 30
"""Of each kind; 210 in all."""

BUNDLE = "score.zip"


def _below(folder: str, *patterns: str) -> Callable[[Path], Sequence[str]]:
    def files(root: Path) -> Sequence[str]:
        found = (path for pattern in patterns for path in (root / folder).rglob(pattern))
        return sorted(path.relative_to(root).as_posix() for path in found)

    return files


def verified(root: Path, run: str | None) -> VerifyResult:
    """Bytes, links and the ledger: what is at stake here. The numbers need not be computed each time."""
    with patch.object(verifying, "recompute", lambda *_: VerifyResult()):
        return verifying.verify(Project(root), run, regenerated=0).result


def bundled(root: Path) -> Sequence[str]:
    """A bundle of the first run, made where there is none."""
    if not (root / BUNDLE).is_file():
        project = Project(root)
        bundling.bundle(project, "/".join(project.combinations[0]), root / BUNDLE, images=True, sign=False)
    return [BUNDLE]


def checked(root: Path, run: str | None) -> VerifyResult:
    """What a stranger's checker finds in the bundle."""
    try:
        lines = [line for some in check(root / BUNDLE).groups.values() for line in some if line.status == "differs"]
    except (ArchiveError, BundleError) as error:
        return VerifyResult([Finding("bytes", BUNDLE, str(error))])
    return VerifyResult([Finding("bytes", f"{BUNDLE}: {line.where}", line.what) for line in lines])


class Kind(NamedTuple):
    """Files of one kind, and what has to find a change in them."""

    files: Callable[[Path], Sequence[str]]
    """Relative to the top folder."""
    check: Callable[[Path, str | None], VerifyResult] = verified


KINDS = {
    "images": Kind(_below("data", "*.png")),
    "records": Kind(_below("data", "*.jsonl")),
    "components": Kind(_below("data", "components.json", "dataset.json", "question_set.json")),
    "scores": Kind(_below("reports/scores", "*.json", "*.jsonl")),
    "lock": Kind(lambda root: lock_files()),
    "ledger": Kind(lambda root: ["ledger.jsonl"]),
    "bundle": Kind(bundled, checked),
}


class Change(NamedTuple):
    """A byte that is another."""

    path: str
    offset: int
    more: int
    """What is added to the byte."""


class Told(NamedTuple):
    """What came of the changes of one kind."""

    found: int
    meaningless: int
    """Changes of a lock after which it means what it meant, and that are no finding."""
    unseen: list[Change]
    misnamed: list[tuple[Change, str]]
    """Found, and another file was named."""
    unfounded: list[tuple[Change, str]]
    """Changes without meaning that were a finding."""

    @property
    def good(self) -> bool:
        return not (self.unseen or self.misnamed or self.unfounded)


def changes(root: Path, files: Sequence[str], seed: str) -> Iterator[Change]:
    """The same in every run."""
    dice = random.Random(seed)
    for _ in range(CHANGES):
        path = dice.choice(files)
        yield Change(path, dice.randrange((root / path).stat().st_size), dice.randrange(1, 256))


def meaning(root: Path, run: str | None) -> dict[str, LockEntry] | None:
    """What the locks say of the stages behind a run, or behind all; None where a lock is damaged."""
    locks, project = parse_locks(locks_here(root)), Project(root)
    chosen = [each for each in project.combinations if run in (None, "/".join(each))]
    scores = [score for each in chosen for score in project.selected.of(each).scores]
    stages = {stage.named(keys) for spec, keys in scores for stage in spec.stages}
    return None if locks.damage else {stage: entry for stage, entry in locks.entries.items() if stage in stages}


def try_changes(
    root: Path, kind: str, run: str | None = None, by: Callable[[Path, str | None], VerifyResult] | None = None
) -> Told:
    """Change one byte at a time, look what is found, and put it back.

    Args:
        by: what looks; None for the kind's own check.
    """
    unseen, misnamed, unfounded = list[Change](), list[tuple[Change, str]](), list[tuple[Change, str]]()
    found = meaningless = 0
    meant = meaning(root, run)
    for change in changes(root, KINDS[kind].files(root), f"single bytes of {kind}"):
        file = root / change.path
        before = file.read_bytes()
        file.unlink()  # it may be a link into DVC's cache
        byte = bytes([(before[change.offset] + change.more) % 256])
        file.write_bytes(before[: change.offset] + byte + before[change.offset + 1 :])
        same = kind == "lock" and meaning(root, run) == meant
        result = (by or KINDS[kind].check)(root, run)
        file.write_bytes(before)
        said = "; ".join(f"{each.where}: {each.what}" for each in result.findings[:2])
        if same:
            meaningless += 1
            unfounded += [(change, said)] * (not result.holds)
        elif result.holds:
            unseen.append(change)
        else:
            found += 1
            misnamed += [(change, said)] * (not any(each.where.startswith(change.path) for each in result.findings))
    return Told(found, meaningless, unseen, misnamed, unfounded)


def main() -> int:
    """Print a line per kind; exit code 1 if a change passed, or was named as what it is not."""
    run = sys.argv[1] if len(sys.argv) > 1 else None
    good = True
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "checkout"
        shutil.copytree(Path.cwd(), copy, symlinks=True, ignore=shutil.ignore_patterns(".venv", "mlartifacts"))
        for kind in KINDS:
            told = try_changes(copy, kind, run)
            good &= told.good
            print(f"{kind}: {told.found} found and named, {told.meaningless} without meaning", flush=True)
            for change in (*told.unseen, *told.misnamed, *told.unfounded):
                print(f"  {change}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

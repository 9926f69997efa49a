"""A bundle as the checks of a checkout read one: its evidence, and the bytes of its outputs in a temporary folder."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from driftledger.benchmarks.records import RECORDS
from driftledger.benchmarks.registry import runner
from driftledger.benchmarks.runner import RecordedCall
from driftledger.collect.batches import make_batch
from driftledger.core.canonical import canonical_json, sha256_bytes
from driftledger.core.errors import LedgerError
from driftledger.core.escaping import for_line
from driftledger.core.files import write_bytes
from driftledger.core.shortening import shortened
from driftledger.core.strict import explain
from driftledger.ledger.lineage import Evidence, Lineage
from driftledger.ledger.lock import LockedFile
from driftledger.ledger.objects.contents import Contents, recorded
from driftledger.ledger.verify.unfit import UNFIT
from driftledger_check import strict_json
from driftledger_check.bundle import FILES, Bundle
from driftledger_check.lines import Line
from driftledger_check.links import check_files, check_fingerprints, check_links, guarded


def read_bundle(bundle: Bundle) -> Evidence:
    """The evidence of a bundle that is at one with itself and has its images.

    Raises:
        LedgerError: it is not, or leaves them out.
    """
    if bundle.left_out:
        raise LedgerError(f"the bundle leaves {len(bundle.left_out):,} images out; ask for one with them")
    checks: Sequence[Callable[..., object]] = (check_files, check_links, check_fingerprints)
    lines: list[Line] = [line for each in checks for line in guarded("bundle", each, bundle)]  # type: ignore[arg-type]
    if wrong := [line for line in lines if line.status == "differs"]:
        said = for_line(f"{wrong[0].where}: {wrong[0].what}")
        raise LedgerError(
            f"the bundle is not at one with itself: {shortened(said)}; 'driftledger check' says all of it"
        )
    try:
        return Evidence.model_validate(bundle.evidence | {"code": {"commit": None, "dirty": False, "untracked": []}})
    except ValidationError as error:
        raise LedgerError(explain(error, "the bundle's evidence")) from None


_NUMBERS = re.compile(r"\b(t|variant)[= ](\d+)")
"""What tells records of one unit apart, in the words of a recorded call."""


class Unpacked(Contents):
    """The outputs in a bundle, of which some may be replaced by what was made again."""

    def __init__(self, bundle: Bundle, top: Path) -> None:
        super().__init__(top)
        self._bundle, self._top = bundle, top
        self.replaced: dict[str, bytes] = {}
        """Path in the project → other bytes."""

    def fetch(self, locked: Sequence[LockedFile]) -> list[LockedFile]:
        return []

    def in_place(self, locked: LockedFile) -> Path | None:
        return None

    def materialise(self, locked: LockedFile, target: Path) -> None:
        for name in self._bundle.folder(locked.path).names:
            write_bytes(target / name, self.read(f"{locked.path}/{name}"))

    def path(self, md5: str, near: str | None = None) -> Path | None:
        if near is None or near not in self._bundle.files:
            return None
        write_bytes(self._top / near, self.read(near))
        return self._top / near

    def read(self, path: str) -> bytes:
        """A file of the project; KeyError where the bundle has none there."""
        found = self.replaced.get(path)
        return self._bundle.archive.read(FILES + path) if found is None else found

    def replace(self, call: RecordedCall) -> bool:
        """Put what a call gives here in the place of what is stored; whether that can be done."""
        try:
            [made] = make_batch([call.call()])
        except UNFIT:
            return False
        path, _, place = call.where.partition(": ")
        if made.png is not None and path in self._bundle.files:
            self._replace_image(path, made.png)
            return True
        rows = [*strict_json.lines(self.read(path))] if path in self._bundle.files else []
        unit, field = place.partition(",")[0].partition(":")[0], place.rpartition(": ")[2]
        told = {key: int(number) for key, number in _NUMBERS.findall(place)} | {field: call.gave}
        own = [row for row in rows if unit in (row.get("sample"), row.get("question"))]
        of_it = [row for row in own if all(row.get(key) == value for key, value in told.items())]
        if made.result.text is None or len(of_it) != 1:
            return False
        of_it[0][field] = made.result.text
        self.replaced[path] = _jsonl(rows)
        return True

    def _replace_image(self, path: str, png: bytes) -> None:
        """With its hash in the record beside it."""
        self.replaced[path] = png
        records = next(each for each in map(_records_in, PurePosixPath(path).parents) if each in self._bundle.files)
        rows = strict_json.lines(self.read(records))
        name = path.removeprefix(records.removesuffix(RECORDS))
        changed = [row | {"image_sha256": sha256_bytes(png)} if row.get("image") == name else row for row in rows]
        self.replaced[records] = _jsonl(changed)

    def reread(self, lineage: Lineage) -> None:
        """Read what was answered once more, since answers may have been replaced."""
        outputs = {lineage.spec.data.name: lineage.data, **lineage.collected}
        for stage in lineage.spec.collects:
            with recorded(self, outputs.values()) as folders:
                again = runner(lineage.spec.name).reread(stage.name, lambda name: folders(outputs[name]))
            if again is not None and not again.unlike:
                path = f"{lineage.collected[stage.name].path}/{RECORDS}"
                self.replaced[path] = _jsonl([record.to_dict() for record in again.records])


def _records_in(folder: PurePosixPath) -> str:
    return str(folder / RECORDS)


def _jsonl(rows: Sequence[object]) -> bytes:
    return "".join(canonical_json(row) + "\n" for row in rows).encode()

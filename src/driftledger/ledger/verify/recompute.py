"""Every score, computed once more from its records: are these the numbers that the records give?"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from driftledger.benchmarks._questions.records import QuestionScore
from driftledger.benchmarks.description_records import FidelityScore, TracScore
from driftledger.benchmarks.fidelity.ratings import Rating, read_ratings
from driftledger.components.base import Encoder
from driftledger.components.checkpoints.component import CheckpointComponent
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import ConfigError, DriftledgerError, LedgerError, OutOfMemoryError
from driftledger.core.escaping import for_line
from driftledger.core.files import Record, read_jsonl
from driftledger.ledger.findings import Finding, Report, Unchecked
from driftledger.ledger.lineage import AnyScore, Behind, Evidence
from driftledger.ledger.lock import LockedFile, LockEntry
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.verify.components import Components, NotAtHand
from driftledger.ledger.verify.grades_again import reread
from driftledger.ledger.verify.other_code import other_code
from driftledger.ledger.verify.recorded_folders import Folders, recorded
from driftledger.ledger.verify.scoring import (
    Made,
    ReadingStandIn,
    StandIn,
    encoder_of,
    needs_encoder,
    needs_ratings,
    row_name,
    rows_of,
    score_again,
)
from driftledger.ledger.verify.values import Compared, Place, compare, compare_rows
from driftledger.project.project import Project

_TROUBLE = (DriftledgerError, ValueError, LookupError, OSError)
"""What scoring raises over files that were not written by this code, or not as they are now."""


def recompute(project: Project, evidence: Evidence, contents: Contents, components: Components | None = None) -> Report:
    """Compute every score of a run from its records and compare all that is stored: numbers, counts, rows, grades.

    Nothing is called but encoders, and nothing in the workspace is touched. What is not at hand is ``unchecked``; what
    hangs on no encoder is compared without it.
    """
    return recompute_scores(project, evidence.behind, contents, components)


def recompute_scores(
    project: Project, behind: Iterable[Behind[AnyScore]], contents: Contents, components: Components | None = None
) -> Report:
    """The same for these scores, each once: TRAC's and the question benchmarks' are behind several runs."""
    distinct = list({(each.score_file.path, each.score_file.md5): each for each in behind}.values())
    components = components or Components.of(project)
    report = Report()
    with recorded(contents, _inputs(distinct)) as folders:
        for each in distinct:
            report += _Check(project, each, contents, folders, components).report()
    return report


def _inputs(behind: Iterable[Behind[AnyScore]]) -> Iterator[LockedFile]:
    for each in behind:
        yield from (each.data, *each.collected.values())


class _With(NamedTuple):
    """What stands beside the records."""

    encoder: Encoder | None
    ratings: Sequence[Rating]
    exact: bool
    left_out: list[Callable[[Place], bool]]


class _Check:
    """The check of one score file."""

    def __init__(
        self,
        project: Project,
        behind: Behind[AnyScore],
        contents: Contents,
        folders: Folders,
        components: Components,
    ) -> None:
        self._project, self._behind, self._contents = project, behind, contents
        self._folders, self._components = folders, components
        self._path = behind.score_file.path
        self._found = Report()

    def report(self) -> Report:
        if isinstance(self._behind.score, QuestionScore):
            self._try(self._reread, "grades")
        self._try(self._recompute, "score")
        return self._found

    def _try(self, step: Callable[[], None], what: str) -> None:
        try:
            step()
        except (LedgerError, ConfigError, OutOfMemoryError) as error:  # not there, or not to be loaded here
            self._leave(for_line(str(error)))
        except _TROUBLE as error:
            kind = "" if isinstance(error, DriftledgerError) else f"{type(error).__name__}: "
            self._find(self._path, f"no {what} can be had from its records: {kind}{for_line(str(error)):.300}")

    def _reread(self) -> None:
        self._found += reread(self._behind, self._folders)

    def _recompute(self) -> None:
        beside = self._beside()
        made = score_again(self._behind, self._folders, beside.encoder, beside.ratings)

        def leave_out(place: Place) -> bool:
            return any(part(place) for part in beside.left_out)

        compared = compare(self._behind.score, made.score, exact=beside.exact, leave_out=leave_out)
        self._add(self._path, compared)
        self._compare_rows(made, beside.exact, leave_out)
        self._found.checked["scores"] += 1

    def _beside(self) -> _With:
        """The encoder and the ratings of the record, or what takes their place where they are not at hand."""
        left_out: list[Callable[[Place], bool]] = []
        encoder: Encoder | None = None
        card = encoder_of(self._behind.score)
        if card is not None:
            found = self._components.encoder(card)
            if isinstance(found, NotAtHand):
                self._leave(f"{found.why}; only what hangs on no encoder is compared")
                left_out.append(needs_encoder)
                found = ReadingStandIn() if isinstance(self._behind.score, TracScore) else StandIn()
            encoder = found
        ratings = self._ratings()
        if ratings is None:
            left_out.append(needs_ratings)
        return _With(encoder, ratings or (), not isinstance(encoder, CheckpointComponent), left_out)

    def _ratings(self) -> list[Rating] | None:
        """None where people's ratings went into the score and their sheet is not here any more."""
        score = self._behind.score
        if not isinstance(score, FidelityScore) or not (score.inputs.ratings.get("used") or self._rated != "none"):
            return []
        try:
            sheet = self._project.settings.fidelity.ratings
            file = None if sheet is None else self._project.root / sheet
            if file is not None and file.is_file() and sha256_file(file) == self._rated:
                return read_ratings(file)
            why = "is not the one that was recorded" if file is not None and file.is_file() else "is not here"
        except ConfigError as error:
            why = f"cannot be found: {for_line(str(error))}"
        self._leave(f"the sheet of human ratings {why}; what hangs on no rating is compared")
        return None

    @property
    def _rated(self) -> str:
        """The SHA-256 of the sheet of ratings, as ``resolve`` noted it; ``none`` where there was none."""
        noted = {
            key: value for entry in self._entry for key, value in entry.params.get("data/resolved.json", {}).items()
        }
        return str(noted.get("ratings", "none"))

    def _compare_rows(self, made: Made, exact: bool, leave_out: Callable[[Place], bool]) -> None:
        outs = [out for entry in self._entry for out in entry.outs if out.path != self._path]
        for out in outs:
            file = self._contents.path(out.md5, out.path)
            if file is None:
                self._found.unchecked.append(Unchecked(out.path, "it is neither here nor in Git's history"))
                continue
            stored: Sequence[Record] = read_jsonl(file, rows_of(self._behind.score))
            self._add(out.path, compare_rows(stored, made.rows, row_name, exact=exact, leave_out=leave_out))

    @property
    def _entry(self) -> list[LockEntry]:
        """The entry of the stage that wrote the score."""
        return [entry for entry in self._behind.stages.values() if any(out.path == self._path for out in entry.outs)]

    def _add(self, path: str, compared: Compared) -> None:
        self._found.checked["numbers"] += compared.numbers
        for each in compared.differences:
            self._find(f"{path}: {each.where}", each.what)

    def _find(self, where: str, what: str) -> None:
        code = f" (with other code than recorded: {', '.join(self._other_code)})" if self._other_code else ""
        self._found.findings.append(Finding("numbers", where, what + code))

    @cached_property
    def _other_code(self) -> list[str]:
        return other_code(self._entry)

    def _leave(self, why: str) -> None:
        if (unchecked := Unchecked(self._path, why)) not in self._found.unchecked:
            self._found.unchecked.append(unchecked)

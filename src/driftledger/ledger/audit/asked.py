"""A question about scores, made ready: what an image or a revision in it stands for is looked up once."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches

from driftledger.core.errors import LedgerError, first_few
from driftledger.core.escaping import for_line
from driftledger.ledger.audit.logged import LoggedRun
from driftledger.ledger.audit.query import AuditQuery, Wanted, as_date, fits
from driftledger.ledger.audit.sources import Sources
from driftledger.ledger.audit.summary import ScoreSummary
from driftledger.ledger.audit.targets import find_image
from driftledger.ledger.objects.git import Git


class ScoreFilter:
    """Says of each score whether it is asked for.

    Raises:
        LedgerError: the image is in no folder of the ledger, or there is no such revision or date.
    """

    def __init__(self, sources: Sources, query: AuditQuery) -> None:
        self.said: list[str] = []
        """What a reader of the answer must know."""
        self._query = query
        self._known: dict[Wanted, set[str]] = {wanted: set() for wanted in query.wanted}
        """The versions that there are in each wanted role."""
        self._made: set[Wanted] = set()
        """Those with which some score was made, whatever else is asked."""
        self._folders = None if query.image is None else self._having_image(sources)
        self._needs_folders = self._folders is not None or any(
            wanted.role == "dataset" and wanted.version for wanted in query.wanted
        )
        self._date, self._before = self._since(sources)

    def is_for(self, facts: ScoreSummary, folders: Callable[[], Mapping[str, str]]) -> bool:
        """Whether a score is asked for, leaving aside when it came to be; ``folders`` behind it are worked out late."""
        behind = folders() if self._needs_folders else {}
        made = {wanted for wanted in self._query.wanted if fits(wanted, facts, behind)}
        self._made |= made
        for wanted in self._query.wanted:
            self._note(wanted, facts)
        has_image = self._folders is None or not self._folders.isdisjoint(behind.items())
        return has_image and len(made) == len(self._query.wanted)

    def may_be_in(self, run: LoggedRun) -> bool:
        """Whether a run's evidence has to be read: a run has one generator, whose name MLflow lists."""
        names = {each.name for each in self._query.wanted if each.role == "generator" and each.name}
        return not names or names == {run.generator}

    def came_since(self, commit: str | None, date: str | None) -> bool:
        """Whether a score that came to be in this commit, or at this time, is new enough; one without both is."""
        if commit is not None and self._before is not None:
            return commit not in self._before
        return self._date is None or date is None or date >= self._date

    def nothing(self) -> str:
        """Why no score is found: what there is in the role that was asked for."""
        for wanted, known in self._known.items():
            if wanted in self._made:
                continue
            named = [each for each in known if each.partition("@")[0] == wanted.name]
            there = for_line(first_few(get_close_matches(str(wanted.name), named or known, n=5, cutoff=0.0)))
            return f"no score was made with {for_line(str(wanted))}; there are: {there or 'none'}"
        return "no score that is known here or in MLflow is all that is asked"

    def _note(self, wanted: Wanted, facts: ScoreSummary) -> None:
        if wanted.role == "dataset":
            self._known[wanted].add(f"{facts.on}@{facts.digest[:16]}")
        for version in facts.versions:
            if version.role == wanted.role:
                self._known[wanted].add(f"{version.name}@{version.fingerprint[:16]}")

    def _having_image(self, sources: Sources) -> set[tuple[str, str]]:
        target = find_image(sources, self._query.image or "", everywhere=True)
        if unknown := target.places.unknown:
            self.said.append(f"{len(unknown)} folders could not be looked into for the image, {unknown[0]}")
        if not target.places.found:
            also = f"; {self.said[-1]}" if self.said else ""
            raise LedgerError(f"no folder of the ledger has the image {target.image}{also}")
        return {(place.use.folder, place.use.folder_md5) for place in target.places.found}

    def _since(self, sources: Sources) -> tuple[str | None, set[str] | None]:
        """A date, and the commits that are older, where a revision was named."""
        text = self._query.since
        if text is None:
            return None, None
        git = Git.around(sources.root)
        commit = git.commit(text) if git is not None and as_date(text) is None else None
        date = as_date(text) if commit is None else commit.date
        if date is None:
            raise LedgerError(
                f"{for_line(text)!r:.100} is neither a date, as in 2026-03-01, nor a revision of this repository"
            )
        return date, git.before(commit.id) if git is not None and commit is not None else None

"""Which scores are asked for: by component version, by dataset version, by an image, by when they came to be."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from driftledger.core.errors import ConfigError, LedgerError, first_few
from driftledger.core.escaping import for_line
from driftledger.ledger.audit.sources import LoggedRun, Sources
from driftledger.ledger.audit.summary import ScoreSummary
from driftledger.ledger.audit.targets import find_image
from driftledger.ledger.objects.git import Git

_SHORTEST = 4
"""Characters of a version's start that may stand for it; fewer must be the whole."""


class Candidate(NamedTuple):
    """A component or dataset behind a score, with all that its version may be called."""

    role: str
    name: str
    versions: list[str]
    """Its fingerprint or digest first."""


class Wanted(NamedTuple):
    """``NAME``, ``NAME@VERSION`` or ``@VERSION``, in one role."""

    role: str
    """``model``, ``generator``, ``encoder``, ``judge`` or ``dataset``."""
    name: str | None
    version: str | None

    def __str__(self) -> str:
        return f"{self.role} {self.name or ''}{'@' + self.version if self.version else ''}"

    def means(self, candidate: Candidate) -> bool:
        """Whether this is it, or begins with what is wanted."""
        if candidate.role != self.role or self.name not in (None, candidate.name):
            return False
        wanted, versions = self.version, [each.lower() for each in candidate.versions]
        return (
            wanted is None
            or wanted in versions
            or (len(wanted) >= _SHORTEST and any(each.startswith(wanted) for each in versions))
        )


class AuditQuery(NamedTuple):
    """Everything asked must hold of a score."""

    wanted: tuple[Wanted, ...] = ()
    image: Path | str | None = None
    """A file, or the SHA-256 or MD5 of one."""
    since: str | None = None
    """A date or a Git revision: only scores that came to be after it."""


def parse_query(
    *,
    model: str | None = None,
    generator: str | None = None,
    encoder: str | None = None,
    judge: str | None = None,
    dataset: str | None = None,
    image: Path | str | None = None,
    since: str | None = None,
) -> AuditQuery:
    """A question as it is asked on the command line.

    Args:
        dataset: the name of a dataset or question set, with the start of its digest or of the folder's MD5 after ``@``.

    Raises:
        ConfigError: nothing is asked, or a version without anything in it.
    """
    asked = {"model": model, "generator": generator, "encoder": encoder, "judge": judge, "dataset": dataset}
    wanted = tuple(_wanted(role, text) for role, text in asked.items() if text is not None)
    if not wanted and image is None and since is None:
        raise ConfigError("nothing is asked; name a run, or give --generator, --model, --dataset, --image or --since")
    return AuditQuery(wanted, image, since)


def _wanted(role: str, text: str) -> Wanted:
    name, _, version = text.strip().partition("@")
    if not name and not version:
        raise ConfigError(f"--{role} names nothing; give NAME, NAME@VERSION or @VERSION")
    return Wanted(role, name or None, version.lower() or None)


def behind(facts: ScoreSummary, folders: Mapping[str, str]) -> Iterator[Candidate]:
    """The data and component versions behind a score: by fingerprint, by what weights resolve to, by what a service
    said it was.

    Args:
        folders: path → MD5 of the folders behind the score, the dataset's among them.
    """
    md5s = [md5 for path, md5 in folders.items() if path.endswith(f"/{facts.on}")]
    yield Candidate("dataset", facts.on, [facts.digest, *md5s])
    for each in facts.versions:
        resolved = [*_strings(each.identity), *_strings(each.settings.get("revision"))]
        yield Candidate(each.role, each.name, [each.fingerprint, *resolved, *facts.served.get(each.part, [])])


def _strings(value: Any) -> Iterator[str]:
    """Every text in an identity: commits, repositories, the SHA-256 of weights."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _strings(each)


class ScoreFilter:
    """Says of each score whether it is asked for; what an image or a revision stands for is looked up once.

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
        self._folders = None if query.image is None else self._having_image(sources, query.image)
        self._date, self._before = (None, None) if query.since is None else _since(sources, query.since)

    def is_for(self, facts: ScoreSummary, folders: Mapping[str, str]) -> bool:
        """Whether a score with these ``folders`` behind it is asked for, leaving aside when it came to be."""
        known, made = list(behind(facts, folders)), set[Wanted]()
        for wanted, names in self._known.items():
            names |= {f"{each.name}@{each.versions[0][:16]}" for each in known if each.role == wanted.role}
            if any(map(wanted.means, known)):
                made.add(wanted)
        self._made |= made
        has_image = self._folders is None or not self._folders.isdisjoint(folders.items())
        return has_image and len(made) == len(self._known)

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

    def _having_image(self, sources: Sources, image: Path | str) -> set[tuple[str, str]]:
        target = find_image(sources, image, everywhere=True)
        if unknown := target.places.unknown:
            self.said.append(f"{len(unknown)} folders could not be looked into for the image, {unknown[0]}")
        if not target.places.found:
            also = f"; {self.said[-1]}" if self.said else ""
            raise LedgerError(f"no folder of the ledger has the image {target.image}{also}")
        return {(place.folder, place.folder_md5) for place in target.places.found}


def _since(sources: Sources, text: str) -> tuple[str | None, set[str] | None]:
    """A date, and the commits that are older, where a revision was named."""
    if date := as_date(text):
        return date, None
    git = Git.around(sources.root)
    commit = None if git is None else git.commit(text)
    if git is None or commit is None:
        raise LedgerError(
            f"{for_line(text)!r:.100} is neither a date, as in 2026-03-01, nor a revision of this repository"
        )
    return commit.date, git.before(commit.id)


def as_date(text: str) -> str | None:
    """A date, or a date and time, as ISO 8601 in UTC; None if it is neither. Without a zone it is taken for UTC.

    >>> as_date("2026-03-01"), as_date("2026-03-01T12:00:00+02:00"), as_date("v1.2")
    ('2026-03-01T00:00:00Z', '2026-03-01T10:00:00Z', None)
    """
    if not re.match(r"\d{4}-\d{2}-\d{2}", text):
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    zoned = found if found.tzinfo else found.replace(tzinfo=UTC)
    return zoned.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")

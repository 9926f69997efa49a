"""Which scores are asked for: by component version, by dataset version, by an image, by when they came to be."""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from driftledger.core.errors import ConfigError
from driftledger.ledger.audit.summary import ScoreSummary, Version

_SHORTEST = 4
"""Characters of a version's start that may stand for it; fewer must be the whole."""


class Wanted(NamedTuple):
    """``NAME``, ``NAME@VERSION`` or ``@VERSION``, in one role."""

    role: str
    """``model``, ``generator``, ``encoder``, ``judge`` or ``dataset``."""
    name: str | None
    version: str | None

    def __str__(self) -> str:
        return f"{self.role} {self.name or ''}{'@' + self.version if self.version else ''}"


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


def fits(wanted: Wanted, facts: ScoreSummary, folders: Mapping[str, str]) -> bool:
    """Whether a score was made with what is wanted.

    Args:
        folders: path → MD5 of the folders behind the score, the dataset's among them.
    """
    if wanted.role == "dataset":
        data = [md5 for path, md5 in folders.items() if path.endswith(f"/{facts.on}")]
        return wanted.name in (None, facts.on) and _is_version(wanted.version, [facts.digest, *data])
    return any(is_wanted(wanted, version, facts) for version in facts.versions)


def is_wanted(wanted: Wanted, version: Version, facts: ScoreSummary) -> bool:
    """Whether a component version is the wanted one: by its fingerprint, or by what its weights resolve to."""
    if wanted.name not in (None, version.name) or wanted.role != version.role:
        return False
    resolved = [*_strings(version.identity), *_strings(version.settings.get("revision"))]
    return _is_version(wanted.version, [version.fingerprint, *resolved, *facts.served.get(version.part, [])])


def _is_version(wanted: str | None, known: list[str]) -> bool:
    """Whether one of the names of a version is, or begins with, what is wanted."""
    if wanted is None:
        return True
    return any(
        each.lower() == wanted or (len(wanted) >= _SHORTEST and each.lower().startswith(wanted)) for each in known
    )


def _strings(value: Any) -> Iterator[str]:
    """Every text in an identity: commits, repositories, the SHA-256 of weights."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)


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

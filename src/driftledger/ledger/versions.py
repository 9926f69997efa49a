"""Find the scores that a version of a component or of data is behind."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from driftledger.benchmarks.base.stage import SCORES
from driftledger.benchmarks.registry import benchmark, find_score
from driftledger.core.canonical import Json, canonical_json, md5_bytes
from driftledger.core.errors import ConfigError, DriftledgerError, LedgerError
from driftledger.core.files import parse_json
from driftledger.ledger.objects.git import Commit
from driftledger.ledger.sources import Sources, nearest
from driftledger.scoring.roles import ROLES
from driftledger.scoring.score import SCORE, Score


class Part(NamedTuple):
    """A component or dataset that scores were made with."""

    kind: str
    """``model``, ``generator``, ``encoder``, ``judge`` or ``dataset``."""
    name: str
    """Its name; empty for any."""
    version: str
    """The start of a name of its version; empty for any."""

    def is_in(self, score: Score) -> bool:
        """Return True if a score was made with it."""
        for name, versions in _made_with(score, self.kind):
            is_named = self.name in ("", name)
            if is_named and f'"{self.version}' in versions:
                return True
        return False


def scores_made_with(sources: Sources, parts: Mapping[str, str | None]) -> list[Json]:
    """List the scores that were made with all these parts, the oldest first.

    They are ready for JSON.

    Args:
        parts: ``model``, ``generator``, ``encoder``, ``judge`` or ``dataset`` → ``NAME``,
            ``NAME@VERSION`` or ``@VERSION``: the start of a fingerprint or digest, of a commit of
            weights, or of what a service says it is.

    Raises:
        ConfigError: no part is named.
        LedgerError: no score was made with it.
    """
    wanted = []
    for kind, text in parts.items():
        if text is not None:
            name, _, version = text.strip().partition("@")
            wanted.append(Part(kind, name, version))
    if not wanted or not all(part.name or part.version for part in wanted):
        raise ConfigError(
            "nothing is asked; name a run, or give --generator, --model or --dataset NAME[@VERSION]"
        )
    rows = {}
    for score, row in _history(sources, wanted):
        rows[row["path"], row["md5"]] = (score, row)
    for run in sources.current:
        for lineage in run.lineages:
            manifest = sources.contents.manifest(lineage.folder)
            path = lineage.score_path
            md5 = manifest[SCORE]
            if (path, md5) not in rows:
                row = _row(path, md5, lineage.score)
                rows[path, md5] = (lineage.score, row)
            _, row = rows[path, md5]
            row["current"] = True
            row["runs"].append(run.fingerprint)
            if "here" not in row["known_from"]:
                row["known_from"].append("here")
    matches = []
    for score, row in rows.values():
        if all(part.is_in(score) for part in wanted):
            matches.append(row)
    if not matches:
        raise LedgerError(_no_match(sources, wanted[0]))
    return sorted(
        matches, key=lambda row: (row["first_date"] or "9", row["path"], row["md5"])
    )


def _no_match(sources: Sources, part: Part) -> str:
    names = set()
    for _, lineage in sources.lineages:
        for known, versions in _made_with(lineage.score, part.kind):
            version, *_ = json.loads(versions)
            names.add(f"{known}@{version[:16]}")
    text = f"{part.kind} {part.name}"
    if part.version:
        text += f"@{part.version}"
    known_names = nearest(part.name, sorted(names))
    return (
        f"no score was made with {text}; there are: {known_names}{sources.incomplete}"
    )


def _history(sources: Sources, parts: Sequence[Part]) -> Iterator[tuple[Score, Json]]:
    """Yield every score file in Git's history that names all parts, with its row."""
    git = sources.git
    if git is None:
        return
    spans: dict[tuple[str, str], tuple[Commit, Commit]] = {}
    for commit in git.commits():
        tree = git.id_at(commit.id, SCORES)
        for path, blob in git.files(tree).items():
            if path.endswith(f"/{SCORE}"):
                first, _ = spans.get((path, blob), (commit, commit))
                spans[path, blob] = (first, commit)
    for (name, blob), span in spans.items():
        path = f"{SCORES}/{name}"
        data = git.read(blob) or b""
        text = data.decode(errors="replace")
        is_named = all(part.name in text and part.version in text for part in parts)
        if is_named and find_score(path):
            with suppress(
                DriftledgerError, ValueError
            ):  # a file of another version, or not ours
                score = parse_json(data, Score, path)
                yield score, _row(path, md5_bytes(data), score, *span)


def _row(path: str, md5: str, score: Score, *commits: Commit) -> Json:
    """Return the row of a score file, without the runs that show it.

    Args:
        commits: the first and the last commit that have it, if any.
    """
    headline = benchmark(score.benchmark).metrics.headline(score)
    shaping = {"name", "fingerprint", "settings", "identity"}
    versions = []
    for role, card in score.components.items():
        content = card.model_dump(mode="json", include=shaping)
        versions.append({"role": ROLES.get(role, role), "part": role, **content})
    first, last = commits or (None, None)
    return {
        "path": path,
        "md5": md5,
        "benchmark": score.benchmark,
        "keys": score.keys,
        "on": score.on,
        "headline": headline.name,
        "metric": headline.metric,
        "t": headline.t,
        "value": headline.value,
        "digest": score.inputs.data_digest,
        "versions": versions,
        "served": {role: sorted(served) for role, served in score.served.items()},
        "runs": [],
        "known_from": ["git"] if commits else [],
        "first_commit": first and first.id,
        "first_date": first and first.date,
        "last_commit": last and last.id,
        "last_date": last and last.date,
        "current": False,
    }


def _made_with(score: Score, kind: str) -> list[tuple[str, str]]:
    """Return name → the names of its version as JSON, for each part of a kind."""
    if kind == "dataset":
        return [(score.on, canonical_json([score.inputs.data_digest]))]
    parts = []
    for role, card in score.components.items():
        if ROLES.get(role) == kind:
            served = [*score.served.get(role, ())]
            versions = [card.fingerprint, card.identity, card.settings, served]
            parts.append((card.name, canonical_json(versions)))
    return parts

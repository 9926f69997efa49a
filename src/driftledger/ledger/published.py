"""``ledger/<sha256>.json``: one immutable file per published run, named by its content.

MLflow can be thrown away, and ``dvc.lock`` has the newest runs only. These files are what stays of
every published run. Git is their chain: a file is added and never changed, so that two branches
merge without a conflict, and a file that a commit had and that is gone is found in Git's history.
Who must also show who published, and when, signs a Git tag.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from driftledger.core.canonical import sha256_file, sha256_of
from driftledger.core.errors import LedgerError, StoreError
from driftledger.core.files import Record, parse_json, write_json
from driftledger.core.paths import STATE
from driftledger.ledger.findings import Finding, VerifyResult
from driftledger.ledger.lineage import (
    PUBLISHED,
    Evidence,
    Published,
    PublishedScore,
    published_files,
)
from driftledger.ledger.objects.files import Workspace
from driftledger.ledger.objects.git import Git, why_unread

MLFLOW_RUNS = f"{STATE}/mlflow_runs.json"
"""Relative to a project's top folder."""
_NAME = re.compile(r"[0-9a-f]{64}\.json")


def publish(root: Path, evidence: Evidence) -> Path | None:
    """Write the file of a run; write nothing and return None where a file has its fingerprint
    already."""
    if any(each.fingerprint == evidence.fingerprint for each in read_published(root)):
        return None
    published = _published(root, evidence)
    write_json(root / published.file, published)
    return root / published.file


def read_published(root: Path) -> list[Published]:
    """Every published run, in the order of the files' names.

    Raises:
        LedgerError: a file is not as it was written.
    """
    runs = []
    for name, published in published_files(root).items():
        if isinstance(published, str):
            raise LedgerError(f"{name} {published}; run 'git checkout {name}'")
        runs.append(published)
    return runs


def check_published(root: Path, evidence: Sequence[Evidence] = ()) -> VerifyResult:
    """Check that every published file has the content of its name, and that none that Git's history
    has is gone.

    Args:
        evidence: runs that must be published, with the files that they have now.

    Raises:
        LedgerError: Git's history is damaged.
    """
    result = VerifyResult()
    files = published_files(root)
    git = Git.around(root)
    result.checked.update({"published runs": len(files), "runs": len(evidence)})
    for name, run in files.items():
        if isinstance(run, str):
            result.find(name, f"it {run}; 'git checkout {name}' restores it")
    runs = {name: run for name, run in files.items() if isinstance(run, Published)}
    for here in evidence:
        result.findings += _differences(root, here, runs)
    if git is None:
        result.skip(
            PUBLISHED, f"deleted files cannot be looked for in Git's history: {why_unread(root)}"
        )
        return result
    for name, commit in git.ever_in(PUBLISHED).items():
        file = f"{PUBLISHED}/{name}"
        if _NAME.fullmatch(name) and file not in files:
            what = (
                f"commit {commit[:12]} has it, and it is gone; 'git checkout {commit[:12]} -- "
                f"{file}' restores it"
            )
            result.find(file, what, "missing")
    if git.is_shallow:
        why = (
            "this clone has the newest commits only; 'git fetch --unshallow' gets those that may "
            "have more files"
        )
        result.skip(PUBLISHED, why)
    return result


def refuse_if_deleted(root: Path) -> None:
    """Raise LedgerError if the last commit has files of published runs that are gone: new ones
    would hide that."""
    git = Git.around(root)
    tree = git.id_at(git.heads()[0], PUBLISHED) if git else None
    names = git.files(tree) if git and tree else ()
    gone = sorted(name for name in names if not (root / PUBLISHED / name).is_file())
    if gone:
        raise LedgerError(
            f"the last commit has {len(gone)} published runs that are not here, "
            f"{PUBLISHED}/{gone[0]} first; 'git checkout HEAD -- {PUBLISHED}' restores them"
        )


class MlflowRuns(Record):
    """The runs that MLflow showed when it was last filled from this checkout."""

    fingerprints: dict[str, str]
    """Id of each run in MLflow → its fingerprint."""


def runs_of_mlflow(files: Workspace) -> dict[str, str]:
    """Id of each run in MLflow → its fingerprint, as they were noted here; MLflow is not asked."""
    try:
        return parse_json(files.read(MLFLOW_RUNS) or b"", MlflowRuns, MLFLOW_RUNS).fingerprints
    except StoreError:
        return {}


def note_runs_of_mlflow(root: Path, fingerprints: Mapping[str, str]) -> None:
    """Note the fingerprints of runs in MLflow, by their ids, so that an audit can go by these."""
    noted = runs_of_mlflow(Workspace(root)) | dict(fingerprints)
    write_json(root / MLFLOW_RUNS, MlflowRuns(fingerprints=noted))


def _published(root: Path, evidence: Evidence) -> Published:
    scores = []
    for lineage in sorted(evidence.lineages, key=lambda lineage: lineage.folder.path):
        score = lineage.score
        components = [
            {
                "role": role,
                "name": card.name,
                "version": card.version,
                "fingerprint": card.fingerprint,
            }
            for role, card in score.components.items()
        ]
        published = PublishedScore(
            benchmark=score.benchmark,
            keys=score.keys,
            path=lineage.folder.path,
            inputs=sha256_of(score.inputs.to_dict()),
            score=sha256_file(root / lineage.score_path),
            rows=sha256_file(root / lineage.rows_path),
            components=components,
        )
        scores.append(published)
    return Published(
        fingerprint=evidence.fingerprint,
        combination=evidence.combination,
        scores=scores,
        code=evidence.code,
    )


def _differences(root: Path, run: Evidence, runs: Mapping[str, Published]) -> Iterator[Finding]:
    """What the published files say otherwise of a run that is here."""
    files = {name: file for name, file in runs.items() if file.fingerprint == run.fingerprint}
    if not files:
        what = (
            f"it has no file of {run.name}, fingerprint {run.fingerprint}; run 'driftledger track'"
        )
        yield Finding("missing", PUBLISHED, what)
        return
    try:
        now = {score.path: score for score in _published(root, run).scores}
    except FileNotFoundError:  # a run of a former commit
        return
    for name, file in files.items():
        then = {score.path: score for score in file.scores}
        for path in then | now:
            if then.get(path) != now.get(path):
                what = f"{path} is not as it was published; 'git log {path}' shows when it changed"
                yield Finding("bytes", name, what)

"""Published runs: one immutable file each, named by its content.

It is named by the hash of its content.

MLflow can be thrown away, and ``dvc.lock`` has the newest runs only; these files stay. A file is
added and never changed, so that two branches merge without a conflict. Git's history shows a file
that was deleted. To show who published a run, and when, sign a Git tag.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import Field

from driftledger import __version__
from driftledger.core.canonical import sha256_file, sha256_of
from driftledger.core.errors import LedgerError, StoreError
from driftledger.core.files import Record, parse_json, write_json
from driftledger.core.paths import STATE
from driftledger.ledger.findings import Finding, VerifyResult
from driftledger.ledger.lineage import (
    PUBLISHED,
    Published,
    PublishedScore,
    Run,
    published_files,
)
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.objects.files import Workspace
from driftledger.ledger.objects.git import Git, why_unread
from driftledger.scoring.score import ROWS, SCORE

MLFLOW = f"{STATE}/mlflow.json"
"""Relative to a project's top folder."""
AS_PUBLISHED = "as published"
NOT_PUBLISHED = "as in dvc.lock, not published"
_NAME = re.compile(r"[0-9a-f]{64}\.json")


def publish(root: Path, run: Run) -> Path | None:
    """Write the file of a run; None if a file has its fingerprint already."""
    if run.fingerprint in [known.fingerprint for known in read_published(root)]:
        return None
    published = _published(root, run)
    write_json(root / published.file, published)
    return root / published.file


def read_published(root: Path) -> list[Published]:
    """Read every published run, in the order of the files' names.

    Raises:
        LedgerError: a file is not as it was written.
    """
    runs = []
    for name, published in published_files(root).items():
        if isinstance(published, str):
            raise LedgerError(f"{name} {published}; run 'git checkout {name}'")
        runs.append(published)
    return runs


def check_published(root: Path, runs: Sequence[Run] = ()) -> VerifyResult:
    """Check that published files are as they were written, and none was deleted.

    Args:
        runs: runs that must be published with the files that they have now.

    Raises:
        LedgerError: Git's history is damaged.
    """
    result = VerifyResult()
    files = published_files(root)
    git = Git.around(root)
    result.checked.update({"published runs": len(files), "runs": len(runs)})
    for name, published in files.items():
        if isinstance(published, str):
            result.find(name, f"it {published}; 'git checkout {name}' restores it")
    for run in runs:
        result.findings += _differences(root, run, files)
    if git is None:
        result.skip(
            PUBLISHED,
            f"deleted files cannot be looked for in Git's history: {why_unread(root)}",
        )
        return result
    newest: dict[str, str] = {}
    for tree, commit in git.ever_at(PUBLISHED, git.heads()):
        for name in git.files(tree):
            newest.setdefault(name, commit)
    for name, commit in newest.items():
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


def check_scores(run: Run, contents: Contents) -> str:
    """Check by hashes that a run's scores and rows are those of its published file.

    Nothing is computed again. Reading a run has already compared them with ``dvc.lock``.

    Returns:
        ``as published``, or ``as in dvc.lock`` of a run that is not published.

    Raises:
        LedgerError: a file is not as it was published.
    """
    for published in published_files(contents.root).values():
        if isinstance(published, str) or published.fingerprint != run.fingerprint:
            continue
        hashes = {}
        for score in published.scores:
            hashes[f"{score.path}/{SCORE}"] = score.score
            hashes[f"{score.path}/{ROWS}"] = score.rows
        for lineage in run.lineages:
            for name in (SCORE, ROWS):
                path = f"{lineage.folder.path}/{name}"
                file = contents.within(lineage.folder, name)
                if file is None or sha256_file(file) != hashes.get(path):
                    raise LedgerError(
                        f"{path} is not as it was published; run 'driftledger verify'"
                    )
        return AS_PUBLISHED
    return NOT_PUBLISHED


def refuse_if_deleted(root: Path) -> None:
    """Refuse to publish while published files of the last commit are gone.

    New files would hide that.

    Raises:
        LedgerError: files are gone.
    """
    git = Git.around(root)
    names = git.files(git.id_at(git.heads()[0], PUBLISHED)) if git else ()
    gone = sorted(name for name in names if not (root / PUBLISHED / name).is_file())
    if gone:
        raise LedgerError(
            f"the last commit has {len(gone)} published runs that are not here, "
            f"{PUBLISHED}/{gone[0]} first; 'git checkout HEAD -- {PUBLISHED}' restores them"
        )


class MlflowState(Record):
    """The runs in MLflow's store when it was last filled from this checkout."""

    filled: str = ""
    """A text that names the store and its runs."""
    runs: dict[str, str] = Field(default_factory=dict)
    """Id of each run in MLflow → its fingerprint."""


def mlflow_state(files: Workspace) -> MlflowState:
    """Read the note about MLflow's runs, without asking MLflow."""
    try:
        return parse_json(files.read(MLFLOW) or b"", MlflowState, MLFLOW)
    except StoreError:
        return MlflowState()


def note_mlflow(root: Path, runs: Mapping[str, str], filled: str = "") -> None:
    """Note runs of MLflow by their ids, so that ``audit`` knows them."""
    known = mlflow_state(Workspace(root)).runs
    write_json(root / MLFLOW, MlflowState(filled=filled, runs={**known, **runs}))


def _published(root: Path, run: Run) -> Published:
    """Describe a run by the hashes of its files."""
    scores = []
    for lineage in sorted(run.lineages, key=lambda lineage: lineage.folder.path):
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
        driftledger=__version__,
        fingerprint=run.fingerprint,
        combination=run.combination,
        scores=scores,
        code=run.code,
    )


def _differences(
    root: Path, run: Run, published: Mapping[str, Published | str]
) -> Iterator[Finding]:
    """Yield the differences of a run and its published files."""
    files = {}
    for name, file in published.items():
        if isinstance(file, Published) and file.fingerprint == run.fingerprint:
            files[name] = file
    if not files:
        what = (
            f"it has no file of {run.name}, fingerprint {run.fingerprint}; "
            "run 'driftledger track'"
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

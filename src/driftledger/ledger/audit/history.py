"""Every score that ever stood in this repository, and the evidence that stood beside it.

``dvc.lock`` and the score files are in Git, so Git alone knows which score was made with what, without MLflow and
without a remote. Commits that share a state share the work, and what is read from a Git object is kept where the
reader keeps things: a second question reads next to nothing.
"""

import tempfile
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from itertools import product
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import yaml

from driftledger.benchmarks.base import SCORES, Benchmark
from driftledger.benchmarks.registry import benchmarks, lock_files
from driftledger.benchmarks.score import SCORE
from driftledger.benchmarks.selection import Selected
from driftledger.core.canonical import md5_bytes
from driftledger.core.errors import DriftledgerError
from driftledger.core.files import OF_VERSION_1
from driftledger.core.paths import Combination
from driftledger.core.yaml_text import load_yaml
from driftledger.ledger import lineage as evidence_module
from driftledger.ledger.audit.summary import ScoreSummary, read_summary
from driftledger.ledger.code import CodeVersion
from driftledger.ledger.lineage import Evidence, folders_behind, is_score_of_version_1, read_evidence
from driftledger.ledger.objects.git import Commit, Git
from driftledger.ledger.objects.remembered import Remembered

_MOST_SCORES, _MOST_STATES = 1_000, 64
"""Score files whose facts, and states whose outputs, stand in memory at once."""

_UNREADABLE = (yaml.YAMLError, KeyError, TypeError, AttributeError, ValueError)
"""What a file of any version, or of none, may raise."""


class State(NamedTuple):
    """The Git objects of a ledger: two commits with the same have the same scores."""

    scores: str | None
    params: str | None
    locks: tuple[str | None, ...]
    """One for each of the project's; before it had several, the first held all stages."""


class Span(NamedTuple):
    """The first and the last commit with some state, of all branches and tags, as they come one after the other."""

    first: Commit
    last: Commit


class Standing(NamedTuple):
    """A score file's content, and while which commits it stood."""

    path: str
    """Relative to the top folder."""
    blob: str
    """What Git calls its content."""
    span: Span
    state: State
    """The last one that had it."""


class Stored(NamedTuple):
    """What a score file holds: facts, and the MD5 by which DVC knows its bytes."""

    md5: str
    facts: ScoreSummary | None
    """None where it is no score file."""


class LockedScore(NamedTuple):
    """A score that some ``dvc.lock`` spoke of."""

    path: str
    md5: str
    facts: ScoreSummary
    folders: dict[str, str]
    """Path → MD5 of the folders that it was made of."""


class LedgerHistory:
    """The ledger's past, going by Git."""

    def __init__(self, git: Git, remembered: Remembered) -> None:
        self._git = git
        self._remembered = remembered
        self.commits = git.commits()
        """All that were looked at, parents first."""
        self.is_shallow = git.is_shallow
        self.stored = lru_cache(maxsize=_MOST_SCORES)(self._stored)
        """What a content, as Git calls it, says."""
        self.outs = lru_cache(maxsize=_MOST_STATES)(self._outs)
        """Path → MD5 of every output that ``dvc.lock`` had in a state; without those of one that cannot be read."""

    @cached_property
    def states(self) -> dict[State, Span]:
        """Every state that the ledger was committed in, oldest first."""
        found: dict[State, Span] = {}
        for commit in self.commits:
            scores, params, *locks = self._git.ids(commit.id, (SCORES, "params.yaml", *lock_files()))
            state = State(scores, params, tuple(locks))
            found[state] = Span(found[state].first if state in found else commit, commit)
        return found

    @cached_property
    def scores(self) -> list[Standing]:
        """Every content that a score file ever had."""
        found: dict[tuple[str, str], Standing] = {}
        place = {commit: number for number, commit in enumerate(self.commits)}
        for state, (first, last) in self.states.items():
            for path, blob in self.score_files(state).items():
                held = found.get((path, blob))
                if held is None:
                    found[path, blob] = Standing(path, blob, Span(first, last), state)
                elif place[held.span.last] < place[last]:
                    found[path, blob] = Standing(path, blob, Span(held.span.first, last), state)
        return list(found.values())

    @cached_property
    def unread(self) -> str:
        """What is to be known of the scores that version 0.1 wrote; empty where none ever stood here."""
        old = {
            (path, blob)
            for tree in {state.scores for state in self.states if state.scores is not None}
            for path, blob in self._git.files(tree).items()
            if is_score_of_version_1(f"{SCORES}/{path}")
        }
        return f"each of {len(old)} score files in Git's history {OF_VERSION_1}" if old else ""

    def scores_at(self, state: State) -> Iterator[LockedScore]:
        """The scores that ``dvc.lock`` spoke of."""
        outs = self.outs(state)
        for path, blob in self.score_files(state).items():
            stored = self.stored(blob)
            if stored.facts is not None and outs.get(path) == stored.md5:
                yield LockedScore(path, stored.md5, stored.facts, folders_behind(path, outs))

    def evidence(self, state: State, selected: Selected, combination: Combination) -> Evidence | None:
        """A run's evidence as it stood; None where this version of the program finds it incomplete, or cannot read it.

        The commit that it names is the first with this state: it holds the scores, and need not be the one whose code
        computed them.
        """
        if not any(state.locks):
            return None
        with tempfile.TemporaryDirectory(prefix="driftledger-") as folder:
            root = Path(folder)
            files = {file: blob for file, blob in zip(lock_files(), state.locks, strict=True) if blob is not None}
            for path, blob in self.score_files(state).items():
                if combination.model in (*PurePosixPath(path).parts, PurePosixPath(path).stem):
                    files[path] = blob
            for path, blob in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_bytes(self._git.read(blob) or b"")
            try:
                found = read_evidence(root, selected, combination)
            except DriftledgerError:
                return None
        if not found.lineages:
            return None  # it selected nothing that this version knows by the same name
        code = CodeVersion(commit=self.states[state].first.id, dirty=False, untracked=[])
        return found.model_copy(update={"code": code})

    def fingerprints(self, state: State) -> dict[str, Combination]:
        """Fingerprint → combination of every run that was complete in this state, as far as it can be read."""

        def work() -> dict[str, list[str]]:
            selected, combinations = self.selection(state)
            found = [(each, self.evidence(state, selected, each)) for each in combinations]
            return {evidence.fingerprint: list(each) for each, evidence in found if evidence is not None}

        # another key whenever the code changes by which runs get their fingerprints
        rules = md5_bytes(Path(evidence_module.__file__).read_bytes())
        key = " ".join([rules, *map(str, (state.scores, state.params, *state.locks))])
        kept = self._remembered.recall("runs", key, work)
        return {fingerprint: Combination(*names) for fingerprint, names in kept.items()}

    def selection(self, state: State) -> tuple[Selected, list[Combination]]:
        """What ``params.yaml`` selected; nothing where this version cannot read it."""
        try:
            run: dict[str, Any] = load_yaml(self._git.read(state.params) or b"")["run"]
            combinations = [Combination(*names) for names in product(run["models"], run["generators"], run["encoders"])]
            return Selected([(spec, keys) for spec in benchmarks() for keys in _selected(spec, run)]), combinations
        except _UNREADABLE:
            return Selected(), []

    def score_files(self, state: State) -> Mapping[str, str]:
        """Path → what Git calls the content of every file that may be a score."""
        if state.scores is None:
            return {}
        files = self._git.files(state.scores)
        return {f"{SCORES}/{path}": blob for path, blob in files.items() if path.endswith(f"/{SCORE}")}

    def _outs(self, state: State) -> dict[str, str]:
        def read(lock: str) -> Any:
            return self._remembered.recall("lock", lock, lambda: outs_of(self._git.read(lock) or b""))

        return {path: md5 for lock in state.locks if lock is not None for path, md5 in read(lock).items()}

    def _stored(self, blob: str) -> Stored:
        def work() -> dict[str, Any]:
            data = self._git.read(blob) or b""
            facts = read_summary(data)
            return {"md5": md5_bytes(data), "facts": facts and facts.model_dump(mode="json")}

        kept = self._remembered.recall("score", blob, work)
        return Stored(kept["md5"], kept["facts"] and ScoreSummary.model_validate(kept["facts"]))


def outs_of(lock: bytes) -> dict[str, str]:
    """Path → MD5 of every output in the bytes of a ``dvc.lock``; empty where they are not those of one."""
    try:
        stages = load_yaml(lock)["stages"].values()
        outs = [out for stage in stages for out in stage.get("outs", ())]
        return {str(out["path"]): str(out["md5"]) for out in outs if "md5" in out}
    except _UNREADABLE:
        return {}


def _selected(spec: Benchmark, run: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """The keys of the scores that a ``run:`` of whatever version selects."""
    over = spec.data.keys[0]
    names = [run.get(spec.name if key == over else f"{key}s") or () for key in spec.scores.keys]
    return (dict(zip(spec.scores.keys, map(str, each), strict=True)) for each in product(*names))

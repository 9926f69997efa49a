"""Every score that ever stood in this repository, and the evidence that stood beside it.

``dvc.lock`` and the score files are in Git, so Git alone knows which score was made with what, without MLflow and
without a remote. Commits that share a state share the work, and what is read from a Git object is kept beside the call
store: a second question reads next to nothing.
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
from driftledger.ledger.lineage import Evidence, is_score_of_version_1, read_evidence
from driftledger.ledger.objects.git import Commit, Git
from driftledger.ledger.objects.remembered import Remembered

_MOST_KEPT = 1_000
"""Score files whose facts stand in memory at once."""


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


class LedgerHistory:
    """The ledger's past, going by Git."""

    def __init__(self, git: Git, remembered: Remembered) -> None:
        self._git = git
        self._remembered = remembered
        self._commits = git.commits()
        self._stored = lru_cache(maxsize=_MOST_KEPT)(self._read_stored)

    @property
    def commits(self) -> int:
        """How many commits were looked at."""
        return len(self._commits)

    @property
    def is_shallow(self) -> bool:
        return self._git.is_shallow

    @cached_property
    def states(self) -> dict[State, Span]:
        """Every state that the ledger was committed in, oldest first."""
        found: dict[State, Span] = {}
        for commit, state in self._state_of_each():
            first = found[state].first if state in found else commit
            found[state] = Span(first, commit)
        return found

    @cached_property
    def scores(self) -> list[Standing]:
        """Every content that a score file ever had."""
        found: dict[tuple[str, str], Standing] = {}
        place = {commit.id: number for number, commit in enumerate(self._commits)}
        for state, span in self.states.items():
            for path, blob in self.score_files(state).items():
                held = found.get((path, blob))
                first, last, where = span.first, span.last, state
                if held is not None:
                    first = min(first, held.span.first, key=lambda commit: place[commit.id])
                    if place[held.span.last.id] > place[last.id]:
                        last, where = held.span.last, held.state
                found[path, blob] = Standing(path, blob, Span(first, last), where)
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

    def stored(self, blob: str) -> Stored:
        """What a content, as Git calls it, says; the facts are None where it is no score file."""
        return self._stored(blob)

    def outs(self, state: State) -> dict[str, str]:
        """Path → MD5 of every output that ``dvc.lock`` spoke of; without those of one that cannot be read."""
        return {path: md5 for lock in state.locks if lock is not None for path, md5 in self._outs_of(lock).items()}

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
        key = " ".join([_rules(), *map(str, (state.scores, state.params, *state.locks))])
        kept = self._remembered.get("runs", key)
        if kept is None:
            selected, combinations = self.selection(state)
            found = [(each, self.evidence(state, selected, each)) for each in combinations]
            kept = {evidence.fingerprint: list(each) for each, evidence in found if evidence is not None}
            self._remembered.keep("runs", key, kept)
        return {fingerprint: Combination(*names) for fingerprint, names in kept.items()}

    def selection(self, state: State) -> tuple[Selected, list[Combination]]:
        """What ``params.yaml`` selected; nothing where it cannot be read."""
        return selection_in(self._git.read(state.params) or b"")

    def score_files(self, state: State) -> Mapping[str, str]:
        """Path → what Git calls the content of every file that may be a score."""
        if state.scores is None:
            return {}
        files = self._git.files(state.scores)
        return {f"{SCORES}/{path}": blob for path, blob in files.items() if path.endswith(f"/{SCORE}")}

    def _outs_of(self, lock: str) -> dict[str, str]:
        kept: dict[str, str] | None = self._remembered.get("lock", lock)
        if kept is None:
            kept = outs_of(self._git.read(lock) or b"")
            self._remembered.keep("lock", lock, kept)
        return kept

    def _read_stored(self, blob: str) -> Stored:
        kept = self._remembered.get("score", blob)
        if kept is None:
            data = self._git.read(blob) or b""
            facts = read_summary(data)
            kept = {"md5": md5_bytes(data), "facts": None if facts is None else facts.model_dump(mode="json")}
            self._remembered.keep("score", blob, kept)
        return Stored(kept["md5"], None if kept["facts"] is None else ScoreSummary.model_validate(kept["facts"]))

    def _state_of_each(self) -> Iterator[tuple[Commit, State]]:
        paths = (SCORES, "params.yaml", *lock_files())
        for commit in self._commits:
            scores, params, *locks = self._git.ids(commit.id, paths)
            yield commit, State(scores, params, tuple(locks))


def _rules() -> str:
    """Another string whenever the code changes by which runs get their fingerprints."""
    return md5_bytes(Path(evidence_module.__file__).read_bytes())


def outs_of(lock: bytes) -> dict[str, str]:
    """Path → MD5 of every output in the bytes of a ``dvc.lock``; empty where they are not those of one."""
    try:
        stages = load_yaml(lock)["stages"].values()
        outs = [out for stage in stages for out in stage.get("outs", ())]
        return {str(out["path"]): str(out["md5"]) for out in outs if "md5" in out}
    except (yaml.YAMLError, KeyError, TypeError, AttributeError, ValueError):
        return {}


def selection_in(params: bytes) -> tuple[Selected, list[Combination]]:
    """What the bytes of a ``params.yaml`` select; nothing where this version cannot read it."""
    try:
        run: dict[str, Any] = load_yaml(params)["run"]
        combinations = [Combination(*names) for names in product(run["models"], run["generators"], run["encoders"])]
        return Selected([(spec, keys) for spec in benchmarks() for keys in _selected(spec, run)]), combinations
    except (yaml.YAMLError, KeyError, TypeError, AttributeError, ValueError):
        return Selected(), []


def _selected(spec: Benchmark, run: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """The keys of the scores that a ``run:`` of whatever version selects."""
    over = spec.data.keys[0]
    names = [run.get(spec.name if key == over else f"{key}s") or () for key in spec.scores.keys]
    return (dict(zip(spec.scores.keys, map(str, each), strict=True)) for each in product(*names))

"""The places in DVC's own code that are replaced, and which code stands there.

DVC promises nothing of them: where any reads otherwise than it did when this was written, nothing is replaced, and
what runs is ``dvc repro`` as it is. After an update of DVC, look at what has changed, and note the new digests.
"""

import hashlib
import inspect
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from driftledger.benchmarks.registry import lock_files
from driftledger.ledger.objects.reach import own_folder
from driftledger.repro import held, locks, parameters, stages, tracked
from driftledger.repro.ahead import Ahead
from driftledger.repro.hashes import Hashes
from driftledger.repro.yaml_memory import YAMLMemory

KNOWN = {
    "dvc.dependency.param:ParamsDependency.read_params": "687935587223d87d",
    "dvc.dependency.param:read_param_file": "710593e1b78d420e",
    "dvc.dvcfile:Lockfile.dump_stages": "be78a3c7bd285d86",
    "dvc.output:Output._get_hash_meta": "09224fe48913c295",
    "dvc.output:Output.commit": "5133dd9aa89eb3f3",
    "dvc.output:Output.save": "778821cfa71d84b1",
    "dvc.repo.reproduce:_reproduce": "c763611bd0ef426b",
    "dvc.repo.reproduce:_reproduce_stage": "32cb1baa118f3faf",
    "dvc.rwlock:rwlock": "e8e87c10cc6499ad",
    "dvc.stage.decorators:rwlocked": "2f9910ef188bad66",
    "dvc.stage.decorators:unlocked_repo": "48479e14bcce9da9",
    "dvc.stage.run:_run": "4ee9956e431488c8",
    "dvc.stage.run:cmd_run": "d2696e63976bcdc1",
    "dvc.stage.run:prepare_kwargs": "b7f2672fdcd47784",
    "dvc.stage.run:run_stage": "d4b66f275003adf3",
    "dvc.stage.serialize:to_lockfile": "78f9e179200f27ef",
    "dvc.stage:Stage.checkout": "8e67689ea2a0f258",
    "dvc.stage:Stage.reproduce": "a4fd0ff85381f2a5",
    "dvc.stage:Stage.run": "d0e5527866ee6f38",
    "dvc.utils.serialize._common:_modify_data": "5d8432d4d3002a03",
    "dvc.utils.serialize._yaml:_get_yaml": "adf4755239a850f0",
    "dvc.utils.serialize._yaml:modify_yaml": "f12395992e538e22",
    "dvc.utils.serialize._yaml:parse_yaml": "aa41661d0e60f099",
    "scmrepo.git.backend.dulwich:DulwichBackend.is_tracked": "46579190a9569edd",
}
"""Functions and the start of the SHA-256 of their source: what is replaced, and what that relies on."""


def unknown() -> list[str]:
    """Which of them are missing, or read otherwise."""
    return [place for place, digest in KNOWN.items() if _digest(place) != digest]


def _digest(place: str) -> str | None:
    module, _, name = place.partition(":")
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = inspect.getattr_static(found, part)
        source = inspect.getsource(inspect.unwrap(found))
    except (ImportError, AttributeError, OSError, TypeError):
        return None
    return hashlib.sha256(source.encode()).hexdigest()[:16]


@contextmanager
def replaced() -> Iterator[None]:
    """Let DVC reproduce in one process."""
    import tqdm
    from dvc import dvcfile, output, rwlock, stage
    from dvc.dependency import param
    from dvc.fs import LocalFileSystem
    from dvc.repo import Repo, reproduce
    from dvc.stage import run as running
    from dvc.utils import strictyaml
    from dvc.utils.serialize import _yaml
    from scmrepo.git.backend.dulwich import DulwichBackend

    hashes = Hashes()
    run = _Run(hashes)
    texts = YAMLMemory(_memory() / "yaml.json")
    parse = texts.remembering(_yaml.parse_yaml)
    new: list[tuple[Any, str, Any]] = [
        (_yaml, "parse_yaml", parse),
        (strictyaml, "parse_yaml", parse),
        (param, "read_param_file", _reader(param.read_param_file, LocalFileSystem)),
        (dvcfile.Lockfile, "dump_stages", run.dump_stages),
        (reproduce, "_reproduce", run.reproduce),
        (output.Output, "_get_hash_meta", hashes.remembering(output.Output._get_hash_meta)),
        (Repo, "pull", hashes.forgetting(Repo.pull)),
        (stage.Stage, "checkout", hashes.forgetting(stage.Stage.checkout)),
        (stage.Stage, "run", hashes.forgetting(stage.Stage.run)),  # which may also import
        (stage, "run_stage", hashes.forgetting(run.run_stage)),
        (rwlock, "rwlock", held.once(rwlock.rwlock)),
        (DulwichBackend, "is_tracked", tracked.remembering(DulwichBackend.is_tracked)),
        (running, "_run", run.run_command),
        (tqdm.tqdm, "monitor_interval", 0),  # a thread, of whose locks a child would have copies
    ]
    kept = [(place, name, getattr(place, name)) for place, name, _ in new]
    try:
        for each in new:
            setattr(*each)
        yield
    finally:
        for each in kept:
            setattr(*each)
        texts.write()


def _memory() -> Path:
    """Where this user keeps what was read of the project; of the folder, where there is none."""
    from dvc.exceptions import NotDvcRepoError
    from dvc.repo import Repo

    try:
        return own_folder(Path(Repo.find_root()))
    except NotDvcRepoError:
        return own_folder(Path.cwd())


def _reader(read: parameters.Read, kind: type) -> parameters.Read:
    return parameters.remembering(read, lambda fs: isinstance(fs, kind))


class _Run:
    """One ``dvc repro``, as far as it is done otherwise."""

    def __init__(self, hashes: Hashes) -> None:
        from dvc.dvcfile import Lockfile
        from dvc.repo.reproduce import _reproduce
        from dvc.stage.run import _run, run_stage

        self._dump_stages, self._reproduce = Lockfile.dump_stages, _reproduce
        self._run_stage, self._run_command = run_stage, _run
        self._hashes = hashes
        self._locks: locks.Locks | None = None
        """None where each stage is written into its lock at once."""
        self._ahead: Ahead | None = None
        self._stage = ""
        self._repo: Any = None

    @property
    def dump_stages(self) -> Callable[..., None]:
        """For ``Lockfile.dump_stages``: note what is to stand in a lock."""

        def dump_stages(lockfile: Any, of: Sequence[Any], **how: Any) -> None:
            if self._locks is None or how or not self._note(self._locks, lockfile, of):
                self._dump_stages(lockfile, of, **how)
                self._hashes.forget()

        return dump_stages

    def _note(self, waiting: locks.Locks, lockfile: Any, of: Sequence[Any]) -> bool:
        """Whether it is noted; DVC then says what it says when it writes."""
        from dvc.dvcfile import logger
        from dvc.stage.serialize import to_lockfile

        entries = {name: entry for stage in of for name, entry in to_lockfile(stage).items()}
        changed = waiting.note(Path(lockfile.path).absolute(), entries)
        if changed is None:
            return False
        if changed:
            logger.info("Updating lock file '%s'", lockfile.relpath)
            lockfile.repo.scm_context.track_file(lockfile.relpath)
        if waiting.is_due:
            waiting.write()
        return True

    def reproduce(self, of: Sequence[Any], *arguments: Any, **more: Any) -> Any:
        """For ``_reproduce``: whatever ends it, what is noted is written, while DVC's own lock is held."""
        if not of:
            return self._reproduce(of, *arguments, **more)
        self._repo = of[0].repo
        if not _depend_on_locks(of):
            self._locks = locks.Locks(Path(self._repo.tmp_dir), own_folder(Path(self._repo.root_dir)))
        self._ahead = Ahead(self._repo.root_dir, [_known_as(stage) for stage in of], pulls=bool(more.get("pull")))
        try:
            return self._reproduce(of, *arguments, **more)
        finally:
            try:
                if self._locks is not None:
                    with _undisturbed():
                        self._locks.write()
            finally:
                self._ahead.end()

    def run_stage(self, stage: Any, *arguments: Any, **more: Any) -> Any:
        """For ``run_stage``: who reads locks finds all that came before."""
        if self._locks is not None and stages.may_read_locks(stage.cmd):
            self._locks.write()
        self._stage = _known_as(stage)
        if self._ahead is not None:
            self._ahead.reach(self._stage)
        return self._run_stage(stage, *arguments, **more)

    def run_command(self, executable: str | None, command: str, **how: Any) -> None:
        """For ``_run``: fork what is ours.

        Raises:
            dvc.stage.exceptions.StageCmdFailedError: it fails.
        """
        from dvc.stage.exceptions import StageCmdFailedError

        words = stages.words_of(command, executable, how["env"])
        if words is None:
            self._run_command(executable, command, **how)
            return
        has_work = stages.is_of_data_or_benchmark(words)
        stages.import_needed(to_work=has_work)
        if self._ahead is not None and has_work:
            self._ahead.begin()
        if self._ahead is not None and stages.is_of_benchmark(words):
            self._ahead.wait(self._stage, self._write_meanwhile)
        code = stages.run_forked(words, how["cwd"], how["env"], every=locks.EVERY, meanwhile=self._write_meanwhile)
        if code:
            raise StageCmdFailedError(command, code)

    def _write_meanwhile(self) -> None:
        """Write while a stage runs, unless another DVC is at it; why it cannot be done, the end says."""
        from dvc.lock import LockError

        if self._locks is not None and self._locks.has_noted:
            with suppress(LockError, OSError), self._repo.lock:
                self._locks.write()


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Signals that ask this process to end wait until this is done."""
    came: list[int] = []
    kept = {
        each: signal.signal(each, lambda number, _: came.append(number)) for each in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield
    finally:
        for each, handler in kept.items():
            signal.signal(each, handler)
        for number in came:
            signal.raise_signal(number)


def _known_as(stage: Any) -> str:
    """The name of a stage of ours; of all others also where they stand, since they may have the same names."""
    file = Path(os.path.relpath(stage.path, stage.repo.root_dir))
    name = getattr(stage, "name", None) or ""
    return name if file.with_suffix(".lock").as_posix() in lock_files() else f"{file}:{name}"


def _depend_on_locks(of: Sequence[Any]) -> bool:
    """Whether what stands in the lock of one of these stages is looked at for another."""
    files = {str(Path(stage.path).with_suffix(".lock")) for stage in of}
    return any(
        each.fs.isin_or_eq(file, each.fs_path)
        for stage in of
        for each in stage.deps
        if each.fs.protocol == "local"
        for file in files
    )

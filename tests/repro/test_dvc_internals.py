"""DVC's own code is replaced where it reads as it did, and else left alone."""

import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from driftledger.repro import __main__ as entry
from driftledger.repro import dvc_internals
from driftledger.repro.ahead import Ahead
from driftledger.repro.dvc_internals import KNOWN, replaced, unknown
from driftledger.repro.hashes import Hashes


def test_the_dvc_that_is_installed_is_one_that_is_known() -> None:
    assert unknown() == []


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[list[str], bool]]:
    """What DVC is asked for, and whether its code is replaced then."""
    import dvc.cli
    from dvc.stage import run

    seen: list[tuple[list[str], bool]] = []
    own = run._run

    def note(arguments: list[str]) -> int:
        seen.append((arguments, run._run is not own))
        return 7

    monkeypatch.setattr(dvc.cli, "main", note)
    monkeypatch.setattr(entry.signal, "signal", lambda *_: None)
    monkeypatch.setattr(sys, "argv", ["x"])
    (tmp_path / ".dvc").mkdir()
    monkeypatch.chdir(tmp_path)
    return seen


def test_dvc_that_is_known_is_replaced_while_it_runs(asked: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    from dvc.stage import run

    own = run._run
    assert entry.main(["--force", "report"]) == 7
    assert asked == [(["repro", "--force", "report"], True)]
    assert run._run is own
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("place", ["dvc.dvcfile:Lockfile.dump_stages", "dvc.dvcfile:Gone.dump", "dvc.gone:x"])
def test_dvc_that_has_changed_runs_as_it_is(
    place: str, asked: list[Any], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dvc_internals, "KNOWN", KNOWN | {place: "0" * 16})
    assert entry.main([]) == 7
    assert asked == [(["repro"], False)]
    assert capsys.readouterr().err == f"DVC has changed ({place}): its own 'dvc repro' runs\n"


def test_what_a_remote_has_is_pulled(asked: list[Any], tmp_path: Path) -> None:
    (tmp_path / ".dvc" / "config").write_text(
        "[core]\n    remote = storage\n['remote \"storage\"']\n    url = /tmp/x\n"
    )
    entry.main(["track"])
    assert asked == [(["repro", "--pull", "track"], True)]


def test_a_config_that_cannot_be_read_is_for_dvc_to_tell(asked: list[Any], tmp_path: Path) -> None:
    (tmp_path / ".dvc" / "config").write_text("[core\n")
    assert entry.main([]) == 7
    assert asked == [(["repro"], True)]


def test_everything_is_put_back_after_an_error() -> None:
    import tqdm
    from dvc.dependency import param
    from dvc.dvcfile import Lockfile

    def now() -> tuple[Any, ...]:
        return param.read_param_file, Lockfile.dump_stages, tqdm.tqdm.monitor_interval

    before = now()
    replacing = replaced()
    replacing.__enter__()
    assert all(new is not old for new, old in zip(now(), before, strict=True))
    assert not replacing.__exit__(KeyError, KeyError("a bug"), None)
    assert now() == before


@pytest.mark.parametrize("end", [entry._EndedError, KeyboardInterrupt, ValueError, None])
def test_whatever_ends_it_what_is_noted_is_written_and_nobody_is_left_beside_it(
    end: type[BaseException] | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, lock = dvc_internals._Run(Hashes()), tmp_path / "dvc.lock"
    ended: list[Ahead] = []
    monkeypatch.setattr(Ahead, "end", lambda each: ended.append(each))

    def reproduce(_: Any) -> str:
        assert run._locks is not None
        run._locks.note(lock, {"a": {"cmd": "x"}})
        assert not lock.exists()
        if end:
            raise end
        return "done"

    run._reproduce = reproduce
    stages = [stage_at(tmp_path, "dvc.yaml", "a")]
    if end:
        with pytest.raises(end):
            run.reproduce(stages)
    else:
        assert run.reproduce(stages) == "done"
    assert "  a:\n    cmd: x\n" in lock.read_text()
    assert ended == [run._ahead]


def stage_at(root: Path, file: str, name: str | None, *deps: str) -> Any:
    def isin_or_eq(path: str, top: str) -> bool:
        return Path(path).is_relative_to(top)

    local = SimpleNamespace(protocol="local", isin_or_eq=isin_or_eq)
    return SimpleNamespace(
        repo=SimpleNamespace(tmp_dir=str(root), root_dir=str(root)),
        path=str(root / file),
        name=name,
        deps=[SimpleNamespace(fs=local, fs_path=str(root / each)) for each in deps],
    )


def test_a_signal_that_comes_while_locks_are_written_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, ended = dvc_internals._Run(Hashes()), list[str]()
    monkeypatch.setattr(Ahead, "end", lambda _: ended.append("ahead"))
    monkeypatch.setattr(
        dvc_internals.locks.Locks, "write", lambda _: (os.kill(os.getpid(), signal.SIGINT), ended.append("written"))
    )
    run._reproduce = lambda _: "done"
    with pytest.raises(KeyboardInterrupt):
        run.reproduce([stage_at(tmp_path, "dvc.yaml", "a")])
    assert ended == ["written", "ahead"]


def test_nobody_is_left_beside_it_where_locks_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: Any) -> None:
        raise OSError(28, "No space left on device")

    run, ended = dvc_internals._Run(Hashes()), list[str]()
    monkeypatch.setattr(Ahead, "end", lambda _: ended.append("ahead"))
    monkeypatch.setattr(dvc_internals.locks.Locks, "write", full)
    run._reproduce = lambda _: "done"
    with pytest.raises(OSError, match="No space left"):
        run.reproduce([stage_at(tmp_path, "dvc.yaml", "a")])
    assert ended == ["ahead"]


def test_stages_of_others_with_the_names_of_ours_are_told_apart(tmp_path: Path) -> None:
    stages = [
        stage_at(tmp_path, "dvc.yaml", "dataset@photos"),
        stage_at(tmp_path, "pipelines/mme/dvc.yaml", "mme@scenes"),
        stage_at(tmp_path, "own/dvc.yaml", "dataset@photos"),
        stage_at(tmp_path, "own/photos.dvc", None),
    ]
    names = [dvc_internals._known_as(each) for each in stages]
    assert names == ["dataset@photos", "mme@scenes", "own/dvc.yaml:dataset@photos", "own/photos.dvc:"]


@pytest.mark.parametrize(("dep", "at_once"), [("own/dvc.lock", True), ("own", True), ("other/dvc.lock", False)])
def test_where_a_lock_is_looked_at_stages_are_written_at_once(
    dep: str, at_once: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = dvc_internals._Run(Hashes())
    monkeypatch.setattr(Ahead, "end", lambda _: None)
    run._reproduce = lambda _: run._locks
    stages = [stage_at(tmp_path, "own/dvc.yaml", "a"), stage_at(tmp_path, "third/dvc.yaml", "b", dep)]
    assert (run.reproduce(stages) is None) == at_once


@pytest.mark.parametrize(
    ("command", "happens"),
    [
        ("resolve", ["run"]),
        ("dataset photos", ["begin", "run"]),
        ("mme answer scenes_mme blind", ["begin", "wait for answer@scenes_mme-blind", "run"]),
        ("report", ["run"]),
    ],
)
def test_a_stage_that_asks_waits_for_those_who_ask_beside_it(
    command: str, happens: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, seen, name = dvc_internals._Run(Hashes()), list[str](), "answer@scenes_mme-blind"
    run._stage = name
    run._ahead = Ahead(str(tmp_path), [name], pulls=False)
    monkeypatch.setattr(Ahead, "begin", lambda _: seen.append("begin"))
    monkeypatch.setattr(Ahead, "wait", lambda _, stage, meanwhile: seen.append(f"wait for {stage}"))
    monkeypatch.setattr(dvc_internals.stages, "words_of", lambda command, *_: command.split(" "))
    monkeypatch.setattr(dvc_internals.stages, "import_needed", lambda **_: None)
    monkeypatch.setattr(dvc_internals.stages, "run_forked", lambda *_, **__: seen.append("run"))
    run.run_command("/bin/sh", f"driftledger stage {command}", cwd=str(tmp_path), env={})
    assert seen == happens

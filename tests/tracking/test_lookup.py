"""Audits that go by an MLflow store, a real SQLite one, with and without a repository beside it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from driftledger.core.errors import LedgerError
from driftledger.ledger.audit.audit import as_json, as_tree
from driftledger.ledger.audit.query import parse_query
from driftledger.ledger.audit.sources import LoggedRun, Sources
from driftledger.ledger.audit.targets import resolve_target
from driftledger.ledger.audit.touched import touched
from driftledger.ledger.code import CodeVersion
from driftledger.project.settings import Tracking
from driftledger.tracking import lookup
from driftledger.tracking.lookup import MlflowRuns
from driftledger.tracking.projection import run_content
from tests.support.audited import Audited, audited_in, version
from tests.support.ledgers import COMBINATION, SELECTED
from tests.support.terminal import printed

from .contents import EXPERIMENT, run
from .stores import Store

BRUSHES = [version("brush", settings={"longest_side": side}) for side in (64, 128)]


@pytest.fixture
def audited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mlflow_store: Store, in_child: Callable[..., Any]
) -> Audited:
    """Two runs, one after the other; the first is in MLflow alone."""
    made = audited_in(tmp_path, monkeypatch)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    for brush, value in zip(BRUSHES, (0.7, 0.5), strict=True):
        made.produce(generator=brush, value=value)
        in_child(push, made, mlflow_store)
    return made


def push(audited: Audited, store: Store) -> None:
    with audited.sources() as sources:
        dirty = CodeVersion(commit="c0ffee", dirty=True, untracked=[])
        store.push([run_content(audited.root, sources.current[0].model_copy(update={"code": dirty}))])


def asked(root: Path, store: Store, question: Callable[[Sources], Any], selected: bool = True) -> Any:
    mlflow = MlflowRuns(Tracking(uri=store.uri, experiment=EXPERIMENT, traces="none"))
    combinations = [COMBINATION] if selected else []
    with Sources(root, SELECTED, combinations, mlflow=mlflow) as sources:
        return question(sources)


def rows(sources: Sources) -> list[tuple[Any, ...]]:
    found = touched(sources, parse_query(generator="brush")).rows
    return sorted((row.facts.value, row.known_from, row.current, len(row.runs), row.first_commit) for row in found)


def names(sources: Sources) -> list[tuple[str, str, str, bool]]:
    logged = sources.ask_mlflow(lambda mlflow: list(mlflow.every())) or []
    return [(run.run_id, run.fingerprint, run.name, run.current) for run in logged]


def tree(text: str) -> Callable[[Sources], str]:
    return lambda sources: printed(as_tree(resolve_target(sources, text), sources))


def test_a_score_of_mlflow_and_one_of_the_working_tree(
    audited: Audited, mlflow_store: Store, in_child: Callable[..., Any]
) -> None:
    expected = [(0.5, ["here", "mlflow"], True, 1, None), (0.7, ["mlflow"], False, 1, None)]
    assert in_child(asked, audited.root, mlflow_store, rows) == expected
    assert in_child(asked, audited.root, mlflow_store, rows) == expected, "the second time from what was kept"


def test_mlflow_alone_tells_the_whole_chain_and_what_it_proves(
    audited: Audited, mlflow_store: Store, in_child: Callable[..., Any], tmp_path: Path
) -> None:
    nothing = tmp_path / "nothing"
    runs = in_child(asked, nothing, mlflow_store, names)
    (new, fingerprint, name, current), (old, older, _, was_current) = runs
    assert (name, current, was_current) == ("seer · brush · eye", True, False)
    for text in (new, fingerprint, fingerprint[:8], name, "seer/brush/eye"):
        said = in_child(asked, nothing, mlflow_store, tree(text), False)
        assert said.startswith(f"seer · brush · eye, fingerprint {fingerprint}"), text
    for text in (old, older[:12]):
        said = in_child(asked, nothing, mlflow_store, tree(text))
        assert f"generator: brush, fingerprint {BRUSHES[0].fingerprint}" in said
        assert "gc_at_2 = 0.7" in said
        assert f"code: git commit c0ffee (with uncommitted changes), when MLflow run {old} was made" in said
        assert f"packages: packages.txt, artifact of run {old} in MLflow at sqlite:///" in said
        assert "from MLflow alone: what the run said of itself" in said
        assert "Git and DVC were not asked: there is no dvc.lock here" in said
    assert in_child(asked, nothing, mlflow_store, rows) == [
        (0.5, ["mlflow"], True, 1, None),
        (0.7, ["mlflow"], False, 1, None),
    ]


def test_a_score_file_is_known_to_mlflow_alone(
    audited: Audited, mlflow_store: Store, in_child: Callable[..., Any], tmp_path: Path
) -> None:
    said = in_child(asked, tmp_path / "nothing", mlflow_store, tree(str(audited.score_path)))
    assert said.startswith(
        "reports/scores/genception/shapes/seer/brush/eye/score.json, of seer · brush · eye, fingerprint "
    )


def test_a_run_of_the_working_tree_names_its_artifacts(
    audited: Audited, mlflow_store: Store, in_child: Callable[..., Any]
) -> None:
    def question(sources: Sources) -> str:
        return as_json(resolve_target(sources, "seer/brush/eye"), sources)

    assert '"packages.txt": "packages.txt, artifact of run ' in in_child(asked, audited.root, mlflow_store, question)


def test_who_is_nobody_is_named_with_the_nearest(
    audited: Audited, mlflow_store: Store, in_child: Callable[..., Any], tmp_path: Path
) -> None:
    with pytest.raises(LedgerError, match=r"there is no run.* 'seer · brush'; nearest: seer · brush · eye"):
        in_child(asked, tmp_path / "nothing", mlflow_store, tree("seer · brush"), False)


def known(store: Store, text: str) -> LoggedRun | None:
    return MlflowRuns(Tracking(uri=store.uri, experiment=EXPERIMENT, traces="none")).find(text)


def test_of_several_of_a_name_the_current_one_is_meant_however_old(mlflow_store: Store) -> None:
    """Where none is current, the newest."""
    first, second = (run(digit * 64, name="same") for digit in "ab")
    for shown in (first, second, first):
        mlflow_store.push([shown])
        found = known(mlflow_store, "same")
        assert found is not None
        assert (found.fingerprint, found.current) == (shown.fingerprint, True)
    mlflow_store.push([run("c" * 64)])
    found = known(mlflow_store, "same")
    assert found is not None
    assert (found.fingerprint, found.current) == (second.fingerprint, False)
    assert known(mlflow_store, "nobody") is None


def test_the_start_of_several_fingerprints_is_refused(mlflow_store: Store) -> None:
    start = "abcdef12"
    mlflow_store.push([run(start + digit * 56) for digit in "12"])
    with pytest.raises(LedgerError, match=f"2 runs in MLflow have a fingerprint that begins with {start}; give more"):
        known(mlflow_store, start)
    found = known(mlflow_store, start + "1")
    assert found is not None
    assert found.fingerprint == start + "1" * 56


def test_a_store_that_is_not_there_is_said(audited: Audited, tmp_path: Path, in_child: Callable[..., Any]) -> None:
    away = Store(tmp_path / "away")
    away.folder.mkdir()
    said = in_child(asked, audited.root, away, tree("seer/brush/eye"))
    assert "MLflow was not asked: the MLflow store" in said
    assert "does not exist yet" in said


@pytest.mark.parametrize(
    ("milliseconds", "told"), [(10**18, "9999-12-31T23:59:59Z"), (-(10**18), "1970-01-01T00:00:00Z")]
)
def test_a_time_beyond_the_calendar(milliseconds: int, told: str) -> None:
    assert lookup._iso(milliseconds) == told

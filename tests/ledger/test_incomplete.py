"""Scores of models that ``dvc.lock`` lacks since calls are missing, and what MLflow shows then."""

import json
import re
import shutil

import pytest
import yaml

from driftledger.commands.audit import audit
from driftledger.commands.compare import compare
from driftledger.commands.stages import track
from driftledger.commands.verify import verify
from driftledger.core.errors import LedgerError
from driftledger.ledger.lineage import incomplete_models
from driftledger.ledger.objects.files import Workspace
from driftledger.ledger.sources import Sources, find_run
from driftledger.tracking import track as tracking
from tests.ledger.conftest import CHAINS, GENCEPTION, MODEL, SCORES
from tests.ledger.test_verify import places

RUN = f"{MODEL}/painter/layout"
OTHER = "blind"
WHY = (
    "reports/scores/{0} is not in dvc.lock, since not all calls and scores of {0} are made; "
    "'driftledger run' makes the rest"
)


def not_in_the_lock(ledger):
    file = ledger.root / "dvc.lock"
    lock = yaml.safe_load(file.read_text())
    del lock["stages"][f"collect@{MODEL}"], lock["stages"][f"score@{MODEL}"]
    file.write_text(yaml.safe_dump(lock))


def of_other_settings(ledger):
    ledger.put("data/resolved.json", "collect", MODEL, to="0" * 64)
    shutil.rmtree(ledger.root / GENCEPTION)


def of_other_settings_of_scoring(ledger):
    ledger.put("data/resolved.json", "score", MODEL, to="0" * 64)
    shutil.rmtree(ledger.root / GENCEPTION)


def with_a_failed_call(ledger):
    ledger.put(f"{CHAINS}/inputs.json", "failed", to=1)
    edited_by_hand(ledger)


def edited_by_hand(ledger):
    ledger.put(f"{GENCEPTION}/score.json", "gc_at_2", "value", to=0.1)


def incomplete(ledger):
    project = ledger.project
    return incomplete_models(ledger.root, project.selected, Workspace(ledger.root))


@pytest.mark.parametrize(
    "leave",
    [
        not_in_the_lock,
        of_other_settings,
        of_other_settings_of_scoring,
        with_a_failed_call,
    ],
)
def test_whoever_asks_for_an_incomplete_model_is_told_so(leave, ledger):
    leave(ledger)
    why = WHY.format(MODEL)
    assert incomplete(ledger) == {MODEL: why}
    project = ledger.project
    asks = [
        lambda: audit(project, f"{RUN}:gc_at_2", {}, full=False, as_json=False),
        lambda: compare(project, RUN, RUN),
        lambda: find_run(Sources(project), RUN),  # as for a bundle
        lambda: track(project),
    ]
    for ask in asks:
        with pytest.raises(LedgerError, match=f"^{re.escape(why)}$"):
            ask()
    for name in (RUN, None):
        verified = verify(project, name)
        assert verified.names == [f"{MODEL} · painter · layout"]
        findings = verified.result.findings
        assert [(each.kind, each.what) for each in findings] == [("missing", why)]


def test_scores_that_were_edited_by_hand_are_refused_as_before(ledger):
    edited_by_hand(ledger)
    assert incomplete(ledger) == {}
    with pytest.raises(
        LedgerError, match=rf"{SCORES} is not what dvc\.lock has .*'git status"
    ):
        track(ledger.project)


def test_scores_as_in_the_lock_are_read_while_new_calls_are_to_be_made(ledger):
    before = ledger.evidence()
    ledger.put(f"{CHAINS}/inputs.json", "failed", to=1)
    ledger.put("data/resolved.json", "collect", MODEL, to="0" * 64)
    assert incomplete(ledger) == {}
    assert ledger.evidence() == before


def test_verify_checks_the_other_models_of_an_incomplete_one(ledger):
    select_another(ledger)
    verified = verify(ledger.project, None)
    assert verified.names == [f"{MODEL} · painter · layout"]
    assert "missing dvc.lock" in places(verified.result)
    assert verified.checks["scores computed again"].checked["scores"] == 7


def select_another(ledger):
    """Select a model of which no call is made yet."""
    ledger.put("params.yaml", "run", "models", to=[MODEL, OTHER])
    for kind in ("collect", "score"):
        ledger.put("data/resolved.json", kind, OTHER, to="0" * 64)


@pytest.fixture
def shown(monkeypatch):
    """The names of the runs that were given to MLflow each time; its store is an empty file."""
    given = list[list[str]]()

    def show(root, runs, settings):
        given.append([run.name for run in runs])
        (root / "mlflow.db").touch()
        return "shown"

    monkeypatch.setattr(tracking, "track", show)
    return given


def test_mlflow_shows_the_complete_models(ledger, shown, monkeypatch, capsys):
    monkeypatch.chdir(ledger.root)
    select_another(ledger)
    name = f"{MODEL} · painter · layout"
    track(ledger.project)
    assert shown == [[name]]
    assert f"not in MLflow: {WHY.format(OTHER)}\n" in capsys.readouterr().err
    tracked = json.loads((ledger.root / tracking.TRACKED).read_text())
    assert [*tracked] == [name]


def test_a_store_is_filled_until_it_or_what_names_its_runs_is_another(
    ledger, shown, monkeypatch
):
    monkeypatch.chdir(ledger.root)
    changes = {
        "nothing was tracked": lambda: None,
        "the store was deleted": (ledger.root / "mlflow.db").unlink,
        "what names the runs was deleted": (ledger.root / tracking.TRACKED).unlink,
        "an experiment of DVC": lambda: monkeypatch.setenv("DVC_EXP_NAME", "exp-1"),
        "another store": lambda: ledger.put(
            "params.yaml", "tracking", "uri", to="sqlite:///elsewhere.db"
        ),
        "another run": lambda: another_run(ledger),
    }
    for number, (what, change) in enumerate(changes.items(), 1):
        change()
        for _ in range(2):
            track(ledger.project, again=False)
            assert len(shown) == number, what
    track(ledger.project)
    assert len(shown) == len(changes) + 1


def another_run(ledger):
    ledger.put(f"{GENCEPTION}/score.json", "inputs", "version", to=99)
    ledger.relock()

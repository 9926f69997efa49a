"""What version 0.1 committed is told as such by whoever meets it: nothing reads it, and nothing fails over it."""

import shutil
from pathlib import Path

import pytest
import yaml

from driftledger.benchmarks.selection import Selected
from driftledger.core.errors import LedgerError
from driftledger.core.files import OF_VERSION_1
from driftledger.core.paths import Combination
from driftledger.ledger.audit.query import parse_query
from driftledger.ledger.audit.sources import Sources
from driftledger.ledger.audit.targets import resolve_target
from driftledger.ledger.audit.touched import touched
from tests.support.audited import Audited, audited_in
from tests.support.ledgers import DATA, SELECTED, locked, write_lock

OLD = "reports/scores/genception/shapes/seer/brush/eye.json"
IN_HISTORY = f"each of 1 score files in Git's history {OF_VERSION_1}"


@pytest.fixture
def audited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Audited:
    """As a commit of version 0.1 is: other stages, source files in the lock, a score that is a file."""
    made = audited_in(tmp_path, monkeypatch)
    (made.root / OLD).parent.mkdir(parents=True)
    (made.root / OLD).write_text('{"benchmark":"genception","metrics":{"gc@2":0.7},"model":"seer","schema":1}\n')
    deps = [locked(DATA, "1" * 32 + ".dir", nfiles=4), locked("src/driftledger/drift.py", "2" * 32)]
    outs = [locked(OLD, "3" * 32), locked(OLD.replace(".json", ".samples.jsonl"), "4" * 32)]
    data = {"cmd": "driftledger dataset shapes", "outs": deps[:1]}
    drift = {"cmd": "driftledger drift shapes seer brush eye", "deps": deps, "outs": outs}
    write_lock(made.root, {"schema": "2.0", "stages": {"dataset@shapes": data, "drift@shapes-seer-brush-eye": drift}})
    params = {"run": {"models": ["seer"], "generators": ["brush"], "encoders": ["eye"], "datasets": ["shapes"]}}
    (made.root / "params.yaml").write_text(yaml.safe_dump(params))
    made.commit("version 0.1", "2026-02-01T12:00:00+00:00")
    return made


def refused(audited: Audited, text: str) -> str:
    """What is said where the run is not selected any more."""
    with audited.sources(combinations=()) as sources, pytest.raises(LedgerError) as caught:
        resolve_target(sources, text)
    return str(caught.value)


def test_an_old_score_file_says_which_version_reads_it(audited: Audited) -> None:
    assert refused(audited, OLD).endswith(f"eye.json {OF_VERSION_1}")
    assert refused(audited, f"{OLD}:gc@2").endswith(f"eye.json {OF_VERSION_1}")


@pytest.mark.parametrize("name", ["seer/brush/eye", "f" * 12, "seer/brush/eye:gc_at_2"])
def test_a_run_that_only_version_1_had_is_not_found_and_the_answer_says_why(audited: Audited, name: str) -> None:
    def check() -> None:
        text = refused(audited, name)
        assert text.startswith("there is no run, score file, image or metric")
        assert text.endswith(IN_HISTORY)

    check()
    (audited.root / OLD).unlink()
    audited.commit("gone")
    check()
    assert IN_HISTORY in refused(audited, OLD)


def test_a_selected_run_that_version_1_made_says_so_and_another_is_not_made_yet(audited: Audited) -> None:
    for text in ("seer/brush/eye", "seer · brush · eye", "seer/brush/eye:gc_at_2"):
        with audited.sources() as sources, pytest.raises(LedgerError) as caught:
            resolve_target(sources, text)
        assert str(caught.value) == f"{OLD} {OF_VERSION_1}"
    other = Combination("seer", "brush", "other_eye")
    selected = Selected([(spec, {**keys, "encoder": "other_eye"}) for spec, keys in SELECTED.scores])
    with Sources(audited.root, selected, [other]) as sources, pytest.raises(LedgerError, match="run 'dvc repro' first"):
        resolve_target(sources, "seer/brush/other_eye")


def test_scores_of_both_versions_are_told_apart(audited: Audited) -> None:
    with audited.sources() as sources, pytest.raises(LedgerError, match="no score was made with model seer") as caught:
        touched(sources, parse_query(model="seer"))
    assert str(caught.value).endswith(IN_HISTORY)
    shutil.rmtree(audited.root / "reports")
    audited.produce()
    audited.commit("version 0.2")
    with audited.sources() as sources:
        answer = touched(sources, parse_query(model="seer"))
        assert resolve_target(sources, "seer/brush/eye")
    assert [row.facts.value for row in answer.rows] == [0.7]
    assert IN_HISTORY in answer.said


def test_what_only_version_2_wrote_has_nothing_to_say_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = audited_in(tmp_path, monkeypatch)
    made.produce()
    made.commit("version 0.2")
    with made.sources() as sources:
        assert not any("0.1" in each for each in touched(sources, parse_query(model="seer")).said)
    assert "0.1" not in refused(made, "nobody")

"""A real store takes what the ledger makes of all benchmarks, and runs in which nothing was generated."""

from pathlib import Path

from driftledger.ledger.lineage import read_evidence
from driftledger.tracking.content import FINGERPRINT, NOTE, RunContent
from driftledger.tracking.projection import run_content
from driftledger.tracking.store import Pushed
from tests.support.description_ledgers import FIDELITY, TRAC, add_fidelity, add_trac
from tests.support.ledgers import COMBINATION, KEYS, selected, write_ledger
from tests.support.question_ledgers import EXAM, add_questions

from .contents import generator, run
from .stores import Store

ALL = selected(("genception", KEYS), *TRAC, *FIDELITY, ("mm_sap", EXAM))


def contents(root: Path) -> list[RunContent]:
    """A run with four benchmarks, and one with TRAC alone."""
    write_ledger(root)
    add_trac(root)
    add_fidelity(root)
    add_questions(root)
    return [run_content(root, read_evidence(root, chosen, COMBINATION)) for chosen in (ALL, selected(*TRAC))]


def test_everything_that_the_ledger_says_is_taken(mlflow_store: Store) -> None:
    runs = contents(mlflow_store.folder / "ledger")
    assert mlflow_store.push(runs) == Pushed(2, 0, 0)
    assert mlflow_store.push(runs) == Pushed(0, 0, 2)
    shown = mlflow_store.dump()
    by_fingerprint = {each["tags"][FINGERPRINT]: each for each in shown["runs"]}
    for content in runs:
        held = by_fingerprint[content.fingerprint]
        assert held["metrics"] == sorted([m.key, m.step, m.value] for m in content.every_metric())
        assert held["params"] == content.params
        note = held["tags"].pop(NOTE)
        assert note.startswith(content.tags.pop(NOTE))
        assert note.endswith(f"fingerprint `{content.fingerprint}`")
        assert content.tags.items() <= held["tags"].items()
        assert held["artifacts"].keys() == content.artifacts.keys()
    whole, bare = (by_fingerprint[content.fingerprint] for content in runs)
    assert [name for name, _ in whole["models"]] == ["brush", "counter", "eye", "narrator", "reader", "seer"]
    assert [name for name, _ in bare["models"]] == ["counter", "eye", "narrator", "reader", "seer"]
    assert [version["name"] for version in shown["registered_versions"]] == [
        *("encoder.counter", "encoder.eye", "encoder.reader", "generator.brush", "model.narrator", "model.seer")
    ]


def test_a_run_without_components_is_resumed(mlflow_store: Store) -> None:
    mlflow_store.push([run("f1", components=())])
    before = mlflow_store.dump()
    [held] = mlflow_store.client().search_runs([mlflow_store.experiment_id()])
    mlflow_store.client().update_run(held.info.run_id, "RUNNING")
    assert mlflow_store.push([run("f1", components=())]) == Pushed(created=0, resumed=1, unchanged=0)
    assert mlflow_store.dump() == before


def test_a_leftover_with_a_component_is_none_of_a_run_without(mlflow_store: Store) -> None:
    mlflow_store.push([run("f1", components=(generator(),))])
    [held] = mlflow_store.client().search_runs([mlflow_store.experiment_id()])
    mlflow_store.client().update_run(held.info.run_id, "RUNNING")
    assert mlflow_store.push([run("f1", components=())]) == Pushed(created=1, resumed=0, unchanged=0)

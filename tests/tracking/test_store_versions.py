"""Generators, models, encoders and judges as versions: made once, described, and leading to the runs that used them."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from driftledger.tracking.content import CURRENT, FINGERPRINT, LoggedMetric
from driftledger.tracking.store import Pushed, push
from driftledger.tracking.versions import MAX_SERVED, SERVED, shown_as

from .contents import EXPERIMENT, PHOTOS, earlier_runs, generator, judge, model, run, two_runs
from .steps import watch_writes
from .stores import Store


def _versions(store: Store, name: str) -> list[Any]:
    found = store.client().search_model_versions(f"name = '{name}'")
    return sorted(found, key=lambda version: int(version.version))


def _logged(store: Store, fingerprint: str) -> list[Any]:
    tagged = f"tags.`{FINGERPRINT}` = '{fingerprint}'"
    return list(store.client().search_logged_models([store.experiment_id()], filter_string=tagged))


def _served(store: Store, fingerprint: str, name: str) -> list[str]:
    """What the version says it was served as; its logged model says the same."""
    [logged], [version] = _logged(store, fingerprint), _versions(store, name)
    assert logged.tags.get(SERVED) == version.tags.get(SERVED)
    return list(json.loads(version.tags.get(SERVED, "[]")))


def _counted_push(store: Store, runs: list[Any]) -> tuple[Pushed, int]:
    writes = watch_writes()
    return store.push(runs), writes.count


def test_every_component_is_a_version(mlflow_store: Store) -> None:
    mlflow_store.push(two_runs())
    shown = mlflow_store.dump()
    assert [(each["name"], each["tags"][FINGERPRINT], each["aliases"]) for each in shown["registered_versions"]] == [
        ("generator.crayon", "bb22", ["current"]),
        ("generator.painter", "aa11", ["current"]),
        ("judge.rubric", "dd44", ["current"]),
        ("model.regions", "cc33", ["current"]),
    ]
    painter = shown["logged_models"][1]
    assert (painter["name"], painter["type"], painter["status"]) == ("painter", "generator", "READY")
    assert painter["params"] == {"size": "64"}
    assert painter["tags"] == {
        "provider": "painter",
        FINGERPRINT: "aa11",
        "mlflow.model.isExternal": "true",
        "mlflow.note.content": "It is painter.",
    }
    about, versions = shown["descriptions"]["generator.painter"]
    assert about.startswith("The generator `painter`, a version per fingerprint")
    assert versions == {"aa11": "It is painter."}


def test_the_registry_and_the_logged_model_lead_to_each_other(mlflow_store: Store) -> None:
    mlflow_store.push(two_runs())
    [logged] = _logged(mlflow_store, "dd44")
    version = mlflow_store.client().get_model_version_by_alias("judge.rubric", "current")
    assert version.source == f"models:/{logged.model_id}"
    assert json.loads(logged.tags["mlflow.modelVersions"]) == [{"name": "judge.rubric", "version": 1}]


@pytest.mark.parametrize(("fingerprint", "runs"), [("aa11", {"f1"}), ("cc33", {"f1", "f2"}), ("dd44", {"f2"})])
def test_the_store_says_which_runs_used_a_version(mlflow_store: Store, fingerprint: str, runs: set[str]) -> None:
    """By the runs' model inputs, and as MLflow's page of a logged model does: by the metrics linked to it."""
    mlflow_store.push(two_runs())
    client = mlflow_store.client()
    [logged] = _logged(mlflow_store, fingerprint)
    whole = [client.get_run(each.info.run_id) for each in client.search_runs([mlflow_store.experiment_id()])]
    names = {each.info.run_id: each.data.tags[FINGERPRINT] for each in whole}
    using = [each for each in whole if logged.model_id in {used.model_id for used in each.inputs.model_inputs}]
    assert {names[each.info.run_id] for each in using} == runs
    assert {names[row.run_id] for row in logged.metrics} == runs


def test_a_metric_is_shown_with_each_component_that_it_is_of(mlflow_store: Store) -> None:
    content = run(
        "f1",
        components=(generator(), model(), judge()),
        metrics=(
            LoggedMetric("gc", 0.5, 1, "photos", of=(generator().key, model().key)),
            LoggedMetric("vote", 0.25, 2, "photos", of=(model().key,)),
            LoggedMetric("seconds", 1.5),
        ),
    )
    mlflow_store.push([content])
    shown = mlflow_store.dump()
    assert shown["runs"][0]["metrics"] == [["gc", 1, 0.5], ["seconds", 0, 1.5], ["vote", 2, 0.25]]
    photos = ["photos", PHOTOS.digest]
    assert {each["name"]: each["metrics"] for each in shown["logged_models"]} == {
        "painter": [["gc", 1, 0.5, *photos]],
        "regions": [["gc", 1, 0.5, *photos], ["vote", 2, 0.25, *photos]],
        "rubric": [],
    }


def test_a_run_with_hundreds_of_linked_metrics_is_resumed(mlflow_store: Store) -> None:
    metrics = tuple(LoggedMetric(f"gc/{number}", number / 7, dataset="photos") for number in range(250))
    content = run("f1", components=(generator(), model()), metrics=metrics)
    mlflow_store.push([content])
    before = mlflow_store.dump()
    [held] = mlflow_store.client().search_runs([mlflow_store.experiment_id()])
    mlflow_store.client().update_run(held.info.run_id, "RUNNING")
    assert mlflow_store.push([content]) == Pushed(created=0, resumed=1, unchanged=0)
    assert mlflow_store.dump() == before
    assert [len(each["metrics"]) for each in before["logged_models"]] == [250, 250]


def test_going_back_makes_nothing_and_moves_the_alias(mlflow_store: Store, in_child: Callable[..., Any]) -> None:
    changed = [run("f2", components=(generator(fingerprint="aa22"), model(), judge()))]
    first = [run("f1", components=(generator(), model(), judge()))]
    in_child(mlflow_store.push, first)
    in_child(mlflow_store.push, changed)
    assert in_child(_counted_push, mlflow_store, first) == (Pushed(0, 0, 1), 6)  # two marks, one alias, and a turn
    client = mlflow_store.client()
    assert client.get_model_version_by_alias("generator.painter", "current").tags[FINGERPRINT] == "aa11"
    assert [len(_versions(mlflow_store, f"{kind}")) for kind in ("generator.painter", "model.regions")] == [2, 1]
    assert in_child(_counted_push, mlflow_store, first) == (Pushed(0, 0, 1), 0)


def test_one_fingerprint_in_two_roles_and_under_two_names_is_three_versions(mlflow_store: Store) -> None:
    """A judge that is evaluated too, and a second entry of the catalogue with the same settings."""
    components = (model("gpt", "ee55"), judge("gpt", "ee55"), model("gpt_again", "ee55"))
    assert mlflow_store.push([run("f1", components=components)]) == Pushed(1, 0, 0)
    shown = mlflow_store.dump()
    assert [each["name"] for each in shown["registered_versions"]] == ["judge.gpt", "model.gpt", "model.gpt_again"]
    assert sorted((each["name"], each["type"]) for each in shown["logged_models"]) == [
        ("gpt", "judge"),
        ("gpt", "model"),
        ("gpt_again", "model"),
    ]
    mlflow_store.push([run("f1", components=components), run("f2", components=components)])
    assert len(mlflow_store.dump()["logged_models"]) == 3


def _with_model(fingerprint: str, *served: str) -> list[Any]:
    return [run(fingerprint, components=(model("api", "cc33", *served),))]


def test_what_a_service_says_it_is_adds_up(mlflow_store: Store) -> None:
    seen = []
    for number, served in enumerate([["m-2"], [], ["m-1", "m-2"], ["m-1"]]):
        mlflow_store.push(_with_model(f"f{number}", *served))
        seen.append(_served(mlflow_store, "cc33", "model.api"))
    assert seen == [["m-2"], ["m-2"], ["m-1", "m-2"], ["m-1", "m-2"]]


def test_runs_of_one_push_add_to_what_a_service_said(mlflow_store: Store) -> None:
    mlflow_store.push(_with_model("f1", "m-2") + _with_model("f2", "m-1"))
    assert _served(mlflow_store, "cc33", "model.api") == ["m-1", "m-2"]


def test_a_service_of_many_names_fills_no_tag_in_whatever_order(new_store: Callable[[str], Store]) -> None:
    names = [f"m-{number:03}" for number in range(3 * MAX_SERVED)]
    found = []
    for name, pieces in (("forth", (names[:70], names[70:])), ("back", (names[100:], names[:100]))):
        store = new_store(name)
        for number, piece in enumerate(pieces):
            store.push(_with_model(f"f{number}", *piece))
        found.append(_served(store, "cc33", "model.api"))
    assert found == [[*names[:MAX_SERVED], "…"]] * 2


@pytest.mark.parametrize("written", ["gpt-4, by hand", "7", "null", '{"a": 1}'])
def test_a_tag_that_someone_wrote_over_is_no_obstacle(mlflow_store: Store, written: str) -> None:
    mlflow_store.push(_with_model("f1", "m-1"))
    [logged] = _logged(mlflow_store, "cc33")
    mlflow_store.client().set_logged_model_tags(logged.model_id, {SERVED: written})
    mlflow_store.client().set_model_version_tag("model.api", "1", SERVED, written)
    mlflow_store.push(_with_model("f2", "m-2"))
    assert "m-2" in _served(mlflow_store, "cc33", "model.api")


def test_what_someone_wrote_about_a_version_stays(mlflow_store: Store) -> None:
    mlflow_store.push([run("f1")])
    client = mlflow_store.client()
    client.update_model_version("generator.painter", "1", "mine")
    client.update_registered_model("generator.painter", "mine too")
    client.set_model_version_tag("generator.painter", "1", "provider", "renamed")
    mlflow_store.push([run("f2")])
    assert mlflow_store.dump()["descriptions"]["generator.painter"] == ["mine too", {"aa11": "mine"}]
    assert _versions(mlflow_store, "generator.painter")[0].tags["provider"] == "renamed"


def _as_it_was(store: Store) -> None:
    """A finished run with a generator version as the program wrote them before it knew of other components."""
    from driftledger.tracking.versions import _global_uri

    store.push([])
    client, experiment = store.client(), store.experiment_id()
    tags = {FINGERPRINT: "aa11", "mlflow.model.isExternal": "true"}
    logged = client.create_logged_model(experiment, "painter", tags=tags, params={"a": "b"}, model_type="generator")
    client.finalize_logged_model(logged.model_id, "READY")
    client.create_registered_model("generator.painter")
    with _global_uri(store.uri):
        client.create_model_version(
            "generator.painter", f"models:/{logged.model_id}", tags={FINGERPRINT: "aa11"}, model_id=logged.model_id
        )
    made = client.create_run(experiment, run_name="old", tags={FINGERPRINT: "f1", CURRENT: "true"})
    client.set_terminated(made.info.run_id, "FINISHED")


def test_a_store_of_an_earlier_version_goes_on(mlflow_store: Store) -> None:
    _as_it_was(mlflow_store)
    old, new = (run(name, components=(generator(), model())) for name in ("f1", "f2"))
    assert mlflow_store.push([old]) == Pushed(created=0, resumed=0, unchanged=1)
    shown = mlflow_store.dump()
    assert shown["runs"][0]["models"] == []  # a finished run is left alone
    assert [each["name"] for each in shown["registered_versions"]] == ["generator.painter"]
    assert shown["registered_versions"][0]["aliases"] == ["current"]
    assert mlflow_store.push([old, new]) == Pushed(created=1, resumed=0, unchanged=1)
    shown = mlflow_store.dump()
    assert [each["name"] for each in shown["registered_versions"]] == ["generator.painter", "model.regions"]
    about, versions = shown["descriptions"]["generator.painter"]
    assert about.startswith("The generator")
    assert versions == {"aa11": "It is painter."}
    painter = shown["logged_models"][0]
    assert painter["params"] == {"a": "b"}
    assert painter["tags"]["provider"] == shown["registered_versions"][0]["tags"]["provider"] == "painter"


def test_a_component_of_a_user_of_the_same_name_is_not_ours(mlflow_store: Store) -> None:
    client = mlflow_store.client()
    client.create_registered_model("generator.painter", description="someone else's")
    mlflow_store.push([run("f1")])
    assert mlflow_store.dump()["descriptions"]["generator.painter"] == ["someone else's", {"aa11": "It is painter."}]


def test_hostile_text_arrives_as_it_was_made_inert(mlflow_store: Store) -> None:
    said = "'; DROP TABLE tags; -- <script>\\u202e"
    content = run("f1", components=(replace(model("api", "cc33", said), tags={"identity.x": said * 400}),))
    mlflow_store.push([content])
    assert _served(mlflow_store, "cc33", "model.api") == [said]
    [version] = _versions(mlflow_store, "model.api")
    assert len(version.tags["identity.x"]) <= 5000
    assert version.tags["identity.x"].endswith("more characters)")


def test_versions_are_made_once_however_runs_are_shown(mlflow_store: Store) -> None:
    for runs in (two_runs(), earlier_runs(), two_runs(), [two_runs()[1]], earlier_runs()):
        mlflow_store.push(runs)
    shown = mlflow_store.dump()
    for kind in ("logged_models", "registered_versions"):
        fingerprints = [each["tags"][FINGERPRINT] for each in shown[kind]]
        assert sorted(fingerprints) == ["aa11", "bb11", "bb22", "cc33", "dd44"]


@pytest.fixture
def statements() -> Iterator[list[str]]:
    """What databases are sent from now on."""
    sent: list[str] = []

    def note(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        sent.append(statement)

    event.listen(Engine, "before_cursor_execute", note)
    yield sent
    event.remove(Engine, "before_cursor_execute", note)


def _linked(store: Store, fingerprint: str) -> list[str]:
    """The ids of the logged models that a run is linked to."""
    client, tagged = store.client(), f"tags.`{FINGERPRINT}` = '{fingerprint}'"
    [held] = client.search_runs([store.experiment_id()], tagged)
    return [each.model_id for each in client.get_run(held.info.run_id).inputs.model_inputs]


def test_a_new_run_does_not_read_what_earlier_runs_of_its_components_measured(
    mlflow_store: Store, statements: list[str]
) -> None:
    mlflow_store.push([run("f1")])
    statements.clear()
    mlflow_store.push([run("f1"), run("f2")])
    of_models = [each for each in statements if "logged_model" in each]
    assert {each.split()[0] for each in of_models} == {"INSERT"}
    assert _linked(mlflow_store, "f1") == _linked(mlflow_store, "f2")


def test_where_two_experiments_show_a_component_each_has_its_own_model(mlflow_store: Store) -> None:
    mlflow_store.push([run("f1")])
    push([run("f1")], tracking_uri=mlflow_store.uri, experiment="another", lock=mlflow_store.lock)
    push([run("f2")], tracking_uri=mlflow_store.uri, experiment="another", lock=mlflow_store.lock)
    mlflow_store.push([run("f2")])
    client, another = mlflow_store.client(), mlflow_store.client().get_experiment_by_name("another").experiment_id
    assert _linked(mlflow_store, "f2") == [each.model_id for each in _logged(mlflow_store, "aa11")]
    [held] = client.search_runs([another], f"tags.`{FINGERPRINT}` = 'f2'")
    [own] = client.search_logged_models([another])
    assert [each.model_id for each in client.get_run(held.info.run_id).inputs.model_inputs] == [own.model_id]
    assert len(_versions(mlflow_store, "generator.painter")) == 1


def test_a_repair_makes_a_model_again_that_somebody_deleted(mlflow_store: Store) -> None:
    mlflow_store.push([run("f1")])
    before = mlflow_store.dump()
    [logged] = _logged(mlflow_store, "aa11")
    mlflow_store.client().delete_logged_model(logged.model_id)
    push([run("f1")], tracking_uri=mlflow_store.uri, experiment=EXPERIMENT, lock=mlflow_store.lock, repair=True)
    after = mlflow_store.dump()
    assert after["logged_models"] == before["logged_models"]
    assert _linked(mlflow_store, "f1") == [each.model_id for each in _logged(mlflow_store, "aa11")]


def test_a_version_that_says_it_is_shown_as_a_double_no_longer_does_when_that_is_merged(mlflow_store: Store) -> None:
    mlflow_store.push([run("f1")])
    client, experiment = mlflow_store.client(), mlflow_store.experiment_id()
    [kept], [version] = _logged(mlflow_store, "aa11"), _versions(mlflow_store, "generator.painter")
    tags = {FINGERPRINT: "aa11", "provider": "painter"}
    double = client.create_logged_model(experiment, "painter", tags=tags, model_type="generator")
    said = version.tags[shown_as(experiment)]
    assert said.startswith(kept.model_id)
    client.set_model_version_tag(
        version.name, version.version, shown_as(experiment), said.replace(kept.model_id, double.model_id)
    )
    push([run("f1")], tracking_uri=mlflow_store.uri, experiment=EXPERIMENT, lock=mlflow_store.lock, repair=True)
    mlflow_store.push([run("f2")])
    assert _linked(mlflow_store, "f2") == [kept.model_id] == [each.model_id for each in _logged(mlflow_store, "aa11")]
    [version] = _versions(mlflow_store, "generator.painter")
    assert version.tags[shown_as(experiment)] == said

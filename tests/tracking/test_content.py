"""What MLflow would refuse half-way is refused before a push starts."""

import math

import pytest

from driftledger.tracking.content import ComponentVersion, DatasetInput, LoggedMetric, clip

from .contents import PHOTOS, generator, run

BAD_KEYS = ["gc@3", "gc(3)", "a,b", "a=b", "a+b", "a%", "", "a//b", "/a", "../a", "a/.", "gc\n", "größe", "x" * 251]


@pytest.mark.parametrize("key", BAD_KEYS)
def test_a_metric_key_that_mlflow_refuses_is_named(key: str) -> None:
    with pytest.raises(ValueError, match="metric ") as caught:
        LoggedMetric(key, 1.0)
    assert repr(key) in str(caught.value)


@pytest.mark.parametrize("key", BAD_KEYS)
@pytest.mark.parametrize("field", ["params", "tags"])
def test_so_is_a_param_or_tag_key(field: str, key: str) -> None:
    with pytest.raises(ValueError, match=field.removesuffix("s")):
        run("f1", **{field: {key: "x"}})


@pytest.mark.parametrize("key", ["gc", "genception/photos/gc_at_3", "dvc.lock:drift@".rstrip("@"), "a b", "a-b"])
def test_ordinary_keys_are_accepted(key: str) -> None:
    LoggedMetric(key, 1.0)
    run("f1", params={key: "x"}, tags={key: "x"})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_metric_is_finite(value: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        LoggedMetric("gc", value)


@pytest.mark.parametrize("path", ["/etc/passwd", "../up", "a/../../b", "", "."])
def test_an_artifact_stays_inside_the_run(path: str) -> None:
    with pytest.raises(ValueError, match="artifact path"):
        run("f1", artifacts={path: bytes})


def test_a_metric_names_a_dataset_of_its_run() -> None:
    with pytest.raises(ValueError, match="'elsewhere' is not a dataset"):
        run("f1", metrics=(LoggedMetric("gc", 1.0, dataset="elsewhere"),))


def test_a_metric_is_of_components_of_its_run() -> None:
    with pytest.raises(ValueError, match=r"'generator.crayon@bb22' is not a component of run"):
        run("f1", metrics=(LoggedMetric("gc", 1.0, of=("generator.crayon@bb22",), dataset="photos"),))


def test_nothing_is_given_twice() -> None:
    with pytest.raises(ValueError, match=r"metric and step \('gc', 1\) is given twice"):
        run("f1", metrics=(LoggedMetric("gc", 1.0, 1), LoggedMetric("gc", 2.0, 1)))
    late = run("f1", metrics=(LoggedMetric("gc", 1.0, 1),), late_metrics=lambda: [LoggedMetric("gc", 2.0, 1)])
    with pytest.raises(ValueError, match="twice"):
        late.every_metric()
    with pytest.raises(ValueError, match="dataset 'photos' is given twice"):
        run("f1", datasets=(PHOTOS, PHOTOS))
    with pytest.raises(ValueError, match=r"component 'generator.painter@aa11' is given twice"):
        run("f1", components=(generator(), generator()), metrics=())


def test_names_and_digests_fit_their_columns() -> None:
    with pytest.raises(ValueError, match="digest"):
        DatasetInput("photos", "0" * 37, "data", 1)
    with pytest.raises(ValueError, match="component name"):
        ComponentVersion("generator", "sd/3.5", "aa", {}, {})
    with pytest.raises(ValueError, match="fingerprint"):
        run("it's")
    with pytest.raises(ValueError, match="needs a name"):
        run("f1", name=" ")


def test_what_no_store_takes_is_inert() -> None:
    assert clip("a\0b\ud800", 100) == r"a\x00b\ud800"

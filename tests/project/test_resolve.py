"""``data/resolved.json``: all that a stage depends on is in it, and a change is where it belongs
and nowhere else."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import reduce
from operator import getitem
from pathlib import Path

import pytest
import yaml

from driftledger.benchmarks.registry import benchmark
from driftledger.core.canonical import sha256_of
from driftledger.core.errors import ConfigError
from driftledger.project.resolve import resolve
from driftledger.scoring.metric import MetricTable
from tests.conftest import REPOSITORY, draw
from tests.sentence import edit
from tests.support.cases import cases, each_case
from tests.support.small import changed, make_small


def digests_and_settings():
    """What is noted in the current folder: the digest of each stage's settings, and those."""
    return [
        json.loads(Path(f"data/{name}.json").read_bytes())
        for name in ("resolved", "settings")
    ]


@pytest.fixture
def resolved(tmp_path, monkeypatch):
    """What is noted for a small project after a change."""
    monkeypatch.chdir(tmp_path)
    make_small(tmp_path)

    def note(case):
        resolve(changed(tmp_path, lambda params: edit(params, case)))
        noted, behind = digests_and_settings()
        for kind in ("collect", "score"):
            for model, digest in noted[kind].items():
                noted[kind][model] = behind.pop(digest)
        for kind in ("data", "report", "track"):
            noted[kind] = behind.pop(noted[kind])
        assert behind == {}
        return noted

    return note


def differing(before, after, place=""):
    """The places where two notes are different."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in sorted({*before, *after}):
            below = f"{place}.{key}".lstrip(".")
            yield from differing(before.get(key), after.get(key), below)
    elif before != after:
        yield place


@pytest.mark.parametrize("behind", ["{", "[]", '{"a": [1]}', '{"b": {}}'])
def test_settings_that_somebody_damaged_are_as_if_they_were_lost(tmp_path, behind):
    project = make_small(tmp_path)
    (tmp_path / "data").mkdir(exist_ok=True)
    (tmp_path / "data/settings.json").write_text(behind)
    assert project.noted_settings("a") == {}


def test_every_stage_depends_on_one_digest(resolved):
    noted = resolved({})
    digests, behind = digests_and_settings()
    stages = yaml.safe_load((REPOSITORY / "dvc.yaml").read_text())["stages"]
    named = []
    for stage in stages.values():
        for each in stage.get("params", []):
            assert [*each] == ["data/resolved.json"], "no stage reads params.yaml"
            for model in ("regions_medium", "blind"):
                keys = each["data/resolved.json"]
                named += [key.replace("${item.model}", model) for key in keys]
    assert len({*named}) == 1 + 2 + 2 + 1 + 1
    for key in named:
        found, digest = [reduce(getitem, key.split("."), of) for of in (noted, digests)]
        assert behind[digest] == found
        assert sha256_of(found) == digest
    assert len(noted["collect"]["blind"]) == 7
    assert len(noted["score"]["blind"]) == 7


@each_case(cases(__file__, "resolve"))
def test_a_change_is_noted_where_it_belongs(case, resolved, monkeypatch):
    """``noted`` are patterns of places; without them the change is noted nowhere."""
    before = resolved({})
    if "draws" in case:
        draw(Path(case["draws"]), 9)
    for name, attribute in case.get("raises", {}).items():
        spec = type(benchmark(name))
        stage = getattr(spec, attribute)
        further = replace(stage, version=stage.version + 1)
        monkeypatch.setattr(spec, attribute, further)
    places = [*differing(before, resolved(case))]
    patterns = case["noted"]
    for pattern in patterns:
        assert any(fnmatchcase(place, pattern) for place in places), pattern
    for place in places:
        assert any(fnmatchcase(place, pattern) for pattern in patterns), place


def test_a_further_metric_is_computed_everywhere_and_nothing_else_is(
    resolved, monkeypatch
):
    before = resolved({})
    spec = type(benchmark("genception"))
    further = replace(spec.metrics.first, name="further")
    monkeypatch.setattr(spec, "metrics", MetricTable(*spec.metrics, further))
    found = [*differing(before, resolved({}))]
    assert {place.partition(".")[0] for place in found} == {"score"}
    assert all(".genception/" in place for place in found)


def test_a_benchmark_that_goes_over_nothing_is_left_out(resolved):
    noted = resolved({"set": {"run.mm_vet": [], "run.fidelity": []}})
    assert noted["judge"] == "none"
    assert "rubric" not in noted["models"]
    assert noted["beside"] == {}
    scored = {name.partition("/")[0] for name in noted["score"]["blind"]}
    assert scored == {"genception", "self_retrieval", "trac", "mm_sap", "mme"}


def test_peoples_ratings_are_noted(tmp_path, resolved):
    missing = r"fidelity\.ratings in params\.yaml is ratings\.csv, which is missing"
    with pytest.raises(ConfigError, match=missing):
        resolved({"set": {"fidelity.ratings": "ratings.csv"}})
    (tmp_path / "ratings.csv").write_text("rating\n")
    before = resolved({})
    (tmp_path / "ratings.csv").write_text("rating\n5\n")
    places = {
        re.sub(r"\.(blind|regions_medium)\.", ".*.", place)
        for place in differing(before, resolved({}))
    }
    assert places == {
        "beside.fidelity.ratings",
        "score.*.fidelity/my_images/painter/layout.ratings",
    }

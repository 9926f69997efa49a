"""Which code is behind which stage of the benchmarks that describe: a change reruns what it can have changed."""

import pytest

from driftledger.benchmarks.code import WRITING, code_behind
from driftledger.benchmarks.registry import benchmark, benchmarks
from driftledger.core.code_digest import module_digests

DESCRIBING = ("genception", "trac", "fidelity")


def modules_behind(code: str) -> set[str]:
    return {each.removeprefix("driftledger.") for each in module_digests(code)}


def stages_behind(module: str) -> set[str]:
    """The stages of these benchmarks, by name, whose closure holds a module of ours."""
    return {
        stage.name
        for name in DESCRIBING
        for stage in (*benchmark(name).collects, benchmark(name).scores)
        if module in modules_behind(stage.code)
    }


@pytest.mark.parametrize(
    ("module", "stages"),
    [
        ("metrics.drift", {"genception", "fidelity"}),
        ("metrics.retrieval", {"trac"}),
        ("metrics.naming", {"trac"}),
        ("metrics.structural", {"fidelity"}),
        ("metrics.agreement", {"fidelity"}),
        ("metrics.neighbours", {"describe", "trac", "genception"}),
        ("metrics.consistency", {"genception"}),
        ("benchmarks.genception.score", {"genception"}),
        ("benchmarks.genception.texts", {"genception"}),
        ("benchmarks.genception.witnesses", {"witness"}),
        ("benchmarks.fidelity.ratings", {"fidelity"}),
        ("benchmarks.fidelity.encode", {"redraw", "fidelity"}),
        ("benchmarks.trac.retrieval", {"trac"}),
        ("benchmarks.trac.examples", {"describe"}),
        ("benchmarks._chains.collect", {"chain", "redraw"}),
        ("benchmarks._chains.flags", {"genception", "fidelity"}),
        ("benchmarks._chains.records", {"chain", "genception", "redraw", "fidelity"}),
        ("benchmarks._chains.contact_sheet", set()),
        ("benchmarks.descriptions", {"describe", "redraw"}),
        ("benchmarks.tables", set()),
    ],
)
def test_a_part_is_behind_the_stages_that_go_by_it(module: str, stages: set[str]) -> None:
    assert stages_behind(module) == stages


@pytest.mark.parametrize("name", DESCRIBING)
def test_no_stage_has_anything_to_do_with_other_benchmarks_nor_with_scheduling(name: str) -> None:
    others = {each.name for each in benchmarks()} - {name}
    for stage in (*benchmark(name).collects, benchmark(name).scores):
        modules = modules_behind(stage.code)
        assert not [each for each in modules if each.startswith("benchmarks.") and each.split(".")[1] in others]
        assert not modules & {"benchmarks.base", "collect.run", "collect.store", "components.remote.client"}
    scoring = modules_behind(benchmark(name).scores.code)
    collecting = {each for each in scoring if each.startswith("collect.")}
    assert collecting == {"collect.call", "collect.features"}
    assert not any(each.endswith(".collect") for each in scoring)


def test_what_writes_all_outputs_is_behind_all_stages_and_is_little() -> None:
    assert modules_behind(WRITING) == {
        *("driftledger", "benchmarks", "benchmarks.writing", "benchmarks.records", "benchmarks.score"),
        *("components", "components.card", "core", "core.canonical", "core.errors", "core.escaping", "core.files"),
        *("core.distributions", "core.limits", "core.names", "core.strict", "core.types"),
    }


def test_what_dvc_is_to_show_of_a_score_is_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = benchmark("mm_sap")
    before = {stage.name: code_behind(spec, stage) for stage in (*spec.collects, spec.scores)}
    monkeypatch.setattr(type(spec), "dvc_metrics", ("score",))
    after = {stage.name: code_behind(spec, stage) for stage in (*spec.collects, spec.scores)}
    assert {name for name in before if before[name] != after[name]} == {"mm_sap"}


@pytest.mark.parametrize("name", DESCRIBING)
def test_collecting_has_nothing_to_do_with_scoring(name: str) -> None:
    for stage in benchmark(name).collects:
        modules = modules_behind(stage.code)
        assert not [
            each
            for each in modules
            if each.startswith("benchmarks.") and each.endswith(".score") and each.count(".") > 1
        ]
        assert {each for each in modules if each.startswith("metrics.")} <= {"metrics._checks", "metrics.neighbours"}

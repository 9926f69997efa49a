"""Which code is behind which stage: a change reruns what it can have changed, and nothing else."""

import pytest

from driftledger.benchmarks.registry import benchmark, benchmarks
from driftledger.core.code_digest import module_digests

QUESTIONS = ("mm_sap", "mm_vet", "mme")


def stages_behind(module: str) -> set[str]:
    """The stages of all benchmarks, as ``benchmark: stage``, whose closure holds a module of ours."""
    return {
        f"{spec.name}: {stage.name}"
        for spec in benchmarks()
        for stage in (*spec.collects, spec.scores)
        if f"driftledger.{module}" in module_digests(stage.code)
    }


@pytest.mark.parametrize(
    ("module", "stages"),
    [
        ("metrics.yes_no", {"mme: mme"}),
        ("metrics.self_awareness", {"mm_sap: mm_sap"}),
        ("metrics.capabilities", {"mm_vet: mm_vet"}),
        ("benchmarks._questions.parsing.choice", {"mm_sap: grade"}),
        ("benchmarks._questions.parsing.reading", {"mm_sap: grade"}),
        ("benchmarks._questions.parsing.yes_no", {"mme: grade"}),
        ("benchmarks._questions.parsing.grade", {"mm_vet: grade"}),
        ("benchmarks._questions.parsing.text", {f"{name}: grade" for name in QUESTIONS}),
        ("benchmarks._questions.answers", {f"{name}: answer" for name in QUESTIONS}),
        ("benchmarks._questions.scoring", {f"{name}: {name}" for name in QUESTIONS}),
    ],
)
def test_a_part_is_behind_the_stages_that_go_by_it(module: str, stages: set[str]) -> None:
    assert stages_behind(module) == stages


@pytest.mark.parametrize("name", QUESTIONS)
def test_scoring_has_nothing_to_do_with_collecting_nor_with_other_benchmarks(name: str) -> None:
    modules = {each.removeprefix("driftledger.") for each in module_digests(benchmark(name).scores.code)}
    assert {each for each in modules if each.startswith("collect.")} == {"collect.call"}
    assert {each for each in modules if each.startswith("components.")} == {"components.base", "components.card"}
    others = {each.name for each in benchmarks()} - {name}
    assert not [each for each in modules if each.startswith("benchmarks.") and each.split(".")[1] in others]
    assert "benchmarks.base" not in modules

"""The embedded question sets as they are asked: how many, of which kinds, and in a form that gives nothing away."""

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from driftledger.core.registry import provider_class
from driftledger.data.question_sets.base import SourceQuestion
from driftledger.data.question_sets.files import read_questions
from driftledger_demo.scenes.mm_sap import REFUSALS
from driftledger_demo.scenes.mm_sap_beyond import GROUPS
from driftledger_demo.scenes.open_questions import CAPABILITIES
from driftledger_demo.scenes.provider import Protocol, Scenes
from tests.data.question_sets.sources import build_set, check
from tests.demo.scenes import scenes_reader
from tests.support.machines import DISPATCHED, blas, environment, without

GOLDEN = Path(__file__).parents[1] / "golden" / "scenes.py"
PROTOCOLS: tuple[Protocol, ...] = ("mm_sap", "mm_vet", "mme")


@cache
def asked(protocol: Protocol, count: int = 120, seed: int = 1) -> tuple[SourceQuestion, ...]:
    return tuple(scenes_reader.asked(protocol, count, seed))


def told(questions: tuple[SourceQuestion, ...]) -> list[tuple[object, ...]]:
    return [(one.id, one.image_id, one.question, one.options, one.answer, one.refusal) for one in questions]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=8)
def test_every_set_keeps_the_rules_of_its_benchmark(protocol: Protocol, seed: int) -> None:
    check("scenes", protocol, asked(protocol, 40, seed))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_set_can_be_built(protocol: Protocol, tmp_path: Path) -> None:
    build_set("scenes", Scenes(protocol=protocol, count=13), tmp_path / "set")
    entries = read_questions(tmp_path / "set")
    assert [entry.question for entry in entries] == [one.question for one in asked(protocol, 13)]
    assert len(list((tmp_path / "set" / "images").iterdir())) == 13
    assert not any(entry.notes for entry in entries)


def test_mm_sap_has_its_three_subsets_and_the_papers_six_groups() -> None:
    questions = asked("mm_sap")
    assert len(questions) >= 300
    assert len({one.image_id for one in questions}) >= 100
    subtasks = {
        subset: Counter(q.subtask for q in questions if q.subset == subset) for subset in ("basic", "know", "beyond")
    }
    basic = {"shape", "color", "count", "position", "size", "existence", "text", "background"}
    assert set(subtasks["basic"]) == basic
    assert set(subtasks["know"]) == {"national_flags", "road_signs", "mathematical_symbols"}
    assert set(subtasks["beyond"]) == set(GROUPS)
    assert all(count >= 15 for counts in subtasks.values() for count in counts.values())
    assert all(sum(counts.values()) >= 100 for counts in subtasks.values())


def test_every_mm_sap_question_has_one_refusal_of_one_wording() -> None:
    questions = asked("mm_sap")
    for one in questions:
        assert [option for option in one.options if option in REFUSALS] == [one.refusal]
    for subset in ("basic", "know", "beyond"):
        assert {one.refusal for one in questions if one.subset == subset} == set(REFUSALS)


HINTS: dict[str, Callable[[str], object]] = {
    "the first": lambda option: 0,
    "the longest": len,
    "the shortest": lambda option: -len(option),
    "the first by alphabet": lambda option: [-ord(letter) for letter in option],
    "the largest number": lambda option: sum(map(int, re.findall(r"\d+", option))),
    "the smallest number": lambda option: -sum(map(int, re.findall(r"\d+", option))),
}


@pytest.mark.parametrize("hint", HINTS)
def test_the_form_of_an_option_does_not_give_the_right_one_away(hint: str) -> None:
    answerable = [one for seed in range(4) for one in asked("mm_sap", 120, seed) if one.answer is not None]
    right = sum(max(one.options[:4], key=HINTS[hint]) == one.answer for one in answerable)
    assert 0.2 < right / len(answerable) < 0.3


def test_beyond_asks_about_what_nothing_shows() -> None:
    beyond = [one for one in asked("mm_sap") if one.subset == "beyond"]
    hidden = [one for one in beyond if "grey bar" in one.question]
    assert len({one.question for one in beyond}) > 90
    assert hidden
    assert {one.subtask for one in hidden} == {"missing_visual_information"}


def test_mm_vet_takes_all_capabilities_in_many_combinations() -> None:
    questions = asked("mm_vet")
    assert len(questions) >= 60
    assert {name for one in questions for name in one.capabilities} == set(CAPABILITIES)
    assert len({one.capabilities for one in questions}) >= 16
    for one in questions:
        assert list(one.capabilities) == [name for name in CAPABILITIES if name in one.capabilities]
        parts = re.split("<AND>|<OR>", one.answer or "")
        assert all(parts)
        assert len(set(parts)) == len(parts)
        assert not ("<AND>" in (one.answer or "") and "<OR>" in (one.answer or ""))


def test_mme_asks_two_questions_per_image_of_which_one_is_true() -> None:
    questions = asked("mme")
    assert len(questions) == 240
    assert set(Counter(one.category for one in questions)) == {
        *("existence", "count", "position", "color", "OCR", "numerical_calculation", "commonsense_reasoning"),
    }
    by_image: dict[str, list[SourceQuestion]] = {}
    for one in questions:
        by_image.setdefault(one.image_id, []).append(one)
        assert one.question.endswith("? Please answer yes or no.")
    for pair in by_image.values():
        assert sorted(one.answer or "" for one in pair) == ["no", "yes"]
        assert len({one.category for one in pair}) == 1
    assert 40 < sum(pair[0].answer == "yes" for pair in by_image.values()) < 80


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_more_scenes_leave_the_earlier_ones_as_they_are(protocol: Protocol) -> None:
    few = asked(protocol, 20)
    assert told(asked(protocol, 40))[: len(few)] == told(few)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_digest_changes_with_every_setting(protocol: Protocol) -> None:
    settings_of = [{}, {"count": 121}, {"seed": 2}]
    digests = [Scenes(protocol=protocol, **more).source_digest() for more in settings_of]
    others = [Scenes(protocol=other).source_digest() for other in PROTOCOLS if other != protocol]
    assert len({*digests, *others}) == 5
    assert Scenes(protocol=protocol).source_digest() == digests[0]
    assert told(asked(protocol, 20, 1)) != told(asked(protocol, 20, 2))


@pytest.mark.parametrize("wrong", [{"count": 0}, {"count": 10_001}, {"seed": -1}, {"seed": 2**32}, {"images": 3}])
def test_settings_out_of_bounds_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        Scenes(protocol="mme", **wrong)


def test_the_registry_finds_the_provider() -> None:
    assert provider_class("question_sets", "scenes") is Scenes


def golden(**machine: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, str(GOLDEN)], env=environment(machine), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def now() -> dict[str, object]:
    return golden(PYTHONHASHSEED="12345")


def test_pixels_and_words_change_only_with_the_version(now: dict[str, object]) -> None:
    written = json.loads(GOLDEN.with_suffix(".json").read_text())
    how = "then run: python tests/demo/golden/scenes.py --write"
    assert Scenes.version in written, f"version {Scenes.version} of scenes is not written down; {how}"
    assert now[Scenes.version] == written[Scenes.version], (
        f"scenes changed: raise the version of Scenes if this is meant, {how}"
    )


@pytest.mark.slow
@pytest.mark.parametrize("kept", range(len(DISPATCHED) + 1))
def test_same_pixels_at_every_cpu_level(now: dict[str, object], kept: int) -> None:
    """``kept`` is how many of numpy's dispatched feature levels are left on."""
    assert golden(**without(*DISPATCHED[kept:]), **blas("Prescott", 1)) == now

"""The components behind a hand-written ledger, as versions that MLflow shows."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.benchmarks.score import Score
from driftledger.benchmarks.selection import Selected
from driftledger.components.card import ComponentCard
from driftledger.core.escaping import for_line
from driftledger.ledger.lineage import read_evidence
from driftledger.tracking.component_versions import version_of
from driftledger.tracking.content import ComponentVersion, RunContent
from driftledger.tracking.projection import run_content
from tests.support.description_ledgers import FIDELITY, TRAC, add_fidelity, add_trac, trac_score
from tests.support.ledgers import (
    COMBINATION,
    KEYS,
    SELECTED,
    component,
    genception_score,
    selected,
    varied,
    write_ledger,
)
from tests.support.question_ledgers import EXAM, add_questions, question_score

HOSTILE = "=cmd()|'<img src=x>`\x1b[31m\u202e\n,;\"@[a](javascript:b)"
ALL = selected(("genception", KEYS), *TRAC, *FIDELITY, ("mm_sap", EXAM))


def content(root: Path, chosen: Selected = ALL) -> RunContent:
    return run_content(root, read_evidence(root, chosen, COMBINATION))


def write_all(root: Path, served: dict[str, dict[str, int]] | None = None, *trac: Score) -> None:
    write_ledger(root, genception_score(served=served or {}))
    add_trac(root, *trac)
    add_fidelity(root)
    add_questions(root, varied(question_score(), judge=component("umpire")))


def test_every_component_of_a_run_is_a_version_once(tmp_path: Path) -> None:
    write_all(tmp_path)
    assert sorted((each.registered_name, each.fingerprint) for each in content(tmp_path).components) == [
        (f"{kind}.{name}", component(name).fingerprint)
        for kind, name in (
            *(("encoder", "counter"), ("encoder", "eye"), ("encoder", "reader"), ("generator", "brush")),
            *(("judge", "umpire"), ("model", "narrator"), ("model", "seer")),
        )
    ]


@pytest.mark.parametrize(
    ("end", "names"),
    [
        (".genception.shapes", {"model.seer", "generator.brush", "encoder.eye"}),
        (".fidelity.shapes", {"model.seer", "generator.brush", "encoder.eye"}),
        ("top1.trac.digits", {"model.seer", "encoder.reader"}),
        (".trac.digits.shown.counter", {"model.seer", "encoder.counter"}),
        (".mm_sap.exam", {"model.seer", "judge.umpire"}),
    ],
)
def test_a_headline_is_of_the_components_that_it_measures(tmp_path: Path, end: str, names: set[str]) -> None:
    """Who only described the demonstrations is a component of the run, and the scores are not of it."""
    write_all(tmp_path)
    found = [metric for metric in content(tmp_path).every_metric() if metric.key.endswith(end) and metric.of]
    assert found
    assert len({metric.key for metric in found}) == len(found), "a step series is linked"
    assert {frozenset(key.partition("@")[0] for key in metric.of) for metric in found} == {frozenset(names)}


def test_params_and_tags_say_what_it_resolves_to(tmp_path: Path) -> None:
    pinned = component("seer", settings={"path": "org/m"}, identity={"weights": {"commit": "ab"}, "device": "cpu"})
    write_ledger(tmp_path, varied(genception_score(), model=pinned))
    seer = next(each for each in content(tmp_path, SELECTED).components if each.kind == "model")
    assert seer.params["model.path"] == "org/m"
    assert seer.tags == {
        "provider": "seer_provider",
        "version": "3",
        "identity.weights.commit": "ab",
        "identity.device": "cpu",
    }


def test_what_services_said_is_gathered_over_benchmarks(tmp_path: Path) -> None:
    trac = [trac_score("short", each, served={"model": {"m-2": 1}}) for each in ("reader", "counter")]
    write_all(tmp_path, {"model": {"m-1 fp": 3}, "generator": {"d\u202e\x1b-3": 1}}, *trac)
    found = content(tmp_path, selected(("genception", KEYS), *TRAC[:2])).components
    assert {each.name: each.served for each in found if each.served} == {
        "seer": {"m-1 fp", "m-2"},
        "brush": {"d\\x202e\\x1b-3"},
    }


def test_the_description_says_what_it_is_and_how_to_ask_for_its_scores() -> None:
    card = ComponentCard(
        name="painter",
        fingerprint="0123456789abcdef" * 4,
        provider="painter",
        version="2",
        settings={"batch_size": 16, "longest_side": 256},
        identity={"pillow": "12.0"},
    )
    assert version_of("generator", card).description.splitlines() == [
        "The generator `painter`: provider painter, code version 2.",
        "",
        "- fingerprint: `0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef`",
        "- settings:",
        "  - batch\\_size: 16",
        "  - longest\\_side: 256",
        "- identity:",
        "  - pillow: 12\\.0",
        "",
        "Which scores it touched: `driftledger audit --generator painter@0123456789ab`",
    ]


def test_the_description_of_a_marked_version_begins_with_its_mark() -> None:
    lines = version_of("model", component("seer", mark="made <b>elsewhere</b>")).description.splitlines()
    assert lines[2] == "made &lt;b&gt;elsewhere&lt;/b&gt;"


def described(text: str, settings: int = 1) -> ComponentVersion:
    return version_of("judge", component("umpire", settings={f"s{n}": text for n in range(settings)}))


@pytest.mark.parametrize("text", [HOSTILE, "x" * 9000, "&" * 9000, "\x00" * 9000, "\ud800"])
@pytest.mark.parametrize("settings", [1, 400])
def test_a_description_fits_the_registry_and_never_loses_its_end(text: str, settings: int) -> None:
    said = described(text, settings).description
    assert len(said) <= 5000
    assert said.splitlines()[-1].startswith("Which scores it touched: `driftledger audit --judge umpire@")
    said.encode()


@given(st.text())
def test_text_in_a_description_is_one_line_without_markup(text: str) -> None:
    said = described(text).description.splitlines()[4]
    assert said.startswith("  - s0: ")
    assert for_line(said) == " ".join(said.split())
    assert "<" not in said
    assert not {"`", "[", "*"} & {letter for letter, before in zip(said[9:], said[8:], strict=False) if before != "\\"}


def test_hostile_names_of_components_are_refused() -> None:
    with pytest.raises(ValueError, match="component name"):
        version_of("model", component("a/../b"))


def test_a_describer_of_examples_that_is_the_model_itself_is_one_version(tmp_path: Path) -> None:
    shown = {"example_model": component("seer"), "example_encoder": component("reader")}
    score = varied(trac_score("shown"), **shown)
    add_trac(tmp_path, score)
    run = content(tmp_path, selected(("trac", score.keys)))
    assert [each.registered_name for each in run.components] == ["model.seer", "encoder.reader"]

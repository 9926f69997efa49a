"""A component of exactly the recorded version, or one clear reason why there is none."""

from pathlib import Path
from typing import Any

import pytest

from driftledger.components.base import Component
from driftledger.components.card import ComponentCard
from driftledger.components.models.human import Human
from driftledger.components.models.openai_chat import OpenAIChat
from driftledger.components.models.predictions.model import Predictions
from driftledger.core.canonical import sha256_of
from driftledger.demo.encoders.layout import LayoutEncoder
from driftledger.demo.encoders.tfidf import TfIdf
from driftledger.demo.generators.painter import Painter
from driftledger.ledger.verify.components import Components, Kind, Unavailable, at_hand
from driftledger.project.settings import Settings
from tests.support.params import default_settings


@pytest.fixture(scope="module")
def settings() -> Settings:
    return default_settings()


def with_entry(settings: Settings, section: str, name: str, **entry: Any) -> Settings:
    """``params.yaml`` with one more entry, in front of the others."""
    content = settings.model_dump(mode="json")
    content[section] = {name: entry} | content[section]
    return type(settings).model_validate(content)


def why(card: ComponentCard, settings: Settings | None, kind: Kind) -> str:
    found = at_hand(card, settings, kind)
    assert isinstance(found, Unavailable)
    return found.why


def test_every_embedded_entry_is_at_hand_under_its_name_and_any_other(settings: Settings) -> None:
    kinds: tuple[tuple[Kind, Any], ...] = (
        ("model", settings.model),
        ("generator", settings.generator),
        ("encoder", settings.encoder),
    )
    embedded = {"regions", "blind", "always_refuse", "random_choice", "rubric", "painter", "layout", "tfidf"}
    seen = set()
    for kind, build in kinds:
        for name, entry in settings.entries(f"{kind}s").items():
            provider = getattr(entry, "provider", None)
            if provider in embedded:
                component: Component = build(name)
                for called in (name, "elsewhere"):
                    found = at_hand(ComponentCard.of(called, component), settings, kind)
                    assert isinstance(found, type(component))
                    assert found.fingerprint == component.fingerprint
                seen.add(provider)
    assert seen == embedded


def test_old_settings_are_built_from_the_record_alone(settings: Settings) -> None:
    old = ComponentCard.of("painter", Painter(longest_side=48))
    for here in (settings, None):
        found = at_hand(old, here, "generator")
        assert isinstance(found, Painter)
        assert found.longest_side == 48


def test_another_version_of_the_code(settings: Settings) -> None:
    card = ComponentCard.of("layout", LayoutEncoder()).model_copy(update={"version": "0"})
    expected = "encoder layout: its provider is of version 1 here, and was of version 0"
    assert why(card, settings, "encoder") == expected


def test_another_library(settings: Settings) -> None:
    card = ComponentCard.of("tfidf", TfIdf())
    older = card.identity | {"scikit-learn": "0.1"}
    card = card.model_copy(update={"identity": older, "fingerprint": "f" * 64})
    said = why(card, settings, "encoder")
    assert said.startswith("encoder tfidf: its scikit-learn is '")
    assert said.endswith("' here, and was '0.1'")


def test_settings_that_are_not_known_any_more(settings: Settings) -> None:
    card = ComponentCard.of("painter", Painter())
    card = card.model_copy(update={"settings": card.settings | {"brushes": 3}})
    said = why(card, settings, "generator")
    assert said.startswith("generator painter: its provider here does not take its recorded settings: ")
    assert "brushes" in said


def test_a_record_that_does_not_fit_its_own_fingerprint(settings: Settings) -> None:
    card = ComponentCard.of("painter", Painter()).model_copy(update={"fingerprint": "0" * 64})
    said = "generator painter: its record does not fit its own fingerprint 000000000000"
    assert why(card, settings, "generator") == said


def test_a_provider_that_is_not_known(settings: Settings) -> None:
    card = ComponentCard.of("painter", Painter()).model_copy(update={"name": "\x1b[2Jx", "provider": "os:system"})
    said = why(card, settings, "generator")
    assert said == "generator \\x1b[2Jx: there is no provider 'os:system' here"


def test_a_service_is_never_at_hand(settings: Settings) -> None:
    card = ComponentCard.of("gpt_4o", OpenAIChat.model_validate({"model": "gpt-4o-2024-08-06"}))
    assert why(card, settings, "model") == "model gpt_4o: a service does not answer twice the same"


def test_where_a_sheet_lies_is_taken_from_the_catalogue(settings: Settings, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("sample,t,text,annotator\na,1,A cat.,\n", encoding="utf-8")
    card = ComponentCard.of("people", Human(path=sheet))
    assert "path" not in card.settings
    known = with_entry(settings, "models", "renamed", provider="human", path=str(sheet))
    assert isinstance(at_hand(card, known, "model"), Human)
    sheet.write_text("sample,t,text,annotator\na,1,A dog.,\n", encoding="utf-8")
    assert why(card, known, "model").startswith("model people: its sha256 is '")
    sheet.unlink()
    assert "sheet.csv" in why(card, known, "model")
    assert why(card, None, "model") == "model people: no entry of params.yaml says its path"


def test_predictions_are_at_hand_where_their_file_is_and_only_as_it_was(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "theirs.json"
    file.write_text('{"q0": "Red."}', encoding="utf-8")
    card = ComponentCard.of("theirs", Predictions(path=file))
    known = with_entry(settings, "models", "renamed", provider="predictions", path=str(file))
    assert isinstance(at_hand(card, known, "model"), Predictions)
    file.write_text('{"q0": "Blue."}', encoding="utf-8")
    assert why(card, known, "model").startswith("model theirs: its sha256 is '")
    file.unlink()
    assert "theirs.json' is missing" in why(card, known, "model")


def test_each_version_is_looked_for_once(settings: Settings) -> None:
    components = Components(settings)
    card = ComponentCard.of("layout", LayoutEncoder())
    assert components.get(card, "encoder") is components.get(card, "encoder")
    assert components.get(card.model_copy(update={"fingerprint": "0" * 64}), "encoder") != components.get(
        card, "encoder"
    )


class TestWeights:
    """Of checkpoints, whose folders are hashed and never loaded: what stands in them here is no checkpoint."""

    pytestmark = pytest.mark.neural

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        pytest.importorskip("torch")
        pytest.importorskip("transformers")
        (tmp_path / "clip").mkdir()
        (tmp_path / "clip" / "model.safetensors").write_bytes(b"no weights")
        return tmp_path / "clip"

    def card(self, settings: Settings) -> ComponentCard:
        return ComponentCard.of("seen", settings.encoder("seen"))

    def test_found_by_their_bytes(self, settings: Settings, folder: Path) -> None:
        known = with_entry(settings, "encoders", "seen", provider="clip", path=str(folder), device="cpu")
        card = self.card(known)
        assert not isinstance(at_hand(card, known, "encoder"), Unavailable)
        moved = folder.rename(folder.with_name("moved"))
        assert "is no folder here" in why(card, known, "encoder")
        again = with_entry(settings, "encoders", "elsewhere", provider="clip", path=str(moved), device="cpu")
        assert not isinstance(at_hand(card, again, "encoder"), Unavailable)
        (moved / "model.safetensors").write_bytes(b"NO weights")
        said = f"encoder seen: its weights at {moved} are not those of fingerprint {card.fingerprint[:12]}"
        assert why(card, again, "encoder") == said

    @pytest.mark.parametrize("setting", ["allow_pickle", "trust_remote_code"])
    def test_what_may_run_code_takes_trust(self, settings: Settings, folder: Path, setting: str) -> None:
        entry = {"provider": "clip", "path": str(folder), "device": "cpu", setting: True}
        known = with_entry(settings, "encoders", "seen", **entry)
        card = self.card(known)
        said = f"encoder seen: its checkpoint may run code ({setting}), which takes --trust"
        assert why(card, known, "encoder") == said
        assert not isinstance(at_hand(card, known, "encoder", trust=True), Unavailable)

    def test_a_commit_of_the_hub_is_taken_as_recorded(self, settings: Settings, folder: Path) -> None:
        commit = {"provider": "clip", "path": "o/clip", "device": "cpu"}
        card = self.card(with_entry(settings, "encoders", "seen", revision="a" * 40, **commit))
        moved_on = with_entry(settings, "encoders", "seen", revision="b" * 40, **commit)
        found = at_hand(card, moved_on, "encoder")
        assert not isinstance(found, Unavailable)
        assert found.identity()["weights"] == {"repository": "o/clip", "commit": "a" * 40}
        assert "no entry of params.yaml" in why(card, settings.model_copy(update={"encoders": {}}), "encoder")

    def test_a_record_alone_switches_nothing_dangerous_on(self, settings: Settings, folder: Path) -> None:
        entry = {"provider": "clip", "path": str(folder), "device": "cpu"}
        allowed = with_entry(settings, "encoders", "seen", allow_pickle=True, **entry)
        card = self.card(allowed)
        assert not isinstance(at_hand(card, allowed, "encoder", trust=True), Unavailable)
        plain = with_entry(settings, "encoders", "seen", **entry)
        assert isinstance(at_hand(card, plain, "encoder", trust=True), Unavailable)

    def test_reduced_precision_in_company_is_not_repeatable(self, settings: Settings, folder: Path) -> None:
        for dtype, batch, repeatable in (("float32", 16, True), ("float16", 1, True), ("float16", 16, False)):
            entry = {"provider": "clip", "path": str(folder), "dtype": dtype, "batch_size": batch}
            encoder = with_entry(settings, "encoders", "seen", **entry).encoder("seen")
            assert (encoder.unrepeatable is None) == repeatable


def test_the_fingerprint_is_of_the_card(settings: Settings) -> None:
    card = ComponentCard.of("layout", LayoutEncoder())
    spec = {key: getattr(card, key) for key in ("provider", "version", "settings", "identity")}
    assert sha256_of(spec) == card.fingerprint

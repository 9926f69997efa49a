"""Where code is all there is, code is the identity; elsewhere it is recorded beside it."""

from pathlib import Path
from typing import ClassVar, cast

from driftledger.components.base import Component, ComponentCard
from driftledger.components.checkpoints import CheckpointComponent
from driftledger.components.human import Human
from driftledger.components.openai import OpenAIChat
from driftledger.components.service import RemoteComponent
from driftledger.core.canonical import sha256_of
from driftledger.core.code_digest import code_digest
from driftledger.core.registry import provider_class, providers
from driftledger_demo.generators.painter import Painter
from tests.support.fakes import EchoModel


def test_weights_services_and_people_have_an_identity_of_their_own() -> None:
    for section in ("models", "generators", "encoders"):
        for name, place in providers(section).items():
            cls = cast(type[Component], provider_class(section, name))
            if issubclass(cls, CheckpointComponent | RemoteComponent | Human):
                assert not cls.code_is_identity, name
            assert cls.code_is_identity or ".demo." not in place, name


def test_a_component_that_comes_with_driftledger_has_a_version_and_no_digest(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("sample,t,text,annotator\na,1,A cat.,\n", encoding="utf-8")
    for component in (OpenAIChat.model_validate({"model": "gpt-4o-2024-08-06"}), Human(path=sheet)):
        card = ComponentCard.of("one", component)
        assert component.code_digest is None
        assert "code" not in component.spec["identity"]
        assert card.fingerprint == sha256_of(component.spec)


class InheritingPainter(Painter):
    """Of a distribution of its own, as a user's is."""


class AdaptedEcho(EchoModel):
    code_is_identity: ClassVar[bool] = False


def test_what_is_inherited_from_another_distribution_counts() -> None:
    assert InheritingPainter().code_digest == code_digest(__name__, Painter.__module__) != code_digest(__name__)


def test_a_user_may_declare_an_adapter() -> None:
    assert ComponentCard.of("echo", AdaptedEcho()).identity == {}
    assert EchoModel().spec["identity"] == {"code": EchoModel().code_digest}

"""Components: what their fingerprints are made of, what their settings refuse, and which of them
are one."""

import json
from importlib import metadata

import pytest
import yaml
from pydantic import Field

from driftledger.collect.call import Ask
from driftledger.components.base import (
    ComponentCard,
    Encoder,
    Generator,
    Model,
)
from driftledger.components.human import Human
from driftledger.components.openai_chat import OpenAIChat
from driftledger.components.transformers import Transformers
from driftledger.core import media
from driftledger.core.canonical import sha256_file, sha256_of
from driftledger.core.code_digest import code_digest
from driftledger.core.registry import provider_class
from driftledger.core.types import Conversation, Medium, Subject, Turn
from driftledger.ledger.rescoring import _absent
from driftledger.project.project import Project
from driftledger_demo.encoders.words import Words
from driftledger_demo.generators.painter import Painter
from driftledger_demo.models.controls import Blind
from tests.conftest import draw, shapes_only
from tests.sentence import refused
from tests.support.cases import cases, each_case
from tests.support.fakes import EchoModel
from tests.support.fakes.services import FarModel
from tests.support.params import default_params


class Weighted(EchoModel):
    """An echo with weights, and with a setting that has an order of its own."""

    weights: str = "c0ffee"
    options: dict[str, int] = Field(default_factory=dict)

    def identity(self):
        return {"commit": self.weights}


class NextVersion(Weighted):
    version = "2"


class OtherProvider(Weighted):
    provider = "other"


class OtherWeights(Weighted):
    def identity(self):
        return {"commit": "decaf"}


def test_a_fingerprint_is_the_hash_of_the_spec_as_json():
    painter = Painter(longest_side=64)
    assert painter.spec == {
        "provider": "painter",
        "version": "1",
        "settings": {"batch_size": 16, "longest_side": 64},
        "identity": {
            "encoding": media.ENCODING,
            "pillow": metadata.version("pillow"),
            "code": code_digest("driftledger_demo.generators.painter"),
        },
    }
    assert painter.fingerprint == sha256_of(json.loads(json.dumps(painter.spec)))
    assert len(painter.fingerprint) == 64


@pytest.mark.parametrize(
    "other",
    [
        NextVersion(),
        OtherProvider(),
        OtherWeights(),
        Weighted(refuses=1),
        Weighted(batch_size=17),
        Weighted(options={"a": 1}),
        Weighted(weights="decaf"),
    ],
    ids=str,
)
def test_whatever_can_change_the_output_changes_the_fingerprint(other):
    assert other.fingerprint != Weighted().fingerprint


@pytest.mark.parametrize("method", [Encoder.encode_images, Encoder.encode_texts])
def test_an_encoder_says_which_tower_it_lacks(method):
    class Towerless(Encoder):
        provider = "towerless"

    with pytest.raises(
        NotImplementedError, match=r"'towerless' has no (image|text) tower"
    ):
        method(Towerless(), [])
    with pytest.raises(NotImplementedError, match="'words' has no image tower"):
        Words().encode_images([])


# Where code is all there is, code is the identity; elsewhere it is recorded beside it.


def test_a_component_that_comes_with_driftledger_has_a_version_and_no_digest(tmp_path):
    (tmp_path / "sheet.csv").write_text(
        "sample,t,image,text,annotator\n", encoding="utf-8"
    )
    for component in (
        OpenAIChat.model_validate({"model": "gpt-4o-2024-08-06"}),
        Human(path=tmp_path),
    ):
        card = ComponentCard.of("one", component)
        assert component.code_digest is None
        assert "code" not in component.spec["identity"]
        assert card.fingerprint == sha256_of(component.spec)


class InheritingPainter(Painter):
    """Of a distribution of its own, as a user's is."""


class AdaptedEcho(EchoModel):
    code_is_identity = False


def test_what_is_inherited_from_another_distribution_counts():
    assert (
        InheritingPainter().code_digest
        == code_digest(__name__, Painter.__module__)
        != code_digest(__name__)
    )


def test_a_user_may_declare_an_adapter():
    assert ComponentCard.of("echo", AdaptedEcho()).identity == {}
    assert EchoModel().spec["identity"] == {"code": EchoModel().code_digest}


class Mute(EchoModel):
    is_control = True


def test_a_control_is_marked_in_its_card():
    own, shipped, model = (
        ComponentCard.of("m", each()).to_dict() for each in (Mute, Blind, EchoModel)
    )
    assert own["control"] is shipped["control"] is True
    assert "control" not in model
    assert ComponentCard.model_validate(own).control


# The same model without its images: `sees: nothing`.


def test_a_model_that_sees_nothing_is_a_control_which_answers_at_full_length():
    looks = OpenAIChat(model="m", max_tokens=900)
    blinded = looks.model_copy(update={"sees": "nothing"})
    card = ComponentCard.of("m", blinded)
    assert card.control
    assert card.settings["sees"] == "nothing"
    assert not ComponentCard.of("m", looks).control
    assert "sees" not in looks.spec["settings"]
    assert looks.fingerprint != blinded.fingerprint
    assert looks.longest == blinded.longest == 900
    assert FarModel(sees="nothing").longest is None


def shown(model, conversation):
    return Ask(model, "describe", conversation, Subject("s", 1, "d")).conversation


CHECKPOINT = Transformers(path="x", sees="nothing")


def test_what_a_model_is_shown_instead_of_images(tmp_path):
    images = []
    for number in (1, 2):
        path = draw(tmp_path / f"{number}.png", number)
        images.append(Medium(path, sha256_file(path)))
    example = Turn("user", (images[0], "What is it?"))
    question = Turn("user", ("Is ", images[1], " left of ", images[0], "?"))
    asked = Conversation((example, Turn("assistant", ("A boat.",)), question))
    words = Turn("user", ("Is ", " left of ", "?"))
    plain = (Turn("user", ("What is it?",)), asked.turns[1], words)
    [grey] = {*shown(CHECKPOINT, asked).media}
    assert shown(FarModel(sees="nothing"), asked).turns == plain
    with_grey = asked.with_media(lambda _: grey)
    assert shown(CHECKPOINT, asked) == shown(CHECKPOINT, with_grey) == with_grey
    assert grey.sha256 == sha256_file(grey.path)
    assert grey.open().size == (224, 224)
    assert grey.open().getcolors() == [(224 * 224, (128, 128, 128))]
    for model in (FarModel(), Blind()):
        assert shown(model, asked) == asked
    # records are followed without the component, by its card
    card = ComponentCard.of("far", FarModel(sees="nothing"))
    weights = card.model_copy(update={"identity": {"weights": {}}})
    assert shown(_absent(card), asked).turns == plain
    assert shown(_absent(weights), asked) == with_grey


def test_the_key_of_a_call_is_of_what_is_shown(tmp_path):
    first, second = (Medium(tmp_path / f"{name}.png", name * 64) for name in "ab")

    def key(model, image, text="What is it?"):
        context = Subject(image.sha256[:1], 1, "d")
        return Ask(model, "describe", Conversation.ask(text, image), context).key

    blinded = FarModel(sees="nothing")
    assert key(blinded, first) == key(blinded, second)
    assert key(blinded, first) != key(blinded, first, "Why?")
    assert key(FarModel(), first) != key(FarModel(), second)


# Settings of all components: refused in a sentence that names what is wrong.


@each_case(cases(__file__, "settings"))
def test_settings_that_do_not_fit(case):
    component = provider_class(case["section"], case["provider"])
    with refused(case, "ValidationError"):
        component.model_validate(case["settings"])


# A unified model: an entry among models and among generators that is one component.


class Mirror(Model, Generator):
    """Both in one; it is never asked here."""

    provider = "tests.components.test_components:Mirror"
    version = "1"

    def respond(self, conversations):
        raise NotImplementedError

    def generate(self, prompts, seeds):
        raise NotImplementedError


def test_both_entries_are_one_component(tmp_path):
    params = default_params()
    shapes_only(params)
    entry = {"provider": Mirror.provider, "understood_by": ["painter", "layout"]}
    for section, other in (("models", "blind"), ("generators", "painter")):
        params["run"][section] = ["mirror", other]
        params[section]["mirror"] = entry
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    project = Project(tmp_path, own_code=True)
    model = project.component("models", "mirror")
    generator = project.component("generators", "mirror")
    assert isinstance(model, Mirror)
    assert model is generator
    assert project.component("generators", "painter") is not generator

"""What is said of a provider that is not what its entry needs: one sentence that names the
entry."""

import re
import sys

import pytest
import yaml

from driftledger.components.base import ComponentCard
from driftledger.core import registry
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import ConfigError, UntrustedCodeError
from driftledger.core.registry import OURS, provider_class, providers
from driftledger.core.types import Conversation, Medium
from driftledger.project.catalogue import class_of_record
from driftledger.project.project import Project
from tests.acceptance.own_code import ENCODER, install
from tests.conftest import REPOSITORY, draw, shapes_only
from tests.support.cases import cases, each_case
from tests.support.own_code import GENERATOR, MODEL, write_module
from tests.support.params import default_params
from tests.support.small import write_params


@pytest.fixture(autouse=True)
def _unloaded():
    """Modules of one test are not those of another, and what is installed is looked up again."""
    modules, path = set(sys.modules), list(sys.path)
    registry.installed.cache_clear()
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]
    registry.installed.cache_clear()


def project(root, section, provider, *, own_code=True, **settings):
    """A project that selects one entry, ``mine``, of a provider."""
    params = default_params()
    shapes_only(params)
    if section == "models":
        settings.setdefault("understood_by", ["painter", "layout", "rubric"])
    params.setdefault(section, {})["mine"] = {"provider": provider, **settings}
    params["run"][section].append("mine")
    write_params(root, params)
    return Project(root, own_code=own_code)


def said(root, section, provider, **settings):
    with pytest.raises(ConfigError) as caught:
        _ = project(root, section, provider, **settings).settings
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert re.search(rf"params\.yaml, line \d+: {section}\.mine: ", sentence)
    return sentence


def test_a_class_of_ones_own_is_named_by_its_place(tmp_path):
    write_module(tmp_path, "own_models", MODEL)
    model = project(
        tmp_path, "models", "own_models:MyModel", words="dim"
    ).settings.build("models", "mine")
    assert (model.provider, model.version) == ("own_models:MyModel", "1")
    assert ComponentCard.of("mine", model).to_dict().keys() >= {"identity"}
    assert str(tmp_path) == sys.path[-1]


def test_a_function_is_an_encoder_by_the_name_that_it_has_in_its_module(tmp_path):
    text = (
        ENCODER + "\ndef sizes(images):\n    return [image.size for image in images]\n"
    )
    for name in ("BySize", "Other"):
        text += f"\n{name} = driftledger.encoder(images=sizes)\n"
    write_module(tmp_path, "own_functions", text)
    names = ("hues", "BySize", "Other")
    fingerprints = set()
    for name in names:
        place = f"own_functions:{name}"
        found = project(tmp_path, "encoders", place).settings.build("encoders", "mine")
        assert (found.provider, found.looks, found.reads) == (place, True, False)
        fingerprints.add(found.fingerprint)
    assert len(fingerprints) == 3


def test_what_the_page_shows_can_be_copied(tmp_path):
    page = (REPOSITORY / "docs/extending.md").read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    [block] = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    write_module(tmp_path, "my_module", code)
    params = default_params()
    shapes_only(params)
    for section, values in yaml.safe_load(block).items():
        params[section] = params.get(section, {}) | values
    settings = write_params(tmp_path, params).settings
    image = draw(tmp_path / "0.png", 0, (50, 40))
    asked = Conversation.ask("What is it?", Medium(image, sha256_file(image)))
    [answer] = settings.build("models", "shouting").respond([asked])
    assert answer.text == "A DARK IMAGE, 50 PIXELS WIDE"
    encoder = settings.build("encoders", "mine")
    features = encoder.encode_images([asked.last_medium.open()])
    assert features.shape == (1, 8 * 8 * 3)


HEAD = """
from typing import ClassVar
from driftledger.components.base import Encoder, Generator, Model

class Whole(Model):
    version: ClassVar[str] = "1"
    def respond(self, conversations): return []

"""


@each_case(cases(__file__, "lacking"))
def test_what_a_class_lacks_is_one_sentence(tmp_path, case):
    write_module(tmp_path, "own_other", HEAD + "class Told(Whole): pass\n")
    write_module(tmp_path, "own_lacking", HEAD + case.get("code", ""))
    provider = case.get("provider") or f"own_lacking:{case['name']}"
    assert case["says"] in said(tmp_path, case["section"], provider)


def test_settings_can_be_read_without_running_what_they_name(tmp_path):
    write_module(tmp_path, "own_evil", f"open({str(tmp_path / 'mark')!r}, 'w')\n")
    settings = project(
        tmp_path, "models", "own_evil:Evil", own_code=False, whatever=1
    ).settings
    untrusted = r"models\.mine: 'own_evil:Evil' is this checkout's own code"
    with pytest.raises(UntrustedCodeError, match=untrusted):
        settings.build("models", "mine")
    assert settings.build("models", "regions_medium").provider == "regions"
    assert not (tmp_path / "mark").exists()
    assert "own_evil" not in sys.modules


def test_a_record_names_no_code(tmp_path):
    write_module(tmp_path, "own_models", MODEL)
    place = "own_models:MyModel"
    mine = project(tmp_path, "models", place).settings.build("models", "mine")
    assert class_of_record("models", place, tmp_path, {place}) is type(mine)
    untrusted = "this checkout's own code, which is not run without --trust"
    assert str(class_of_record("models", place, None, {place})).endswith(untrusted)
    for name, own, named in (
        (place, None, ()),
        (place, tmp_path, ()),
        ("os:system", tmp_path, {place}),
        ("os", None, {place}),
    ):
        why = class_of_record("models", name, own, named)
        assert why == f"the provider {name!r} is unknown here"


def test_a_distribution_names_its_providers(tmp_path, monkeypatch):
    write_module(tmp_path / "site", "own_colours", GENERATOR)
    points = dict.fromkeys(
        ("driftledger.generators plain_colour", "driftledger.generators diffusers"),
        "own_colours:Plain",
    )
    install(tmp_path / "site", "own-colours", "1.2", points)
    monkeypatch.syspath_prepend(tmp_path / "site")
    settings = project(tmp_path, "generators", "plain_colour", own_code=False).settings
    found = settings.build("generators", "mine")
    assert providers("generators")["diffusers"] == OURS["generators"]["diffusers"]
    assert provider_class("generators", "own_colours:Plain") is type(found)


def test_two_distributions_of_one_name_are_told_apart_by_people(tmp_path, monkeypatch):
    for name in ("one", "two"):
        write_module(tmp_path / name, f"own_{name}", GENERATOR)
        points = {"driftledger.generators plain_colour": f"own_{name}:Plain"}
        install(tmp_path / name, f"own-{name}", "1", points)
        monkeypatch.syspath_prepend(tmp_path / name)
    sentence = said(tmp_path, "generators", "plain_colour")
    assert (
        "'plain_colour' is own_one:Plain and own_two:Plain; uninstall one, or name it by its place"
        in sentence
    )

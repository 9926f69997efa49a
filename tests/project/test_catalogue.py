"""What can be selected: each entry of the catalogue is valid before anything is installed, and
presets select it."""

import json
import re
import shutil
import subprocess
import sys
from functools import reduce
from operator import getitem
from urllib.parse import urlsplit

import pytest

from driftledger.components.base import Component
from driftledger.components.service import RemoteComponent
from driftledger.core import registry
from driftledger.core.registry import PROVIDED_SECTIONS
from driftledger.project.presets import apply_preset
from driftledger.project.settings import load_settings
from tests.conftest import REPOSITORY
from tests.support.cases import cases, each_case
from tests.support.params import DEFAULT, default_settings

SETTINGS = default_settings()
ENTRIES = [
    (section, name)
    for section in PROVIDED_SECTIONS
    for name in SETTINGS.entries(section)
]

RUNS_FOREIGN_CODE = set()
"""Entries that trust code from a repository, or weights that can run code. Each one that joins them
is a decision."""

KEYS = {
    None: "OPENAI_API_KEY",  # OpenAI itself
    "https://generativelanguage.googleapis.com/v1beta/openai": "GEMINI_API_KEY",
    "https://api.anthropic.com/v1": "ANTHROPIC_API_KEY",
}
BUILD_ALL = '''
import json, socket, sys

def refuse(*_):
    raise OSError("an entry is checked without a network")

socket.socket.connect = socket.getaddrinfo = refuse
from driftledger.project.settings import load_settings

settings = load_settings()
for section in ("datasets", "models", "generators", "encoders", "question_sets"):
    for name in settings.entries(section):
        settings.build(section, name)
heavy = """
torch torchvision transformers diffusers accelerate safetensors open_clip sentence_transformers
cleanfid datasets huggingface_hub openai wordllama cv2 tokenizers
""".split()
print(json.dumps([name for name in heavy if name in sys.modules]))
'''


@pytest.fixture
def project(tmp_path):
    """A copy of the settings."""
    shutil.copy(DEFAULT, tmp_path)
    return tmp_path


def test_entries_are_checked_without_their_libraries_and_without_a_network():
    command = [sys.executable, "-c", BUILD_ALL]
    done = subprocess.run(
        command, cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []


def test_only_listed_entries_run_foreign_code():
    risky = set()
    for section, name in ENTRIES:
        entry = SETTINGS.build(section, name)
        for setting in ("trust_remote_code", "allow_pickle"):
            if getattr(entry, setting, False):
                risky.add(f"{section}.{name}")
    assert risky == RUNS_FOREIGN_CODE


def test_each_service_is_given_its_own_key_and_a_server_on_this_machine_none():
    here, elsewhere = set(), set()
    for section, name in ENTRIES:
        one = SETTINGS.build(section, name)
        if isinstance(one, RemoteComponent):
            is_here = urlsplit(one.base_url or "").hostname == "127.0.0.1"
            (here if is_here else elsewhere).add((one.base_url, one.api_key_env))
    assert {key for _, key in here} == {None}
    assert elsewhere == {*KEYS.items()}


def test_a_checkpoint_of_the_hub_names_its_revision():
    hub = {}
    for section, name in ENTRIES:
        entry = SETTINGS.build(section, name)
        path = str(getattr(entry, "path", ""))
        is_ours = path.startswith("lab/checkpoints/")
        if hasattr(entry, "revision") and "/" in path and not is_ours:
            hub[name] = entry
    # a folder
    assert [name for name in hub if hub[name].revision is None] == ["inception"]
    assert len(hub) > 20


@each_case(cases(__file__, "protocols"))
def test_a_preset_selects_what_the_paper_says(case, project):
    """``is`` has settings by their dotted names, with the entries that they name, and attributes of
    what is built of an entry."""
    apply_preset(project, case["preset"])
    settings = load_settings(project / "params.yaml")
    values = settings.model_dump(mode="json")
    values["benchmarks"] = [spec.name for spec in settings.benchmarks]
    for section in ("datasets", "descriptions"):
        for name in settings.named(section):
            entry = settings.entry(section, name)
            values[section][name] = entry.model_dump(mode="json")
    for path, expected in case["is"].items():
        name, _, entry = path.partition(" of ")
        if entry:
            found = getattr(settings.build(*entry.split(".")), name)
        else:
            found = reduce(getitem, path.split("."), values)
        assert found == expected, path


@pytest.mark.parametrize("name", ["open_models", "today_open_24gb", "today_open_80gb"])
def test_open_models_need_no_service(project, name):
    apply_preset(project, name)
    settings = load_settings(project / "params.yaml")
    chosen = [
        settings.build(section, name)
        for section in PROVIDED_SECTIONS
        for name in getattr(settings.run, section)
    ]
    assert not any(isinstance(one, RemoteComponent) for one in chosen)
    assert sum(isinstance(one, Component) for one in chosen) == len(chosen) - 1


@pytest.mark.parametrize(
    ("name", "memory"),
    [("today_api", 2), ("today_open_24gb", 24), ("today_open_80gb", 80)],
)
def test_todays_presets_take_what_was_checked_and_fits(project, name, memory):
    apply_preset(project, name)
    settings = load_settings(project / "params.yaml")
    assert len(settings.run.models) == 5
    for section in ("models", "generators", "encoders"):
        for entry in (
            settings.entry(section, each) for each in getattr(settings.run, section)
        ):
            assert entry.about.checked.year == 2026
            assert (entry.about.memory or 0) < memory
            assert entry.about.memory or entry.prices["input"] > 0


def test_no_code_of_the_package_names_the_demonstration():
    """Some of its names are words with another meaning elsewhere."""
    providers = set()
    for section in PROVIDED_SECTIONS:
        for name, place in registry.providers(section).items():
            if place.startswith("driftledger_demo."):
                providers.add((section, name))
    names = {name for _, name in providers}
    for section, name in ENTRIES:
        if (section, SETTINGS.entry(section, name).provider) in providers:
            names.add(name)
    assert {"blind", "painter", "regions_fine"} <= names
    names -= {"layout", "random", "words"}
    named = set()
    for file in (REPOSITORY / "src" / "driftledger").rglob("*.py"):
        code = re.sub(r"(?m)^ *>>> .*", "", file.read_text())
        texts = set(re.findall(r'"([\w.]+)"', code))
        named |= {text for text in texts if text.startswith("driftledger_demo")}
        named |= texts & names
    assert named == set()

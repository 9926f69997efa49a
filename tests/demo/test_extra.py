"""Where the extra demo is not installed, what needs it says what installs it, and the rest
works."""

import json
import re
import subprocess
import sys
from importlib import metadata

import pytest
from PIL import Image

from driftledger.commands.evaluate import evaluate
from driftledger.core.errors import MissingExtraError
from driftledger_demo.datasets.digits import Digits, scans
from driftledger_demo.datasets.photos import Photos
from driftledger_demo.encoders.words import Words
from driftledger_demo.models.regions import Regions

LIBRARIES = {
    "safetensors": "safetensors",
    "scikit-image": "skimage",
    "scikit-learn": "sklearn",
    "tokenizers": "tokenizers",
    "wordllama": "wordllama",
}
"""Distribution → the module that it installs."""
WITHOUT = f"""
import json, os, sys
from contextlib import redirect_stderr, redirect_stdout
from importlib import metadata
from io import StringIO

find = metadata.distribution
def distribution(name):
    if name in {[*LIBRARIES]}:
        raise metadata.PackageNotFoundError(name)
    return find(name)
metadata.distribution = distribution
sys.modules.update(dict.fromkeys({[*LIBRARIES.values()]}))
from driftledger.cli import main
ended = []
for folder, command in json.loads(sys.argv[1]):
    os.chdir(folder)
    sys.argv = ["driftledger", *command.split()]
    with redirect_stdout(StringIO()) as text, redirect_stderr(text):
        try:
            main()
        except SystemExit as end:
            ended.append([end.code or 0, text.getvalue()])
print(json.dumps(ended))
"""
MISSING = (
    r"the library 'scikit-image' is not installed; run: pip install .*scikit-image"
)


TYPED = [
    [".", "--help", 0, ""],
    [".", "models regions", 0, ""],
    [".", "init --preset mme", 0, ""],
    [".", "init mine", 0, f"models.regions_fine: missing: {MISSING}"],
    ["mine", "plan", 1, f"models.regions_fine: {MISSING}"],
    [".", "run", 2, f"models.regions_fine: {MISSING}"],
]
"""Folder, seen from the one before, command, exit code, and what it says."""


def test_commands_say_what_to_install(tmp_path):
    """One Python without the libraries does all of them."""
    commands = json.dumps([typed[:2] for typed in TYPED])
    python = [sys.executable, "-c", WITHOUT, commands]
    ended = json.loads(subprocess.check_output(python, cwd=tmp_path))
    for (_, command, code, says), end in zip(TYPED, ended, strict=True):
        assert end[0] == code, command
        assert re.search(says, end[1]), command
        assert "Traceback" not in end[1]


@pytest.fixture
def _without(monkeypatch):
    find = metadata.distribution

    def distribution(name):
        if name in LIBRARIES:
            raise metadata.PackageNotFoundError(name)
        return find(name)

    monkeypatch.setattr(metadata, "distribution", distribution)
    monkeypatch.setattr(metadata, "packages_distributions", dict)
    scans.cache_clear()


@pytest.mark.usefixtures("_without")
def test_each_names_the_library_that_it_lacks():
    versions = {
        "scikit-image": [Regions(detail="fine").identity, Photos().source_digest],
        "scikit-learn": [Digits().source_digest],
        "wordllama": [Words().identity],
    }
    for library, readers in versions.items():
        for read in readers:
            with pytest.raises(MissingExtraError, match=f"'{library}' is not install"):
                read()


@pytest.mark.usefixtures("_without")
def test_evaluate_names_the_library_that_a_model_lacks():
    image = Image.new("RGB", (64, 48), "red")
    with pytest.raises(MissingExtraError, match=MISSING):
        evaluate("regions_coarse", [image])
    assert evaluate("blind", [image], iterations=1).table.index.tolist() == ["blind"]


@pytest.mark.usefixtures("_without")
def test_readiness_says_what_is_missing():
    for component in (Regions(detail="fine"), Words()):
        [sentence], notes = component.readiness()
        assert "is not installed; run: pip install" in sentence
        assert notes == []

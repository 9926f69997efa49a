"""Where the extra demo is not installed, what needs it says what installs it, and the rest
works."""

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
import sys
from importlib import metadata

find = metadata.distribution
def distribution(name):
    if name in {[*LIBRARIES]}:
        raise metadata.PackageNotFoundError(name)
    return find(name)
metadata.distribution = distribution
sys.modules.update(dict.fromkeys({[*LIBRARIES.values()]}))
from driftledger.cli import main
main()
"""
MISSING = (
    r"the library 'scikit-image' is not installed; run: pip install .*scikit-image"
)


def typed(folder, *words):
    """Return a command's exit code and text, in a Python without the libraries."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout + done.stderr


def test_commands_say_what_to_install(tmp_path):
    for rest in (("--help",), ("models", "regions"), ("init", "--preset", "mme")):
        assert typed(tmp_path, *rest)[0] == 0
    code, said = typed(tmp_path, "init", "mine")
    assert code == 0
    assert re.search(f"models.regions_fine: missing: {MISSING}", said)
    for command, ends in (("plan", 1), ("run", 2)):
        code, said = typed(tmp_path / "mine", command)
        assert code == ends
        assert re.search(f"models.regions_fine: {MISSING}", said)


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

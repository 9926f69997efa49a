"""Embedded components give the same bytes everywhere, and other bytes only under another version."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.machines import NUMPY_LEVELS, blas, environment

GOLDEN = Path(__file__).parent / "golden" / "embedded.py"


def hashes(**machine: str) -> dict[str, dict[str, dict[str, str]]]:
    done = subprocess.run(
        [sys.executable, str(GOLDEN)], env=environment(machine), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def now() -> dict[str, dict[str, dict[str, str]]]:
    return hashes()


@pytest.mark.parametrize("provider", ["regions", "scene_photos", "blind", "painter", "layout", "tfidf", "words"])
def test_output_changes_only_with_the_version(now, provider):
    written = json.loads(GOLDEN.with_suffix(".json").read_text())
    [(version, found)] = now[provider].items()
    how = "then run: python tests/demo/golden/embedded.py --write"
    assert version in written[provider], f"version {version} of {provider} is not written down; {how}"
    assert found == written[provider][version], (
        f"{provider} gives something else than its version {version} did: "
        f"raise the version of {provider} if this change is meant, {how}"
    )


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "level"), [*enumerate(NUMPY_LEVELS.values())], ids=NUMPY_LEVELS)
def test_same_bytes_at_every_cpu_level_and_however_strings_are_hashed(now, seed, level):
    """On the oldest BLAS kernel; a whole run is tried on the newer ones, in ``tests/pipelines/test_same_bytes.py``."""
    assert hashes(PYTHONHASHSEED=f"{seed}", **level, **blas("Prescott", 1)) == now


def test_there_is_a_level_to_try():
    assert NUMPY_LEVELS

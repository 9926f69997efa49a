"""What people install holds all of the package and nothing else, and says what it is in the same
words everywhere."""

import zipfile
from email.parser import Parser
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

import driftledger
from driftledger_demo.datasets.photos import manifest
from tests.conftest import REPOSITORY
from tests.support.wheels import build

PACKAGES = ("driftledger", "driftledger_demo")
MOST_BYTES_OF_A_WHEEL = 4_000_000
MOST_BYTES_OF_A_SOURCE_DISTRIBUTION = 4_000_000


class Built(NamedTuple):
    sources: Path
    wheel: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return Built(*build(REPOSITORY, tmp_path_factory.mktemp("dist")))


def in_wheel(built):
    with zipfile.ZipFile(built.wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_is_the_packages_and_nothing_else(built):
    about = f"driftledger-{driftledger.__version__}.dist-info"
    files = {
        file.relative_to(REPOSITORY / "src").as_posix()
        for package in PACKAGES
        for file in (REPOSITORY / "src" / package).rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    packed = {name for name in in_wheel(built) if not name.startswith(f"{about}/")}
    assert packed == files
    assert {f"{about}/licenses/LICENSE", f"{about}/licenses/NOTICE"} <= in_wheel(built)


def test_wheel_and_sources_are_small(built):
    assert built.wheel.stat().st_size < MOST_BYTES_OF_A_WHEEL
    assert built.sources.stat().st_size < MOST_BYTES_OF_A_SOURCE_DISTRIBUTION


def test_version_and_licence_are_the_same_everywhere(built):
    with zipfile.ZipFile(built.wheel) as archive:
        name = next(
            name for name in archive.namelist() if name.endswith(".dist-info/METADATA")
        )
        metadata = Parser().parsestr(archive.read(name).decode("utf-8"))
    citation = cited()
    newest = (
        (REPOSITORY / "CHANGELOG.md")
        .read_text(encoding="utf-8")
        .partition("## [")[2]
        .partition("]")[0]
    )
    versions = (
        metadata["Version"],
        citation["version"],
        newest,
    )
    assert versions == (driftledger.__version__,) * 3
    licences = (metadata["License-Expression"], citation["license"])
    assert licences == ("Apache-2.0",) * 2
    assert "Typing :: Typed" in metadata.get_all("Classifier", [])


def cited():
    return yaml.safe_load((REPOSITORY / "CITATION.cff").read_text(encoding="utf-8"))


def test_every_photograph_has_its_licence():
    page = (REPOSITORY / "docs" / "licences.md").read_text(encoding="utf-8")
    photos = manifest().photos
    assert [photo.id for photo in photos if not (photo.author and photo.licence)] == []
    attributed = [photo for photo in photos if "CC BY" in photo.licence]
    assert [photo.id for photo in attributed] == ["flower", "china"]
    for photo in attributed:
        [row] = [line for line in page.splitlines() if f"| `{photo.id}` |" in line]
        assert photo.title in row
        assert photo.author in row
        assert photo.url in row
    nameless = [photo.id for photo in photos if photo.licence.startswith("not stated")]
    assert [name for name in nameless if f"`{name}`" not in page] == []


@pytest.mark.parametrize("name", ["requirements.txt", "requirements-dev.txt"])
def test_every_pin_of_the_readmes_commands_has_hashes(name):
    lines = (REPOSITORY / name).read_text(encoding="utf-8").splitlines()
    pins = [number for number, line in enumerate(lines) if "==" in line]
    assert len(pins) > 50
    assert [
        lines[at]
        for at in pins
        if not lines[at + 1].strip().startswith("--hash=sha256:")
    ] == []

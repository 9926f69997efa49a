import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from driftledger.core.errors import DataError
from driftledger.core.files import read_jsonl
from driftledger.data.datasets.build import build
from driftledger.data.records import SampleEntry
from driftledger_demo.datasets import installed, photos
from driftledger_demo.datasets.photos import Library, Photos, manifest

GROUPS = {"visual": ["living", "objects", "places", "textures", "medical"], "textual": ["text"]}


def test_the_photographs_become_a_dataset(tmp_path: Path) -> None:
    card = build("photos", Photos(groups=GROUPS), tmp_path / "photos")
    assert card.categories == {"living": 4, "medical": 4, "objects": 4, "places": 4, "text": 2, "textures": 3}
    assert card.groups == GROUPS
    entries = {entry.id: entry for entry in read_jsonl(tmp_path / "photos" / "samples.jsonl", SampleEntry)}
    assert len(entries) == card.samples == 21
    assert (entries["retina"].width, entries["retina"].height) == (1411, 1411)
    assert entries["china"].source["licence"] == "CC BY 2.0"
    assert not any(entry.notes for entry in entries.values() if entry.notes != ["converted from grey"])


def test_every_photograph_says_where_it_comes_from() -> None:
    for photo in manifest().photos:
        assert set(photo.source()) == {"package", "file", "title", "author", "url", "licence"}
        assert all(photo.source().values())
        assert photo.url.startswith("http") or photo.url == "not stated"


def test_where_no_licence_is_stated_the_manifest_says_so() -> None:
    unstated = {photo.id for photo in manifest().photos if photo.licence.startswith("not stated")}
    assert unstated == {"moon", "motorcycle", "page"}


def test_the_source_names_versions_and_no_paths() -> None:
    assert Photos().source() == {"kind": "photos", "scikit-image": "0.26.0", "scikit-learn": "1.9.1"}
    assert Photos().source_digest() == Photos().source_digest()


@pytest.mark.parametrize("content", [b"other bytes", None])
def test_another_file_than_the_manifest_describes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "data").mkdir()
        (tmp_path / "data" / "astronaut.png").write_bytes(content)
    monkeypatch.setattr(installed, "installed_path", lambda distribution, file: tmp_path / file.partition("/")[2])
    with pytest.raises(DataError) as caught:
        build("photos", Photos(), tmp_path / "photos")
    assert str(caught.value) == (
        "skimage/data/astronaut.png is not the file that scikit-image 0.26.0 carries; "
        "run: pip install --force-reinstall 'scikit-image==0.26.0'"
    )
    assert not (tmp_path / "photos").exists()
    with pytest.raises(DataError):
        Photos().source_digest()


def test_a_library_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library(distribution="scikit-unlearn", version="0.26.0")
    found = manifest()
    monkeypatch.setattr(
        photos, "manifest", lambda: found.model_copy(update={"libraries": found.libraries | {"skimage": library}})
    )
    with pytest.raises(DataError, match=r"run: pip install --force-reinstall 'scikit-unlearn==0\.26\.0'"):
        Photos().source_digest()


def test_reading_the_photographs_imports_no_heavy_library() -> None:
    code = (
        "import json, sys; from driftledger_demo.datasets.photos import Photos; Photos().source_digest();"
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env=dict(os.environ))
    assert not {"skimage", "sklearn", "scipy", "pooch"} & set(json.loads(done.stdout))


def test_ids_and_files_are_there_once() -> None:
    found = manifest().photos
    assert len({photo.id for photo in found}) == len({(photo.package, photo.file) for photo in found}) == len(found)


def test_the_source_digest_sees_the_manifest(monkeypatch: pytest.MonkeyPatch) -> None:
    before, found = Photos().source_digest(), manifest()
    first, *rest = found.photos
    changed = found.model_copy(update={"photos": [first.model_copy(update={"category": "objects"}), *rest]})
    monkeypatch.setattr(photos, "manifest", lambda: changed)
    assert Photos().source_digest() != before

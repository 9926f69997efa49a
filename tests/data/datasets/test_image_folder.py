import os
import shutil
import unicodedata
from pathlib import Path

import pytest
from PIL import Image

from driftledger.core.errors import ConfigError, DataError
from driftledger.core.files import read_jsonl
from driftledger.data.datasets.build import build
from driftledger.data.datasets.image_folder import ImageFolder, safe_id
from driftledger.data.records import SampleEntry
from tests.support.unprivileged import unprivileged


def draw(path: Path, red: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (4, 4), (red, 0, 0)).save(path)


def found(folder: Path) -> dict[str, tuple[str | None, str]]:
    return {item.id: (item.category, item.source["file"]) for item in ImageFolder(path=folder).items()}


def test_images_without_subfolders_have_no_category(tmp_path: Path) -> None:
    draw(tmp_path / "a.png")
    draw(tmp_path / "B.JPG")
    assert found(tmp_path) == {"a": (None, "a.png"), "B": (None, "B.JPG")}


def test_subfolders_are_categories(tmp_path: Path) -> None:
    for name in ("top.png", "cats/a.png", "cats/old/1999/a.png", "dogs/a.webp"):
        draw(tmp_path / name)
    assert found(tmp_path) == {
        "top": ("uncategorised", "top.png"),
        "cats_a": ("cats", "cats/a.png"),
        "cats_old_1999_a": ("cats", "cats/old/1999/a.png"),
        "dogs_a": ("dogs", "dogs/a.webp"),
    }


def test_hidden_and_other_files_are_passed_over(tmp_path: Path) -> None:
    draw(tmp_path / "a.png")
    for name in (".b.png", ".git/c.png", "cats/.cache/d.png"):
        draw(tmp_path / name)
    for name in ("notes.txt", "Thumbs.db", "drawing.eps", "png"):
        (tmp_path / name).write_bytes(b"x")
    assert found(tmp_path) == {"a": (None, "a.png")}


def test_strange_names(tmp_path: Path) -> None:
    names = ["my photo (1).png", "猫.png", "狗.png", "été à la mer/größe 1.png", "x" * 150 + ".png", "a\nb.png"]
    for number, name in enumerate(names):
        draw(tmp_path / name, number)
    build("mine", ImageFolder(path=tmp_path), tmp_path.parent / f"{tmp_path.name}-built")
    entries = read_jsonl(tmp_path.parent / f"{tmp_path.name}-built" / "samples.jsonl", SampleEntry)
    assert {entry.source["file"] for entry in entries} == set(names)
    assert {entry.category for entry in entries} == {"été à la mer", "uncategorised"}
    assert "my_photo__1_" in {entry.id for entry in entries}


def test_a_file_name_that_is_no_unicode(tmp_path: Path) -> None:
    try:
        draw(Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.png")))
    except OSError:
        pytest.skip("this disk takes only Unicode names")
    card = build("mine", ImageFolder(path=tmp_path), tmp_path / "built")
    assert card.samples == 1
    assert read_jsonl(tmp_path / "built" / "samples.jsonl", SampleEntry)[0].source == {"file": r"caf\xe9.png"}


def test_ids() -> None:
    assert safe_id("cats/a b.tar.png") == "cats_a_b.tar"
    assert safe_id("猫.png") != safe_id("狗.png")
    assert len(safe_id("x" * 300 + ".png")) == len(safe_id("é" * 300 + ".png")) == 100


def test_composed_and_decomposed_names_are_one_id(tmp_path: Path) -> None:
    for form in ("NFC", "NFD"):
        draw(tmp_path / form / unicodedata.normalize(form, "é.png"))
    one, two = (found(tmp_path / form) for form in ("NFC", "NFD"))
    assert one == two


def test_two_files_that_become_one_id(tmp_path: Path) -> None:
    draw(tmp_path / "a.png")
    draw(tmp_path / "A.jpg")
    with pytest.raises(DataError, match=r"mine: A\.jpg and a\.png both get the id 'a'"):
        build("mine", ImageFolder(path=tmp_path), tmp_path / "built")
    assert not (tmp_path / "built").exists()


def test_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is missing; set path to the folder of the images"):
        list(ImageFolder(path=tmp_path / "nowhere").items())


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    draw(tmp_path / "a.png")
    with pytest.raises(ConfigError, match="is not a folder"):
        ImageFolder(path=tmp_path / "a.png").source_digest()


def test_a_home_folder_of_nobody() -> None:
    with pytest.raises(ConfigError, match="cannot be reached"):
        list(ImageFolder(path=Path("~nobody-of-this-name/x")).items())


def test_no_images(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(DataError, match="holds no images"):
        list(ImageFolder(path=tmp_path).items())


def test_a_link_in_a_loop(tmp_path: Path) -> None:
    draw(tmp_path / "cats" / "a.png")
    (tmp_path / "cats" / "again").symlink_to(tmp_path, target_is_directory=True)
    with pytest.raises(DataError, match="again is a link to a folder that it lies in"):
        list(ImageFolder(path=tmp_path).items())


def test_two_folders_that_link_to_each_other(tmp_path: Path) -> None:
    for here, there in (("cats", "dogs"), ("dogs", "cats")):
        draw(tmp_path / here / "a.png")
        (tmp_path / here / "link").symlink_to(tmp_path / there, target_is_directory=True)
    with pytest.raises(DataError, match="is a link to a folder that it lies in"):
        ImageFolder(path=tmp_path).source_digest()


@pytest.mark.parametrize("target", ["a.png", "gone.png"])
def test_a_link_to_itself_or_to_nothing(tmp_path: Path, target: str) -> None:
    (tmp_path / "a.png").symlink_to(tmp_path / target)
    with pytest.raises(DataError, match=r"a\.png is a broken link or no file"):
        list(ImageFolder(path=tmp_path).items())


def test_links_inside_of_the_folder_are_followed(tmp_path: Path) -> None:
    draw(tmp_path / "real" / ".kept" / "0123.png")
    (tmp_path / "real" / "cats").symlink_to(".kept", target_is_directory=True)
    (tmp_path / "real" / "a.png").symlink_to("cats/0123.png")
    (tmp_path / "mine").symlink_to("real", target_is_directory=True)  # what the settings name may be a link to anywhere
    assert found(tmp_path / "mine") == {"a": ("uncategorised", "a.png"), "cats_0123": ("cats", "cats/0123.png")}


@pytest.mark.parametrize("what", ["cats", "cats/a.png"])
def test_no_right_to_read(tmp_path: Path, what: str) -> None:
    draw(tmp_path / "cats" / "a.png")
    (tmp_path / what).chmod(0)
    try:
        with pytest.raises(DataError, match="cannot be read"):
            unprivileged(build, "mine", ImageFolder(path=tmp_path), tmp_path / "built")
    finally:
        (tmp_path / what).chmod(0o700)
    assert not (tmp_path / "built").exists()


def test_the_digest_follows_names_and_content(tmp_path: Path) -> None:
    draw(tmp_path / "one" / "a.png", 1)
    digest = ImageFolder(path=tmp_path / "one").source_digest()
    shutil.copytree(tmp_path / "one", tmp_path / "two")
    (tmp_path / "two" / "notes.txt").write_text("not an image")
    assert ImageFolder(path=tmp_path / "two").source_digest() == digest
    draw(tmp_path / "two" / "a.png", 2)
    assert ImageFolder(path=tmp_path / "two").source_digest() != digest
    draw(tmp_path / "two" / "a.png", 1)
    (tmp_path / "two" / "a.png").rename(tmp_path / "two" / "b.png")
    assert ImageFolder(path=tmp_path / "two").source_digest() != digest


def test_the_folder_may_lie_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw(tmp_path / "mine" / "a.png")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    cards = [
        build("mine", ImageFolder(path=path), tmp_path / f"built{number}")
        for number, path in enumerate((Path("mine"), Path("~/mine"), tmp_path / "mine"))
    ]
    assert cards[0] == cards[1] == cards[2]
    assert cards[0].source == {"kind": "image_folder", "folder": "mine"}
    assert str(tmp_path) not in (tmp_path / "built2" / "dataset.json").read_text()


@pytest.mark.parametrize(("first", "second"), [("x.jpg", "x.png"), ("a b.png", "a_b.png"), ("c/x.png", "c_x.png")])
def test_two_files_that_differ_only_in_what_an_id_leaves_out(tmp_path: Path, first: str, second: str) -> None:
    draw(tmp_path / first)
    draw(tmp_path / second)
    with pytest.raises(DataError) as caught:
        build("mine", ImageFolder(path=tmp_path), tmp_path / "built")
    assert str(caught.value) == (
        f"mine: {first} and {second} both get the id {safe_id(second)!r}, capitals aside; rename one of them"
    )


@pytest.mark.parametrize("path", ["\0", "x" * 5000, "a.png/deeper", "loop"])
def test_a_path_that_can_be_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str) -> None:
    monkeypatch.chdir(tmp_path)
    draw(tmp_path / "a.png")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(ConfigError, match=r"^the image folder .*; set path to the folder of the images$"):
        ImageFolder(path=Path(path)).source_digest()


def test_a_broken_image_is_named(tmp_path: Path) -> None:
    draw(tmp_path / "cats" / "a.png")
    (tmp_path / "cats" / "b.png").write_bytes(b"")
    with pytest.raises(DataError, match=r"^mine: cats/b\.png is an empty file; replace or remove it$"):
        build("mine", ImageFolder(path=tmp_path), tmp_path / "built")
    assert not (tmp_path / "built").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(DataError, match=r"pipe\.png is a broken link or no file"):
        ImageFolder(path=tmp_path).source_digest()


def test_only_hidden_images(tmp_path: Path) -> None:
    draw(tmp_path / ".a.png")
    with pytest.raises(DataError, match="holds no images"):
        ImageFolder(path=tmp_path).source_digest()


def test_the_digest_sees_a_byte_behind_the_same_name_size_and_time(tmp_path: Path) -> None:
    draw(tmp_path / "a.png")
    before, times = ImageFolder(path=tmp_path).source_digest(), (tmp_path / "a.png").stat()
    data = bytearray((tmp_path / "a.png").read_bytes())
    data[-20] ^= 1
    (tmp_path / "a.png").write_bytes(data)
    os.utime(tmp_path / "a.png", ns=(times.st_atime_ns, times.st_mtime_ns))
    after = (tmp_path / "a.png").stat()
    assert (after.st_size, after.st_mtime_ns) == (times.st_size, times.st_mtime_ns)
    assert ImageFolder(path=tmp_path).source_digest() != before


def test_file_times_change_nothing(tmp_path: Path) -> None:
    draw(tmp_path / "in" / "a.png")
    dataset = ImageFolder(path=tmp_path / "in")
    before = dataset.source_digest(), build("mine", dataset, tmp_path / "built").digest
    os.utime(tmp_path / "in" / "a.png", (1, 1))
    assert (dataset.source_digest(), build("mine", dataset, tmp_path / "built").digest) == before


def test_where_the_folder_lies_is_written_nowhere(tmp_path: Path) -> None:
    for name in ("cats/a.png", "b.png"):
        draw(tmp_path / "here" / "in" / name)
    shutil.copytree(tmp_path / "here" / "in", tmp_path / "there" / "in")
    for place in ("here", "there"):
        build("mine", ImageFolder(path=tmp_path / place / "in"), tmp_path / f"from-{place}")
    files = [path for path in (tmp_path / "from-here").rglob("*") if path.is_file()]
    assert len(files) == 4
    for file in files:
        assert str(tmp_path).encode() not in file.read_bytes()
        assert file.read_bytes() == (tmp_path / "from-there" / file.relative_to(tmp_path / "from-here")).read_bytes()

"""Folders that a ``.dvc`` file names: an old one is refused, and new files are noted."""

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from functools import partial

import pytest

from driftledger.commands.folders import new_files
from driftledger.commands.init import init
from driftledger.core.canonical import md5_bytes
from driftledger.core.errors import ConfigError
from driftledger.ledger.objects.files import listing_bytes, listing_md5
from tests.conftest import draw
from tests.sentence import run
from tests.support.cases import cases, each_case
from tests.support.git import git as git_in
from tests.support.server import Server
from tests.support.small import (
    edited,
    small_params,
    without_tracking,
    write_params,
)

git = partial(git_in, ".")


def files_of(text):
    """``a=1 b=2``: name → bytes; a word with ``#`` only makes another file of it."""
    words = [word for word in text.split() if not word.startswith("#")]
    return {name: byte.encode() for name, byte in (word.split("=") for word in words)}


class Tracked:
    """A folder beside its ``.dvc`` file, without DVC."""

    def __init__(self, root, path="photos"):
        self.root, self.path, self.file = root, path, root / f"{path}.dvc"
        (root / ".dvcignore").write_text("*.tmp\n")

    def holds(self, text):
        shutil.rmtree(self.root / self.path, ignore_errors=True)
        for name, data in files_of(text).items():
            file = self.root / self.path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)

    def names(self, text, *, is_known=True):
        listing = {name: md5_bytes(data) for name, data in files_of(text).items()}
        md5 = listing_md5(listing)
        if is_known:
            cached = self.root / ".dvc/cache/files/md5" / md5[:2] / md5[2:]
            cached.parent.mkdir(parents=True, exist_ok=True)
            cached.write_bytes(listing_bytes(listing))
        self.file.parent.mkdir(parents=True, exist_ok=True)
        size = 7 if "#size" in text else 5
        self.file.write_text(
            f"outs:\n- md5: {md5}\n  size: {size}\n  hash: md5\n  path: {self.file.stem}\n"
        )

    def commit(self, text, **options):
        self.names(text, **options)
        git("add", self.file.name)
        git("commit", "--quiet", "-m", text)

    def unknown(self, text):
        self.commit(text, is_known=False)

    def writes(self, text):
        self.file.write_text(text)

    def grows(self, name):
        (self.root / name).write_text(f"x: {'y' * 2**23}")

    def links(self, name):
        outside = self.root.parent / "outside"
        outside.write_text("outs: []")
        (self.root / name).symlink_to(outside)

    def new(self, names):
        new = new_files(project_of(self.root, self.path))
        assert new == ({self.path: names} if names else {})

    def says(self, text):
        [sentence] = said(self.root)
        if "COMMIT" in text:
            commit = git("log", "-1", "--format=%h (%as)", "--abbrev=8", "HEAD~")
            text = text.replace("COMMIT", commit.strip())
        assert text in sentence

    def says_only(self, text):
        assert said(self.root) == (text,)

    def git(self, arguments):
        git(*arguments.split())

    def conflict(self, arguments):
        with pytest.raises(subprocess.CalledProcessError):
            git(*arguments.split())


@pytest.fixture
def root(tmp_path, monkeypatch):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    (here / ".dvc").mkdir()
    return here


@pytest.fixture
def photos(root):
    git("init", "--quiet")
    return Tracked(root)


def project_of(root, *paths):
    params = small_params()
    params["datasets"].pop("my_images")
    for path in paths:
        name = re.sub("[ /]", "_", path)
        params["datasets"][name] = {"provider": "image_folder", "path": path}
    names = [*params["datasets"]]
    params["run"] |= {
        "datasets": names,
        "genception": names[1:],
        "self_retrieval": [],
        "fidelity": [],
    }
    return write_params(root, params)


def said(root, *paths):
    with pytest.raises(ConfigError) as refused:
        new_files(project_of(root, *(paths or ["photos"])))
    return refused.value.args


@each_case(cases(__file__, "folders"))
def test_what_is_new_in_a_folder_or_why_it_is_old(root, case):
    """A step is a method of :class:`Tracked` and its argument."""
    photos = Tracked(root)
    for step, argument in case["steps"]:
        before = photos.file.read_bytes() if photos.file.exists() else None
        getattr(photos, step)(argument)
        if step in ("new", "says", "says_only"):
            assert photos.file.read_bytes() == before
    assert step in ("new", "says", "says_only")


def test_a_shallow_clone_knows_no_earlier_commit(root, tmp_path, monkeypatch, photos):
    for text in ("a=1", "a=1 b=2", "a=1 b=2 c=3"):
        photos.commit(text)
    clone = tmp_path / "clone"
    git("clone", "--quiet", "--depth", "1", root.as_uri(), str(clone))
    shutil.copytree(root / ".dvc", clone / ".dvc")
    monkeypatch.chdir(clone)
    photos = Tracked(clone)
    photos.holds("a=1 b=2")
    assert said(clone)[0].startswith("photos lacks files that photos.dvc names (c): ")
    photos.holds("a=1 b=2 c=3 d=4")
    assert new_files(project_of(clone, "photos")) == {"photos": ["d"]}
    photos.holds("a=1 b=2 d=4")
    assert "does not name (d) and lacks files that it names (c)" in said(clone)[0]


def test_every_folder_is_looked_at_also_one_above_and_below_the_top(
    root, monkeypatch, photos
):
    sub = root / "sub"
    (sub / ".dvc").mkdir(parents=True)
    monkeypatch.chdir(sub)
    first, above = Tracked(sub, "a photos"), Tracked(sub, "data")
    first.commit("a=1")
    above.commit("more/a=1 more/b=2")
    above.holds("more/a=1 more/b=2")
    first.holds("a=1 b=2")
    (sub / "own").mkdir()
    (sub / "own/a").touch()
    paths = ("a photos", "data/more", "own")
    assert new_files(project_of(sub, *paths)) == {"a photos": ["b"]}
    first.commit("a=1 c=4 b=2")
    above.holds("more/a=1")
    first, other = said(sub, *paths)
    assert first.startswith("a photos lacks files that a photos.dvc names (c): ")
    assert other.startswith("data lacks files that data.dvc names (more/b): ")
    assert "'dvc pull 'a photos.dvc''" in first


def test_files_that_have_not_changed_are_not_read_again(root, photos, monkeypatch):
    photos.commit("a=1 b=2")
    photos.holds("a=1 b=2")
    project = project_of(root, "photos")
    assert new_files(project) == {}
    read = []

    def md5_of(file):
        read.append(file.name)
        return md5_bytes(file.read_bytes())

    monkeypatch.setattr("driftledger.ledger.objects.files.md5_file", md5_of)
    assert new_files(project) == {}
    assert read == []
    (root / "photos/c").write_bytes(b"3")
    assert new_files(project) == {"photos": ["c"]}
    assert read == ["c"]
    (root / ".driftledger/digests.dir").write_text('{"x": 1}')
    assert new_files(project) == {"photos": ["c"]}
    assert len(read) == 4


SERVED = cases(__file__, "served")[0]["set"]


@pytest.fixture
def served(root, monkeypatch):
    """A project with a service, whose images ``init`` gave to DVC, and that stages what it
    changes."""
    git("init", "--quiet")
    for number in range(2):
        draw(root / f"-photos $(x)/{number}.png", number, (24, 18))
    init(root, images=root / "-photos $(x)")
    without_tracking(root)
    with (root / ".dvc/config").open("a") as config:
        config.write("[core]\n    autostage = true\n")
    binaries = root.parent / "bin"
    binaries.mkdir()
    (binaries / "dvc").write_text("#!/bin/sh\n")  # 'dvc repro' has tests of its own
    (binaries / "dvc").chmod(0o755)
    monkeypatch.setenv("PATH", f"{binaries}:{os.environ['PATH']}")
    with Server() as server:
        values = json.dumps(SERVED).replace("SERVER", server.base_url)
        edited(root, json.loads(values))
        git("add", "--all")
        git("commit", "--quiet", "-m", "first")
        yield server


def is_theirs(file):
    """Whether a file may be written and is linked from nowhere else."""
    facts = file.stat()
    return facts.st_mode & stat.S_IWUSR and facts.st_nlink == 1


def test_plan_and_run_ask_nothing_for_an_old_folder_and_note_new_files(
    root, served, monkeypatch, capfd
):
    """The folder's name is hostile."""
    photos, file = root / "-photos $(x)", root / "-photos $(x).dvc"
    assert is_theirs(photos / "0.png")
    old = (photos / "0.png").rename(root / "old.png")
    capfd.readouterr()
    for command in ("plan", "run"):
        assert run(monkeypatch, command) == 2
        assert capfd.readouterr().err == (
            "driftledger: -photos $(x) lacks files that -photos $(x).dvc names (0.png): run 'dvc "
            "pull '-photos $(x).dvc'', or 'dvc commit '-photos $(x).dvc'' if it is meant\n"
        )
    assert served.requests == []
    old.rename(photos / "other name.png")
    draw(photos / "new.png", 3, (24, 18))
    noted = file.read_bytes()
    assert run(monkeypatch, "plan") == 0
    assert file.read_bytes() == noted
    capfd.readouterr()
    assert run(monkeypatch, "run") == 0
    err = capfd.readouterr().err
    sentence = (
        "-photos $(x).dvc names what is new in -photos $(x): new.png; other name.png"
    )
    assert err.splitlines().count(sentence) == 1
    assert served.requests
    assert git("diff", "--name-only") == "-photos $(x).dvc\n"
    assert git("diff", "--cached", "--name-only") == ""
    assert is_theirs(photos / "new.png")
    asked = len(served.requests)
    assert run(monkeypatch, "run") == 0
    assert "names what is new" not in capfd.readouterr().err
    assert len(served.requests) == asked
    git("commit", "--quiet", "--all", "-m", "renamed")
    (photos / "1.png").unlink()
    assert run(monkeypatch, "plan") == 2
    dvc = [sys.executable, "-m", "dvc", "commit", "--force", "--quiet"]
    subprocess.run([*dvc, "--", f"./{file.name}"], check=True)
    assert run(monkeypatch, "plan") == 0


def test_run_says_why_dvc_cannot_note_new_files(root, served, monkeypatch, capfd):
    draw(root / "-photos $(x)/2.png", 2, (24, 18))
    (root / ".dvc/config").write_text("[cache]\n    type = telepathy\n")
    assert run(monkeypatch, "run") == 2
    assert "fails (ERROR: " in capfd.readouterr().err
    assert served.requests == []

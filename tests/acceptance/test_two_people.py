"""Two people edit one folder of pictures, with a bare repository and a DVC remote in a folder.

No call is made twice, no ``--force`` is needed, no old picture is evaluated.
"""

import json

import pytest
from PIL import Image

from tests.acceptance.checkout import Checkout, described_by, draw
from tests.acceptance.places import REPOSITORY
from tests.acceptance.service import Service

RUN = "eyes/hands/hues"
PAGE = (REPOSITORY / "docs/teams.md").read_text(encoding="utf-8")


class Person(Checkout):
    """A clone of one of the two, who edits ``photos`` and asks the service."""

    def __init__(self, root, state, service):
        super().__init__(root, state)
        self.service = service
        self.photos = root / "photos" / "drawn"

    def pull(self):
        self.git("pull", "--quiet", "--no-rebase")
        self.run("dvc", "pull")

    def publish(self, *branch):
        """Push the data first, then the commit that refers to it."""
        self.run("dvc", "push")
        self.commit("pictures and scores")
        self.git("push", "--quiet", "origin", *(branch or ("main",)))

    def add(self, number):
        draw(self.photos / f"{number}.png", number)

    def move(self, old, new):
        (self.photos / old).rename(self.photos / new)

    def remove(self, name):
        (self.photos / name).unlink()

    def evaluate(self, calls):
        """Run, and pay for as many calls as ``plan`` says: these, and no other."""
        planned = json.loads(self.driftledger("plan", "--json").stdout)
        to_make = sum(each["to_make"] for each in planned["calls"].values())
        before = sum(self.service.answered.values())
        done = self.driftledger("run")
        paid = sum(self.service.answered.values()) - before
        assert (to_make, paid) == (calls, calls)
        assert self.evaluated() == self.shown()
        assert self.shown()
        return done.stderr

    def shown(self):
        """Return the pixels of each picture in the folder."""
        return sorted(map(pixels, self.photos.glob("*")))

    def evaluated(self):
        """Return the pixels of each picture that the scores are about."""
        images = self.root / "data/datasets/photos/images"
        return sorted(map(pixels, images.glob("*")))

    def refused(self, *words):
        """``plan`` and ``run`` end with 2 before a call, and name these."""
        for command in ("plan", "run"):
            before = len(self.service.arrived)
            done = self.driftledger(command, check=False)
            assert done.returncode == 2, done.stderr
            assert [word for word in words if word not in done.stderr] == []
            assert len(self.service.arrived) == before


def pixels(file):
    with Image.open(file) as image:
        return image.convert("RGB").tobytes()


def lines_of_a_merge():
    """Return the commands of docs/teams.md for two people who ran at once."""
    block = PAGE.split("**Two people ran at once.**")[1].split("```")[1]
    return [line.split(" #")[0].strip() for line in block.splitlines()[1:]]


@pytest.fixture
def people(tmp_path):
    """Ann has made and published a project; Bob has cloned it."""
    with Service() as service:
        made = described_by(
            tmp_path / "ann",
            {"eyes": service.base_url},
            service.base_url,
            images=6,
        )
        ann = Person(made.root, tmp_path / "ann/state", service)
        ann.env = made.env | ann.env
        ann.git("branch", "--move", "main")
        bare = str(tmp_path / "bare.git")
        ann.git("init", "--quiet", "--bare", "--initial-branch=main", bare)
        ann.git("remote", "add", "origin", bare)
        remote = str(tmp_path / "remote")
        ann.run("dvc", "remote", "add", "--default", "team", remote)
        ann.evaluate(2 * 6)
        ann.publish("--set-upstream", "main")
        (tmp_path / "bob").mkdir()
        ann.git("clone", "--quiet", bare, str(tmp_path / "bob/project"))
        bob = Person(tmp_path / "bob/project", tmp_path / "bob/state", service)
        bob.run("dvc", "pull")
        yield ann, bob
        assert set(service.answered.values()) == {1}


def own_model(params):
    """Select one more model, by the address and key of the other."""
    params["models"]["mine"] = params["models"]["eyes"] | {"model": "far"}
    params["run"]["models"].append("mine")


@pytest.mark.slow
def test_ten_edits_of_a_folder_in_two_clones(people):
    ann, bob = people
    # three edits: a renamed picture is not drawn again, and new ones are noted
    bob.move("0.png", "first.png")
    bob.add(10)
    bob.add(11)
    assert "photos.dvc names what is new" in bob.evaluate(4)
    assert bob.git("diff", "--cached", "--name-only") == ""
    bob.publish()

    # three more, while an own model is not committed
    ann.params(own_model)
    ann.git("pull", "--quiet")
    ann.refused("photos.dvc", "dvc pull")
    ann.run("dvc", "pull", "--allow-missing")
    ann.move("10.png", "tenth.png")
    ann.remove("1.png")
    ann.add(12)
    # eyes describes one, mine eight
    ann.evaluate(2 * 9)
    ann.git("switch", "--quiet", "--create", "mine")
    ann.commit("an own model")

    # two at once on main, and two in the branch
    bob.add(13)
    bob.move("2.png", "second.png")
    bob.evaluate(2)
    bob.publish()
    ann.add(14)
    ann.move("first.png", "again.png")
    ann.evaluate(2 * 2)
    ann.commit("two more")

    pull, *others, commit = lines_of_a_merge()
    merged = ann.run("bash", "-c", f"{pull} origin main", check=False)
    assert "CONFLICT (content): Merge conflict in photos.dvc" in merged.stdout
    ann.refused("photos.dvc", "conflict")
    aside = ann.root.parent
    for name in ("12.png", "14.png"):
        (ann.photos / name).rename(aside / name)
    for line in ("git checkout --theirs photos.dvc", "git add photos.dvc"):
        assert f"`{line}`" in " ".join(PAGE.split())
        ann.run("bash", "-e", "-c", line)
    assert others[-1] == "driftledger run"
    for line in others[:-1]:
        ann.run("bash", "-e", "-c", line)
    for name in ("12.png", "14.png"):
        (aside / name).rename(ann.photos / name)
    ann.move("first.png", "again.png")
    ann.remove("1.png")
    # eyes has described Bob's, mine has not
    ann.evaluate(2)
    ann.run("bash", "-e", "-c", commit, GIT_EDITOR="true")
    ann.run("dvc", "push")
    ann.git("push", "--quiet", "origin", "mine")
    gate = ("compare", f"origin/main:{RUN}", RUN, "--anyway", "--fail-if", "worse")
    # their encoder is own code
    judged = ann.driftledger(*gate, "--trust").stdout
    assert "passes: genception on photos" in judged

    bob.git("pull", "--quiet", "origin", "mine")
    bob.run("dvc", "pull")
    bob.evaluate(0)
    assert len(bob.shown()) == 10
    assert bob.results() == ann.results() != {}

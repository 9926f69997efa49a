"""One evaluated project with every benchmark, and a way to change it so that all hashes fit
again."""

import json
import shutil

import pytest
import yaml

from driftledger.core.canonical import md5_bytes, sha256_of
from driftledger.core.files import read_json, write_json
from driftledger.core.made import INPUTS, Made, files_digest
from driftledger.ledger.lineage import read_runs
from driftledger.ledger.lock import read_lock
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.objects.files import Workspace, listing_bytes, listing_md5
from driftledger.ledger.published import check_published, publish
from driftledger.ledger.verify.files import check_hashes, check_links
from driftledger.ledger.verify.replay import recompute
from driftledger.project.project import Project
from tests.acceptance.checkout import Folder, made_once
from tests.conftest import DVC_CONFIG, REPOSITORY, draw
from tests.support.cases import CASES
from tests.support.forging import Below, change
from tests.support.params import default_params

MODEL = "regions_medium"
SETS = {"mm_sap": "scenes_mm_sap", "mm_vet": "scenes_mm_vet", "mme": "scenes_mme"}
CHAINS = f"data/records/{MODEL}/genception/my_images/painter"
SCORES = f"reports/scores/{MODEL}"
GENCEPTION = f"{SCORES}/genception/my_images/painter/layout"


class Ledger:
    """A committed checkout of an evaluated project."""

    def __init__(self, root):
        self.root = root

    @property
    def project(self):
        return Project(self.root)

    def evidence(self):
        files = Workspace(self.root)
        [evidence] = read_runs(
            self.root, self.project.selected, self.project.combinations, files
        )
        return evidence

    def genception(self):
        """Return the lineage of GenCeption's score."""
        lineages = self.evidence().lineages
        return next(each for each in lineages if each.folder.path == GENCEPTION)

    @property
    def contents(self):
        return Contents(self.root, trust=False)

    def check(self, score=""):
        """Check everything, but compute only the score in this folder again."""
        contents, evidence = self.contents, self.evidence()
        result = check_hashes([evidence], contents) + check_links([evidence], contents)
        result += check_published(self.root, [evidence])
        return result + recompute(
            self.project,
            [each for each in evidence.lineages if each.folder.path == score],
            contents,
        )

    def put(self, path, *at, **to):
        """Put the value ``to`` at a place in a file, or remove what is there."""
        change(Below(self.root), {"in": path, "at": at, **to})

    def rows(self, path):
        """Read the lines of a JSONL file."""
        return [json.loads(row) for row in (self.root / path).read_text().splitlines()]

    def put_noted(self, stage, *at, to):
        """Change what a stage ran with, and its digest in dvc.lock."""
        lock = (self.root / "dvc.lock").read_text()
        entry = yaml.safe_load(lock)["stages"][stage]
        [digest] = entry["params"]["data/resolved.json"].values()
        self.put("data/settings.json", digest, *at, to=to)
        file = self.root / "data/settings.json"
        settings = json.loads(file.read_text())
        changed = sha256_of(settings[digest])
        settings[changed] = settings.pop(digest)
        write_json(file, settings)
        (self.root / "dvc.lock").write_text(lock.replace(digest, changed))

    def relock(self, inputs=INPUTS):
        """Make inputs.json, DVC's cache and dvc.lock fit to the files as they are, as somebody who
        forges would."""
        lock = (self.root / "dvc.lock").read_text()
        files = Below(self.root)
        for entry in read_lock(self.root).values():
            for out in entry.outs:
                top = self.root / out.path
                for made in top.rglob(inputs):
                    digest = {"files": files_digest(made.parent)}
                    write_json(made, read_json(made, Made).model_copy(update=digest))
                if top.is_dir():
                    listing = Workspace(self.root).listing(out.path)
                    contents = {listing_md5(listing): listing_bytes(listing)}
                    for name, md5 in listing.items():
                        contents[md5] = (top / name).read_bytes()
                    for md5, data in contents.items():
                        files[f".dvc/cache/files/md5/{md5[:2]}/{md5[2:]}"] = data
                    lock = lock.replace(out.md5, listing_md5(listing))
                elif top.is_file():
                    lock = lock.replace(out.md5, md5_bytes(top.read_bytes()))
        (self.root / "dvc.lock").write_text(lock)

    def run(self, *command, check=True):
        return (
            Folder(self.root, self.root.parent / "state")
            .run(*command, check=check)
            .stdout
        )

    def git(self, *arguments):
        return self.run("git", *arguments).strip()

    def commit(self, message="results"):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)


def _params(questions):
    params = default_params() | {"datasets": {}}
    for section, changes in json.loads(
        (CASES / "ledger/params.json").read_text()
    ).items():
        params[section] |= changes
    for name in SETS.values():
        params["question_sets"][name]["count"] = questions
    return json.dumps(params)  # which is YAML


def make(folder, questions=26, size=(96, 72)):
    """Evaluate four images and so many scenes that are asked about, and commit the results."""
    root = folder / "project"
    root.mkdir()
    ledger = Ledger(root)
    for name in ("dvc.yaml", ".gitignore", ".gitattributes", ".dvcignore"):
        shutil.copy(REPOSITORY / name, root)
    (root / "params.yaml").write_text(_params(questions))
    (root / ".dvc").mkdir()
    (root / ".dvc/config").write_text(DVC_CONFIG)
    (root / ".dvc/.gitignore").write_text("/config.local\n/tmp\n/cache\n")
    for number in range(4):
        draw(
            root
            / "my_images"
            / ("round" if number % 2 else "square")
            / f"{number}.png",
            number,
            size,
        )
    ledger.git("init", "--quiet", "--initial-branch=main")
    ledger.git("config", "user.name", "tests")
    ledger.git("config", "user.email", "tests@localhost")
    ledger.commit("a project")
    ledger.run("dvc", "repro", "report")
    publish(root, ledger.evidence())
    ledger.commit()


@pytest.fixture(scope="session")
def original(tmp_path_factory):
    """The project as ``dvc repro``, ``track`` and ``git commit`` leave it, to look at."""
    return Ledger(made_once(tmp_path_factory, "ledger", make) / "project")


@pytest.fixture
def ledger(original, tmp_path):
    """A copy of it, to change."""
    shutil.copytree(original.root, tmp_path / "project", symlinks=True)
    return Ledger(tmp_path / "project")

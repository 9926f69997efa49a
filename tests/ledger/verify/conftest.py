"""A real ledger with every benchmark in it, small, and a way to change what it holds so that all hashes fit again."""

import hashlib
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from driftledger.core.canonical import canonical_json, pretty_json
from driftledger.core.paths import LOCKS, Combination
from driftledger.ledger.lineage import Evidence, read_evidence
from driftledger.ledger.objects.contents import Contents
from driftledger.project.project import Project
from tests.conftest import Checkout, made_once, make_checkout

MODEL = "regions_medium"
SETS = ["scenes_mm_sap", "scenes_mm_vet", "scenes_mme"]
COMBINATION = Combination(MODEL, "painter", "layout")

GENCEPTION = f"reports/scores/genception/my_images/{MODEL}/painter/layout"
FIDELITY = f"reports/scores/fidelity/my_images/{MODEL}/painter/layout"
TRAC = f"reports/scores/trac/beetles/{MODEL}/shown/tfidf"
MM_SAP, MM_VET, MME = (f"reports/scores/questions/{name}/{MODEL}" for name in SETS)

CHAINS = f"data/chains/my_images/{MODEL}/painter"
DESCRIPTIONS = f"data/descriptions/beetles/{MODEL}/shown"


def with_everything(params: dict[str, Any]) -> None:
    """GenCeption, TRAC with lengths and examples, fidelity, and the three question benchmarks."""
    params["run"] |= {"datasets": ["my_images", "beetles"], "trac": ["beetles"], "fidelity": ["my_images"]}
    params["run"] |= {"descriptions": ["shown"], "text_encoders": ["tfidf"], "question_sets": SETS}
    params["datasets"]["beetles"] |= {"support_per_label": 2, "test_per_label": 1}
    prompt = params["descriptions"]["features"]["prompt"]
    shown = {"choose": "random", "shots": [1]}
    params["descriptions"]["shown"] = {"prompt": prompt, "max_tokens": [60, 5], "demonstrations": shown}
    params["questions"] |= {"permutations": 2, "gradings": 2}
    for name in SETS:
        params["question_sets"][name]["count"] = 26
    for benchmark in ("genception", "trac", "fidelity", "questions"):
        params[benchmark]["bootstrap"]["resamples"] = 100


STAGES = f"""
from pathlib import Path
from driftledger.commands import stages
from driftledger.core.paths import Combination
from driftledger.project.project import Project

project = Project(Path.cwd())
model, generator, encoder = combination = Combination(*{tuple(COMBINATION)!r})
stages.resolve(project)
for dataset in ("my_images", "beetles"):
    stages.dataset(project, dataset)
stages.chain(project, "my_images", model, generator)
stages.drift(project, "my_images", combination)
stages.describe(project, "beetles", model, "shown")
stages.trac(project, "beetles", model, "shown", "tfidf")
stages.redraw(project, "my_images", model, generator)
stages.fidelity(project, "my_images", combination)
for name in {SETS!r}:
    stages.question_set(project, name)
    stages.answer(project, name, model)
    stages.grade(project, name, model)
    stages.score(project, name, model)
"""
"""All that ``dvc repro`` runs but the report, in one process."""


class Ledger:
    """A checkout whose files can be changed as somebody would who knows how it is kept."""

    def __init__(self, checkout: Checkout) -> None:
        self.root = checkout.root

    @property
    def project(self) -> Project:
        return Project(self.root)

    @property
    def contents(self) -> Contents:
        return Contents(self.root)

    @property
    def evidence(self) -> Evidence:
        project = self.project
        return read_evidence(project.layout, project.selected, COMBINATION)

    def change_json(self, path: str, change: Callable[[dict[str, Any]], object]) -> None:
        """Change a JSON file, and every hash that speaks of it."""
        content = json.loads((self.root / path).read_bytes())
        change(content)
        self.write(path, pretty_json(content).encode())

    def change_row(self, path: str, change: Callable[[dict[str, Any]], object], number: int = 0) -> dict[str, Any]:
        """Change a line of a JSONL file, and every hash that speaks of it; returns the line as it was."""
        rows = [json.loads(line) for line in (self.root / path).read_text(encoding="utf-8").splitlines()]
        before: dict[str, Any] = dict(rows[number])
        change(rows[number])
        self.write(path, "".join(canonical_json(row) + "\n" for row in rows).encode())
        return before

    def write(self, path: str, data: bytes) -> None:
        """Replace a file, and let the locks speak of the new one."""
        file = self.root / path
        file.unlink()  # it may be a link into DVC's cache
        file.write_bytes(data)
        for lock_file in LOCKS:
            lock = yaml.safe_load((self.root / lock_file).read_text(encoding="utf-8"))
            for entry in lock["stages"].values():
                for locked in (*entry.get("deps", []), *entry.get("outs", [])):
                    if path == locked["path"] or path.startswith(f"{locked['path']}/"):
                        locked["md5"] = _md5(self.root / locked["path"])
            (self.root / lock_file).write_text(yaml.safe_dump(lock, sort_keys=False), encoding="utf-8")


def _md5(path: Path) -> str:
    if path.is_file():
        return _hash(path.read_bytes())
    names = sorted(file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file())
    rows = [{"md5": _hash((path / name).read_bytes()), "relpath": name} for name in names]
    return _hash(json.dumps(rows, sort_keys=True).encode()) + ".dir"


def _hash(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def _make_with_everything(folder: Path) -> None:
    made = make_checkout(folder)
    made.params(with_everything)
    made.commit("every benchmark")
    made.run(sys.executable, "-c", STAGES)
    listed = made.run("dvc", "stage", "list", "--all", "--name-only").stdout.split()
    made.run("dvc", "commit", "--force", *(name for name in listed if name not in ("report", "track")))
    made.commit("scores")


@pytest.fixture(scope="session")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A checkout with every benchmark, as ``dvc repro`` leaves it, to be copied."""
    return made_once(tmp_path_factory, "every_benchmark", _make_with_everything)


@pytest.fixture
def ledger(untouched: Checkout, tmp_path: Path) -> Ledger:
    """A copy of it, to change."""
    return Ledger(untouched.copy(tmp_path / "checkout"))


@pytest.fixture(scope="session")
def kept(untouched: Checkout, tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    """A copy that all tests look at."""
    return Ledger(untouched.copy(tmp_path_factory.mktemp("kept") / "checkout"))


def places(findings: Iterable[tuple[str, str, str]]) -> list[str]:
    """Where findings are, each with its kind."""
    return [f"{kind} {where}" for kind, where, _ in findings]

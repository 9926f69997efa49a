"""A real ledger with every benchmark in it, small, and a way to change what it holds so that all hashes fit again."""

import hashlib
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import METRICS, SCORE, Score
from driftledger.benchmarks.writing import dvc_metrics
from driftledger.core.canonical import canonical_json, pretty_json
from driftledger.core.paths import Combination
from driftledger.ledger.lineage import Evidence, Lineage, read_evidence
from driftledger.ledger.lock import locks_here
from driftledger.ledger.objects.contents import Contents
from driftledger.project.project import Project
from tests.conftest import Checkout, made_once, make_checkout

MODEL = "regions_medium"
SETS = {"mm_sap": "scenes_mm_sap", "mm_vet": "scenes_mm_vet", "mme": "scenes_mme"}
COMBINATION = Combination(MODEL, "painter", "layout")

GENCEPTION = f"reports/scores/genception/my_images/{MODEL}/painter/layout"
FIDELITY = f"reports/scores/fidelity/my_images/{MODEL}/painter/layout"
TRAC = f"reports/scores/trac/beetles/{MODEL}/shown/tfidf"
MM_SAP, MM_VET, MME = (f"reports/scores/{name}/{questions}/{MODEL}" for name, questions in SETS.items())
"""The folders of the scores."""

CHAINS = f"data/chains/my_images/{MODEL}/painter"
DESCRIPTIONS = f"data/descriptions/beetles/{MODEL}/shown"


def with_everything(params: dict[str, Any]) -> None:
    """GenCeption, TRAC with lengths and examples, fidelity, and the three question benchmarks."""
    run = params["run"]
    run |= {"datasets": ["my_images", "beetles"], "trac": ["beetles"], "fidelity": ["my_images"]}
    run |= {"descriptions": ["shown"], "text_encoders": ["tfidf"], "question_sets": list(SETS.values())}
    run |= {name: [questions] for name, questions in SETS.items()}
    params["datasets"]["beetles"] = {"provider": "beetles", "support_per_label": 2, "test_per_label": 1}
    prompt = "What are the main visual features for {category} in this image?"
    shown = {"choose": "random", "shots": [1]}
    params["descriptions"]["shown"] = {"prompt": prompt, "max_tokens": [60, 5], "demonstrations": shown}
    params["genception"]["cross_check"] = ["regions_fine", MODEL, "regions_coarse"]
    params["mm_sap"]["permutations"] = params["mm_vet"]["gradings"] = 2
    for questions in SETS.values():
        params["question_sets"][questions]["count"] = 26
    for name in ("genception", "trac", "fidelity", *SETS):
        params[name]["bootstrap"]["resamples"] = 100


STAGES = """
from pathlib import Path
from driftledger.commands import stages
from driftledger.commands.resolve import resolve
from driftledger.project.project import Project

project, done = Project(Path.cwd()), set()
resolve(project)
for dataset in project.settings.run.datasets:
    stages.dataset(project, dataset)
for question_set in project.settings.run.question_sets:
    stages.question_set(project, question_set)
for spec, keys in project.selected.scores:
    for stage in (*spec.collects, spec.scores):
        if stage.at(keys) not in done:
            stages.run_stage(project, spec.name, stage.name, [keys[key] for key in stage.keys])
            done.add(stage.at(keys))
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
        return read_evidence(self.root, self.project.selected, COMBINATION)

    def lineage(self, folder: str) -> Lineage:
        """What stands behind the score in a folder."""
        [found] = [each for each in self.evidence.lineages if each.score_file.path == f"{folder}/{SCORE}"]
        return found

    def change_json(self, path: str, change: Callable[[dict[str, Any]], object]) -> None:
        """Change a JSON file, and every hash of it in the locks."""
        content = json.loads((self.root / path).read_bytes())
        change(content)
        self.write(path, pretty_json(content).encode())

    def change_score(self, folder: str, change: Callable[[dict[str, Any]], object]) -> None:
        """Change a score, its numbers for DVC, and the hashes of both."""
        self.change_json(f"{folder}/{SCORE}", change)
        score = Score.model_validate_json((self.root / folder / SCORE).read_bytes())
        metrics = dvc_metrics(benchmark(score.benchmark), score)
        self.write(f"{folder}/{METRICS}", pretty_json(metrics).encode())

    def change_row(self, path: str, change: Callable[[dict[str, Any]], object], number: int = 0) -> dict[str, Any]:
        """Change a line of a JSONL file, and every hash of it in the locks; returns the line as it was."""
        rows = [json.loads(line) for line in (self.root / path).read_text(encoding="utf-8").splitlines()]
        before: dict[str, Any] = dict(rows[number])
        change(rows[number])
        self.write(path, "".join(canonical_json(row) + "\n" for row in rows).encode())
        return before

    def write(self, path: str, data: bytes) -> None:
        """Replace a file, and let the locks have the hash of the new one."""
        file = self.root / path
        file.unlink()  # it may be a link into DVC's cache
        file.write_bytes(data)

        def follow(stages: dict[str, Any]) -> None:
            for entry in stages.values():
                for locked in (*entry.get("deps", []), *entry.get("outs", [])):
                    if path == locked["path"] or path.startswith(f"{locked['path']}/"):
                        locked.update(_locked(self.root / locked["path"]))

        self.change_locks(follow)

    def change_locks(self, change: Callable[[dict[str, Any]], object]) -> None:
        """Change the stages of every lock."""
        for file in locks_here(self.root):
            path = self.root / file
            lock = yaml.safe_load(path.read_text(encoding="utf-8"))
            change(lock["stages"])
            path.write_text(yaml.safe_dump(lock, sort_keys=False), encoding="utf-8")


def _locked(path: Path) -> dict[str, Any]:
    if path.is_file():
        return {"md5": _hash(path.read_bytes()), "size": path.stat().st_size}
    files = [file for file in sorted(path.rglob("*")) if file.is_file()]
    rows = [{"md5": _hash(file.read_bytes()), "relpath": file.relative_to(path).as_posix()} for file in files]
    size = sum(file.stat().st_size for file in files)
    md5 = _hash(json.dumps(sorted(rows, key=lambda row: row["relpath"]), sort_keys=True).encode())
    return {"md5": f"{md5}.dir", "size": size, "nfiles": len(files)}


def _hash(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def _make_with_everything(folder: Path) -> None:
    made = make_checkout(folder)
    made.params(with_everything)
    made.commit("every benchmark")
    made.run(sys.executable, "-c", STAGES)
    listed = made.run("dvc", "stage", "list", "--all", "--name-only").stdout.split()
    made.run("dvc", "commit", "--force", *(name for name in listed if name not in ("report", "correlation", "track")))
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

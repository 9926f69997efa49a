"""A real ledger with every benchmark in it, small, and a way to change what it holds so that all hashes fit again."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from struct import pack
from typing import Any
from zlib import crc32

import pytest
from PIL import Image

from driftledger.benchmarks.score import SCORE
from driftledger.core.images import png_bytes
from driftledger.core.paths import Combination
from driftledger.ledger.lineage import Lineage
from driftledger.ledger.objects.contents import Contents
from lab.forgeries import Forger
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


class Ledger(Forger):
    """A checkout whose files can be changed as somebody would who knows how it is kept."""

    def __init__(self, checkout: Checkout) -> None:
        super().__init__(checkout.root, "/".join(COMBINATION))

    @property
    def contents(self) -> Contents:
        return Contents(self.root)

    def lineage_in(self, folder: str) -> Lineage:
        """What stands behind the score in a folder."""
        [found] = [each for each in self.evidence.lineages if each.score_file.path == f"{folder}/{SCORE}"]
        return found

    def change_row(self, path: str, change: Callable[[dict[str, Any]], object], number: int = 0) -> dict[str, Any]:
        """Change a line of a JSONL file, and every hash of it in the locks; returns the line as it was."""
        rows = self.rows(path)
        before: dict[str, Any] = dict(rows[number])
        change(rows[number])
        self.write_rows(path, rows)
        return before


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


def torn_png() -> bytes:
    """A PNG with something else after its first block of pixels, over which Pillow raises SyntaxError."""
    noise = Image.frombytes("RGB", (64, 64), Random(1).randbytes(64 * 64 * 3))
    data, length = png_bytes(noise), 100
    header = 8 + 25  # the signature, and IHDR
    block = b"IDAT" + data[header + 8 : header + 8 + length]
    return data[:header] + pack(">I", length) + block + pack(">I", crc32(block)) + bytes(32)


def places(findings: Iterable[tuple[str, str, str]]) -> list[str]:
    """Where findings are, each with its kind."""
    return [f"{kind} {where}" for kind, where, _ in findings]

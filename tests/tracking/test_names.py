"""The metrics that people come for, from hand-worked records to a real store, and read back by the names in MLflow."""

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from driftledger.benchmarks.mm_sap.records import ChoiceRecord
from driftledger.benchmarks.records import RECORDS
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import SCORE, Score, tracked_key
from driftledger.benchmarks.scoring import Scored
from driftledger.benchmarks.selection import Selected
from driftledger.core.files import read_json, read_jsonl, write_jsonl
from driftledger.core.paths import Combination
from driftledger.core.types import Outcome
from driftledger.ledger.lineage import read_evidence
from driftledger.tracking.projection import run_content
from tests.benchmarks._questions.asking import OPTIONS, Says, exam, sap
from tests.benchmarks.genception import test_score as chains
from tests.benchmarks.trac import test_score as retrieval
from tests.support.ledgers import add_stages, lock_entries, locked, write_scored

from .stores import Store

REFUSES = OPTIONS[4]
SIMILARITY = {t: sum(chains.cosine(angles[t - 1]) for angles in chains.ANGLES.values()) / 4 for t in (1, 2, 3)}
"""Two samples in each of two categories: the mean over categories is that of all."""
GC = {t: sum(k * SIMILARITY[k] for k in range(1, t + 1)) / sum(range(1, t + 1)) for t in SIMILARITY}

EXPECTED: Mapping[str, Mapping[str, float]] = {
    "genception/d": {"gc_at_3": GC[3], "similarity_at_3": SIMILARITY[3], "coverage": 1},
    "trac/birds": {"top1": 80, "class_mean": 60, "coverage": 1},
    "mm_sap/exam": {
        "score": 500 / 9,
        "score_unread_left_out": 62.5,
        "answer_rate": 600 / 9,
        "answer_accuracy": 50,
        "known_knowns": 60,
        "known_unknowns": 200 / 6,
        "coverage": 8 / 9,
        "subset/know/answer_rate": 50,
        "subset/know/answer_accuracy": 100,
    },
}
"""Where MLflow has a score → its numbers, by hand; no two of one score are alike but the coverages."""


def chained(root: Path) -> Scored:
    root.mkdir()
    return Scored(*chains.scored(root))


def retrieved(root: Path) -> Scored:
    """Four of five are found by the nearest description, three by the nearest class."""
    root.mkdir()
    retrieval.write_case(root, retrieval.TEST | {"e": ("wren", "a brown bird")})
    score, rows = retrieval.scored(root)
    return Scored(score, list(rows.values()))


def answered(root: Path) -> Scored:
    """Right, right, wrong in basic; right, refused in know; refused, wrong, wrong, unread in beyond."""
    right = ["red", "blue", "green", "red", "blue", None, None, None, None]
    subsets = ["basic"] * 3 + ["know"] * 2 + ["beyond"] * 4
    chosen = ("red", "blue", "yellow", "red", REFUSES, REFUSES, "red", "green", "red")
    taken = exam(root, "mm_sap", sap(*right, subsets=subsets), Says(chosen=chosen)).collect()
    file, unread = taken.folder("grade") / RECORDS, {"choice": None, "outcome": Outcome.UNPARSED}
    records = read_jsonl(file, ChoiceRecord)
    write_jsonl(file, [each.model_copy(update=unread if each.question == "q8" else {}) for each in records])
    return taken.score()


class Shown(NamedTuple):
    """A score's file, and what MLflow shows of it."""

    score: Score
    run: Any
    store: Store

    def metric(self, name: str) -> float:
        place = f"{self.score.benchmark}/{self.score.on}"
        headline = name in benchmark(self.score.benchmark).headlines(self.score)
        return float(self.run.data.metrics[tracked_key(place, name, headline=headline)])

    def steps(self, name: str) -> dict[int, float]:
        key = f"{self.score.benchmark}/{name}.{self.score.on}"
        return {row.step: row.value for row in self.store.client().get_metric_history(self.run.info.run_id, key)}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory, migrated: Path) -> dict[str, Shown]:
    """Where MLflow has a score → it, after scoring, writing and one push of a run per score."""
    folder = tmp_path_factory.mktemp("names")
    root, store = folder / "ledger", Store(folder)
    shutil.copy(migrated / "mlflow.db", store.file)
    contents, files = [], []
    for number, made in enumerate((chained, retrieved, answered), 1):
        score, rows = made(folder / made.__name__)
        spec = benchmark(score.benchmark)
        files.append(write_scored(root, score, rows) / SCORE)
        paths = {stage.name: stage.at(score.keys) for stage in (spec.data, *spec.collects)}
        folders = {name: locked(path, f"{number}" * 32 + ".dir", nfiles=1) for name, path in paths.items()}
        add_stages(root, lock_entries(root, score, folders))
        combination = Combination(score.model, score.keys.get("generator", "-"), score.keys.get("encoder", "-"))
        content = run_content(root, read_evidence(root, Selected([(spec, score.keys)]), combination))
        contents.append(replace(content, artifacts={}))  # whose pictures need the folders that were collected
    store.push(contents)
    client, found = store.client(), {}
    for score in (read_json(file, Score) for file in files):
        [run] = client.search_runs([store.experiment_id()], f"params.model = '{score.model}'")
        found[f"{score.benchmark}/{score.on}"] = Shown(score, client.get_run(run.info.run_id), store)
    return found


def test_every_metric_has_the_value_of_its_score_file_under_its_name(shown: dict[str, Shown]) -> None:
    for place, expected in EXPECTED.items():
        assert len({round(value, 9) for value in expected.values()}) >= len(expected) - 1, (
            "so that none stands for another"
        )
        each = shown[place]
        numbers = dict(each.score.numbers())
        assert {name: each.metric(name) for name in expected} == {name: numbers[name] for name in expected}
        assert {name: each.metric(name) for name in expected} == pytest.approx(expected, abs=1e-9)


def test_similarity_and_gc_have_a_value_per_iteration(shown: dict[str, Shown]) -> None:
    each = shown["genception/d"]
    for name, expected in (("similarity", SIMILARITY), ("gc", GC)):
        assert each.steps(name) == pytest.approx(expected, abs=1e-9)
        assert each.steps(name) == {point.step: point.value for point in each.score.curves[name]}


def test_who_took_part_is_a_param_and_a_tag(shown: dict[str, Shown]) -> None:
    roles = {
        "genception/d": {"model", "generator", "encoder"},
        "trac/birds": {"model", "text_encoder"},
        "mm_sap/exam": {"model"},
    }
    for place, each in shown.items():
        data, cards = each.run.data, each.score.components
        assert set(cards) == roles[place]
        for role, card in cards.items():
            told = {role: card.name, f"{role}_version": card.fingerprint[:12], f"{role}.provider": card.provider}
            assert told.items() <= data.params.items()
            assert data.tags[f"{role}.fingerprint"] == card.fingerprint


def test_headlines_alone_are_linked_to_versions_with_their_dataset(shown: dict[str, Shown]) -> None:
    client = next(iter(shown.values())).store.client()
    for place, each in shown.items():
        [dataset] = [held.dataset for held in each.run.inputs.dataset_inputs]
        assert dataset.name == each.score.on == place.partition("/")[2]
        model = client.get_logged_model(each.run.inputs.model_inputs[0].model_id)
        linked = {row.key: (row.dataset_name, row.dataset_digest) for row in model.metrics}
        headlines = benchmark(each.score.benchmark).headlines(each.score)
        assert {tracked_key(place, name, headline=True) for name in headlines} == linked.keys()
        assert set(linked.values()) == {(dataset.name, dataset.digest)}

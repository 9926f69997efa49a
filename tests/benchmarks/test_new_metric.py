"""A metric that is computed, and has a line in its benchmark's table, is shown wherever metrics are."""

import csv
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from driftledger.benchmarks._chains.spec import SEEN
from driftledger.benchmarks.base import Input, Metric
from driftledger.benchmarks.genception import runner as genception
from driftledger.benchmarks.genception.score import score as genception_score
from driftledger.benchmarks.genception.settings import GenCeptionScoring
from driftledger.benchmarks.genception.spec import GenCeption
from driftledger.benchmarks.registry import benchmark, runner
from driftledger.benchmarks.score import SCORE, Row, Score
from driftledger.benchmarks.scoring import Scored, ToScore
from driftledger.core.files import read_json
from driftledger.core.paths import Combination
from driftledger.ledger.answers import as_tree
from driftledger.ledger.audit import Sources, resolve_target
from driftledger.ledger.compare import compare
from driftledger.ledger.lineage import read_evidence
from driftledger.ledger.objects.contents import Contents
from driftledger.reports.leaderboard import write_leaderboard
from driftledger.reports.standing import by_benchmark
from driftledger.tracking.content import metrics_of
from tests.benchmarks._questions.test_answers import EXAMS
from tests.benchmarks.genception import test_score as chains
from tests.support.description_ledgers import fidelity_score, trac_score
from tests.support.fakes import TableEncoder
from tests.support.ledgers import add_stages, lock_entries, locked, selected, write_scored
from tests.support.terminal import printed

DROP = Metric("drop_at_{t}", "drop@{t}", "1 - s(t)", "drift.cosine_similarity", SEEN, higher_is_better=False, digits=4,
              headline=True, row="drop", tracked="drop")  # fmt: skip
"""The line."""

MODELS: Mapping[str, int] = {"m": 0, "n": 7}
"""Model → by how many degrees its images are further from the original."""
KEYS = {model: {"dataset": "d", "model": model, "generator": "g", "encoder": "e"} for model in MODELS}
PAIR = [Combination(model, "g", "e") for model in MODELS]
SELECTED = selected(*(("genception", keys) for keys in KEYS.values()))


def with_drop(given: ToScore) -> Scored:
    """The scoring, with one more value per sample, and its means."""
    score, rows = genception_score(given)
    groups = {kind: {name: _dropped(each) for name, each in some.items()} for kind, some in score.groups.items()}
    more = score.model_copy(update={"metrics": _dropped(score.metrics), "groups": groups})
    return Scored(more, [_told(row) for row in rows])


def _dropped(values: dict[str, float]) -> dict[str, float]:
    return values | {f"drop_at_{t}": 1 - values[f"similarity_at_{t}"] for t in (1, 2, 3)}


def _told(row: Row) -> Row:
    drops = [None if value is None else 1 - value for value in row.values["similarity"]]
    return row.model_copy(update={"values": row.values | {"drop": drops}})


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two models' chains, scored with one more metric."""
    monkeypatch.setattr(GenCeption, "metrics", (*GenCeption.metrics, DROP))
    monkeypatch.setattr(genception, "score", with_drop)
    root, spec = tmp_path / "ledger", benchmark("genception")
    for (model, more), number in zip(MODELS.items(), "12", strict=True):
        angles = {name: tuple(angle + more for angle in some) for name, some in chains.ANGLES.items()}
        folder = tmp_path / model
        with monkeypatch.context() as patched:
            patched.setattr(chains, "ANGLES", angles)
            folder.mkdir()
            chains.write_case(folder, {}, {})
        given = ToScore(
            keys=KEYS[model],
            folders={"dataset": folder / "d", "chain": folder / "c"},
            scoring=GenCeptionScoring(iterations=3, confidence=0.95, seed=1),
            min_coverage=0.5,
            encoders={"encoder": TableEncoder()},
        )
        score, rows = runner("genception").score(given)
        write_scored(root, score, rows)
        data, chain = (locked(stage.at(score.keys), number * 32 + ".dir", nfiles=1) for stage in spec.stages[:2])
        add_stages(root, lock_entries(root, score, {"dataset": data | {"md5": "d" * 32 + ".dir"}, "chain": chain}))
    return root


def drop(model: str) -> float:
    """By hand, at t = 3."""
    return 1 - sum(chains.cosine(angles[2] + MODELS[model]) for angles in chains.ANGLES.values()) / 4


def scores(root: Path) -> list[Score]:
    return [read_json(root / spec.scores.at(keys) / SCORE, Score) for spec, keys in SELECTED.scores]


def test_its_score_has_it(ledger: Path) -> None:
    for score in scores(ledger):
        assert score.metrics["drop_at_3"] == pytest.approx(drop(score.model), abs=1e-9)
        assert benchmark("genception").headlines(score)["drop_at_3"] == score.metrics["drop_at_3"]
    assert drop("m") < drop("n")


def test_mlflow_has_it_if_its_row_says_how_it_is_called(ledger: Path) -> None:
    logged = {metric.name: metric.value for metric in metrics_of(read_evidence(ledger, SELECTED, PAIR[0]))}
    assert logged["drop/d"] == pytest.approx(drop("m"), abs=1e-9)


def test_the_leaderboard_has_it(ledger: Path) -> None:
    write_leaderboard(ledger / "board", by_benchmark(scores(ledger)))
    text = (ledger / "board.md").read_text(encoding="utf-8")
    table = text[text.index("**drop@3; lower is better**") :]
    assert f"| **overall mean** | {drop('m'):.4f} | {drop('n'):.4f} |" in table
    with (ledger / "board.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["metric"] == "genception/drop_at_3"]
    overall = {row["model"]: row for row in rows if row["kind"] == "overall"}
    assert {model: row["rank"] for model, row in overall.items()} == {"m": "1", "n": "2"}
    for model, row in overall.items():
        assert float(row["value"]) == pytest.approx(drop(model), abs=1e-9)


def test_runs_are_compared_by_it(ledger: Path) -> None:
    a, b = (read_evidence(ledger, SELECTED, combination) for combination in PAIR)
    [pair] = compare(a, b, Contents(ledger)).pairs
    [compared] = [each for each in pair.metrics if each.metric == "drop_at_3"]
    assert (compared.common, compared.only_a, compared.only_b) == (4, 0, 0)
    assert compared.difference == pytest.approx(drop("n") - drop("m"), abs=1e-9)


def test_audit_explains_it(ledger: Path) -> None:
    text = printed(as_tree(resolve_target(Sources(ledger, SELECTED, PAIR), "m/g/e:drop_at_3")))
    assert text.startswith(f"genception/d/drop_at_3 = {scores(ledger)[0].metrics['drop_at_3']!r}, of m · g · e")
    assert f"computed: {DROP.formula}" in text
    assert "function: driftledger.metrics.drift.cosine_similarity" in text
    assert "4 of 4" in text


FURTHER = Metric("further", "further", "more", "exact.exact_mean", SEEN, "cm", higher_is_better=False, headline=True)
"""A line in the table of a benchmark whose leaderboard looks like a paper's."""


@pytest.mark.parametrize("plain", [trac_score, fidelity_score], ids=["trac", "fidelity"])
def test_tables_like_a_papers_have_it_too(
    plain: Callable[..., Score], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seer, blind = plain(), plain()
    write_leaderboard(tmp_path / "before", by_benchmark([seer]))
    kind = type(benchmark(seer.benchmark))
    monkeypatch.setattr(kind, "metrics", (*kind.metrics, FURTHER))
    write_leaderboard(tmp_path / "same", by_benchmark([seer]))
    assert (tmp_path / "same.md").read_text("utf-8") == (tmp_path / "before.md").read_text("utf-8")

    more = {"further": 2.5, "further_low": 2.0, "further_high": 3.0}
    seer = seer.model_copy(update={"metrics": seer.metrics | more})
    blind = blind.model_copy(
        update={"keys": blind.keys | {"model": "blind"}, "metrics": blind.metrics | {"further": 7.0}}
    )
    write_leaderboard(tmp_path / "board", by_benchmark([seer, blind]))
    lines = (tmp_path / "board.md").read_text("utf-8").splitlines()
    [head] = [number for number, line in enumerate(lines) if " further (cm) (lower is better) |" in line]
    assert {line.split(" | ")[0]: line.split(" | ")[-2] for line in lines[head + 2 : head + 4]} == {
        "| seer": "2.50 (2.0–3.0)",
        "| blind": "7.00",
    }


DOUBT = Metric("doubt", "doubt", "1 - coverage", "exact.exact_mean", frozenset({Input.ANSWERS, Input.DATA}),
               higher_is_better=False, digits=3)  # fmt: skip


@pytest.mark.parametrize("name", EXAMS)
def test_the_tables_of_a_question_benchmark_have_it(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a column of the first table beside the paper's, and nothing else is changed."""
    spec, module = benchmark(name), import_module(type(runner(name)).__module__)
    taken, score = EXAMS[name](tmp_path).collect(), module.score
    head, values, *others = markdown(tmp_path / "before", taken.score().score)

    def with_doubt(*given: Any) -> Scored:
        scored: Scored = score(*given)
        more = scored.score.model_copy(update={"metrics": scored.score.metrics | {"doubt": 0.125}})
        return Scored(more, scored.rows)

    monkeypatch.setattr(type(spec), "metrics", (*spec.metrics, DOUBT))
    monkeypatch.setattr(module, "score", with_doubt)
    found = markdown(tmp_path / "after", taken.score().score)
    assert found[0] == [*head[:-2], "doubt (lower is better)", "rank", "coverage"]
    assert found[1] == [*values[:-2], "0.125", "1", "1.000"]
    assert found[2:] == others


def markdown(target: Path, score: Score) -> list[list[str]]:
    """The rows of the tables of a leaderboard, the one at a glance left out."""
    write_leaderboard(target, by_benchmark([score]))
    text = target.with_suffix(".md").read_text(encoding="utf-8")
    rows = text[text.index(f"## {score.benchmark} on") :].splitlines()
    return [[cell.strip() for cell in row.split("|")[1:-1]] for row in rows if row.startswith("|") and "--" not in row]

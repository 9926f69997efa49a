"""Correlations: the paper's numbers from the paper's tables, and whose values count for which model."""

import csv
from pathlib import Path

import pytest
import yaml
from scipy import stats

from driftledger.cli import main
from driftledger.core.errors import ConfigError
from driftledger.data.leaderboards import Leaderboard, OutsideValue
from driftledger.project.catalogue import CorrelationSettings
from driftledger.project.project import Project
from driftledger.reports.correlation import FILES, correlated, our_columns, outside_columns, write_correlation
from tests.conftest import shapes_only
from tests.reports.test_tables import control
from tests.support.params import default_params
from tests.support.question_ledgers import question_score

TABLE_3 = {
    **{("GC@3", "MME"): 0.52, ("GC@3", "HallusionBench"): 0.93, ("GC@1", "GC@3"): 0.99},
    **{("GC@1", "MME"): 0.46, ("GC@1", "HallusionBench"): 0.92},
}
"""Pearson's r, as Figure 2 and Table 3 of the GenCeption paper have it."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project that evaluates nothing, with the shipped leaderboards and what the stage wrote of them."""
    root, params = tmp_path_factory.mktemp("correlation"), default_params()
    shapes_only(params)
    params["run"]["genception"] = []
    (root / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    write_correlation(Project(root))
    return Project(root)


def test_table_3_is_reproduced_from_tables_2_and_4(project: Project) -> None:
    with (project.paths.reports / "correlation.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["of_a"] == row["of_b"] == "mmeception"]
    found = {frozenset((row["a"], row["b"])): row for row in rows}
    for pair, printed in TABLE_3.items():
        row = found[frozenset(pair)]
        assert (round(float(row["pearson"]), 2), row["n"]) == (printed, "7")
        assert float(row["pearson_low"]) < printed < float(row["pearson_high"])
    row = found[frozenset(("GC@3", "MME"))]
    gc, mme = (0.368, 0.340, 0.359, 0.351, 0.257, 0.238, 0.225), (153.5, 113.3, 166.3, 126.5, 127.6, 126.1, 122.6)
    assert float(row["spearman"]) == pytest.approx(stats.spearmanr(gc, mme).statistic, abs=1e-6)
    assert float(row["kendall"]) == pytest.approx(stats.kendalltau(gc, mme).statistic, abs=1e-6)


def test_people_read_ranks_and_what_was_printed(project: Project) -> None:
    text = (project.paths.reports / "correlation.md").read_text(encoding="utf-8")
    assert "| GC@3 | MME | 0.52 | 0.5159 | yes |" in text
    assert "| CrossCheckGPT | HallusionBench | 0.97 | – | – |" in text
    assert "Of 8 printed correlations the source gives no values of models to recompute." in text
    assert " | no |" not in text
    assert r"| LLaVA\-13B | 126.1 (rank 5) | 0.238 (rank 6) | 279.2 (rank 6) | 24.5 (rank 7) |" in text, "Table 2"


def test_the_matrix_is_symmetric_and_the_picture_shows_it(project: Project) -> None:
    head, *lines = csv.reader(
        (project.paths.reports / "correlation_matrix.csv").read_text(encoding="utf-8").splitlines()
    )
    assert head[1:] == [line[0] for line in lines]
    columns = list(zip(*(line[1:] for line in lines), strict=True))
    assert [tuple(line[1:]) for line in lines] == columns
    assert lines[head.index("mmeception: GC@1") - 1][head.index("mmeception: GC@3")].startswith("0.99")
    assert b".99" in (project.paths.reports / "correlation.svg").read_bytes()


def test_twice_is_the_same_bytes(project: Project) -> None:
    before = [(project.paths.reports / name).read_bytes() for name in FILES]
    write_correlation(project)
    assert [(project.paths.reports / name).read_bytes() for name in FILES] == before


def run_stage(root: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.chdir(root)
    monkeypatch.setattr("sys.argv", ["driftledger", "stage", "correlation"])
    with pytest.raises(SystemExit) as stop:
        main()
    return stop.value.code


def test_nothing_in_common_and_a_bad_row_are_a_sentence_each(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "params.yaml").write_bytes((project.root / "params.yaml").read_bytes())
    assert run_stage(tmp_path, monkeypatch) in (0, None)
    [line] = capsys.readouterr().out.splitlines()
    assert line.startswith("Too few of the 1 models evaluated here are on genception_v1 (none), mm_sap (none)")
    own = tmp_path / "data" / "leaderboards" / "mm_vet.csv"
    own.parent.mkdir(parents=True)
    own.write_text("model,benchmark,value,source,date\nseer,total,ten,guess,2025\n", encoding="utf-8")
    assert run_stage(tmp_path, monkeypatch) == 2
    assert "line 2 of mm_vet.csv: value: Input should be a valid number" in capsys.readouterr().err


def board(name: str, *rows: tuple[str, str, float]) -> Leaderboard:
    return Leaderboard(name, tuple(OutsideValue(model, of, value, "x", "2025") for model, of, value in rows))


def settings(models: dict[str, dict[str, str]] | None = None) -> CorrelationSettings:
    return CorrelationSettings(models=models or {}, lower_is_better=("FID",), confidence=0.95)


def test_a_name_is_ours_only_on_the_leaderboard_that_the_settings_name() -> None:
    boards = [board("here", ("A", "MME", 1.0), ("B", "MME", 2.0)), board("there", ("A", "MME", 3.0))]
    here, there = outside_columns(boards, settings({"here": {"ours": "A"}}))
    assert (here.values, there.values) == ({"ours": 1.0, "here: B": 2.0}, {"there: A": 3.0})
    with pytest.raises(ConfigError, match=r"leaderboard 'hree' is unknown; did you mean 'here'"):
        list(outside_columns(boards, settings({"hree": {}})))
    with pytest.raises(ConfigError, match=r"correlation\.models\.here\.ours: model 'a' is unknown; .*valid: A"):
        list(outside_columns(boards, settings({"here": {"ours": "a"}})))


def test_ours_are_metrics_without_their_spread_of_models_that_look() -> None:
    scores = [
        question_score("mme", model=n, metrics={"score": v, "score_low": 1.0}) for n, v in (("a", 3.0), ("b", 4.0))
    ]
    [column] = our_columns([*scores, control(question_score("mme", model="blind", metrics={"score": 0.0}))])
    assert (column.key, column.of, column.values) == ("mme/score", "mme on exam", {"a": 3.0, "b": 4.0})


def test_pairs_share_three_models_and_are_not_two_parts() -> None:
    ours = [
        question_score("mme", model=n, metrics={"score": v}) for n, v in zip("abcd", (1.0, 2.0, 4.0, 9.0), strict=True)
    ]
    outside = board("b", *((n, "MME", v) for n, v in (("A", 10.0), ("B", 20.0), ("C", 15.0), ("D", 99.0))))
    columns = [*our_columns(ours), *outside_columns([outside], settings({"b": {"a": "A", "b": "B", "c": "C"}}))]
    [pair] = correlated(columns, 0.95)
    assert (pair.agreement.n, pair.agreement.spearman, pair.intervals["pearson"]) == (3, 0.5, None)
    assert pair.cells()[:2] == ["3", "0.33"]
    two = [*our_columns(ours), *outside_columns([outside], settings({"b": {"a": "A", "b": "B"}}))]
    assert list(correlated(two, 0.95)) == []
    parts = board(
        "b", *((m, n, v) for n in ("FID", "FID/a", "FID/b") for m, v in zip("ABC", (1.0, 2.0, 4.0), strict=True))
    )
    some = list(outside_columns([parts], settings()))
    assert [(column.higher_is_better, column.headline) for column in some] == [
        (False, True),
        (False, False),
        (False, False),
    ]
    assert [(each.a.key, each.b.key) for each in correlated(some, 0.95)] == [("FID", "FID/a"), ("FID", "FID/b")]
    assert list(correlated(some, 0.95, ours=True)) == []

"""The stage's files: the paper's numbers from the paper's tables, and what is said where nothing matches."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from scipy import stats

from driftledger.cli import main
from driftledger.data.leaderboards import leaderboard_folders, read_leaderboards
from driftledger.project.catalogue import catalogue
from driftledger.project.correlation import shipped_correlation
from driftledger.project.project import Project
from driftledger.reports.correlation.columns import check_names
from driftledger.reports.correlation.correlation import write_correlation
from tests.conftest import REPOSITORY, shapes_only
from tests.support.params import default_params
from tests.support.svg import pale, seen

TABLE_3 = {
    ("GC@3", "MME"): 0.52,
    ("GC@3", "HallusionBench"): 0.93,
    ("GC@1", "GC@3"): 0.99,
    ("GC@1", "MME"): 0.46,
    ("GC@1", "HallusionBench"): 0.92,
}
"""Pearson's r, as Figure 2 and Table 3 of the GenCeption paper have it."""


def nothing_of_ours(params: dict[str, Any]) -> None:
    shapes_only(params)
    params["run"]["genception"] = []


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project that evaluates nothing, with the shipped leaderboards."""
    params = default_params()
    nothing_of_ours(params)
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    return Project(tmp_path)


def rows(project: Project) -> dict[frozenset[str], dict[str, str]]:
    text = (project.paths.reports / "correlation.csv").read_text(encoding="utf-8")
    found = list(csv.DictReader(io.StringIO(text)))
    return {frozenset((row["a"], row["b"])): row for row in found if row["of_a"] == row["of_b"] == "mmeception"}


def test_table_3_is_reproduced_from_tables_2_and_4(project: Project) -> None:
    write_correlation(project)
    found = rows(project)
    for pair, printed in TABLE_3.items():
        row = found[frozenset(pair)]
        assert round(float(row["pearson"]), 2) == printed
        assert row["n"] == "7"
        assert float(row["pearson_low"]) < printed < float(row["pearson_high"])
    row = found[frozenset(("GC@3", "MME"))]
    gc, mme = (0.368, 0.340, 0.359, 0.351, 0.257, 0.238, 0.225), (153.5, 113.3, 166.3, 126.5, 127.6, 126.1, 122.6)
    assert float(row["spearman"]) == pytest.approx(stats.spearmanr(gc, mme).statistic, abs=1e-6)
    assert float(row["kendall"]) == pytest.approx(stats.kendalltau(gc, mme).statistic, abs=1e-6)


def test_what_cannot_be_recomputed_is_said(project: Project) -> None:
    write_correlation(project)
    text = (project.paths.reports / "correlation.md").read_text(encoding="utf-8")
    assert "| GC@3 | MME | 0.52 | 0.5159 | yes |" in text
    assert "| CrossCheckGPT | HallusionBench | 0.97 | – | – |" in text
    assert "Of 8 printed correlations the source gives no values of models to recompute." in text
    assert " | no |" not in text


def test_ranks_are_as_in_table_2(project: Project) -> None:
    write_correlation(project)
    text = (project.paths.reports / "correlation.md").read_text(encoding="utf-8")
    [line] = [line for line in text.splitlines() if line.startswith(r"| LLaVA\-13B | 126.1")]
    assert line.startswith(r"| LLaVA\-13B | 126.1 (rank 5) | 0.238 (rank 6) | 279.2 (rank 6) | 24.5 (rank 7) |")


def test_where_nothing_matches_it_says_so_in_a_sentence(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project.root)
    monkeypatch.setattr("sys.argv", ["driftledger", "stage", "correlation"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code in (0, None)
    [line] = capsys.readouterr().out.splitlines()
    assert line.startswith("Too few of the 1 models evaluated here stand on genception_v1 (none), mm_sap (none)")
    assert "correlation" in (project.paths.reports / "correlation.md").read_text(encoding="utf-8")


def test_a_bad_row_is_exit_code_2_and_a_sentence(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own = project.root / "data" / "leaderboards" / "mm_vet.csv"
    own.parent.mkdir(parents=True)
    own.write_text("model,benchmark,value,source,date\nseer,total,ten,guess,2025\n", encoding="utf-8")
    monkeypatch.chdir(project.root)
    monkeypatch.setattr("sys.argv", ["driftledger", "stage", "correlation"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    [line] = capsys.readouterr().err.splitlines()
    assert "data/leaderboards: line 2 of mm_vet.csv: value: Input should be a valid number" in line


def test_without_a_section_the_names_that_come_with_the_package_count(project: Project) -> None:
    write_correlation(project)
    reports = project.paths.reports
    before = (reports / "correlation.csv").read_bytes(), (reports / "correlation.md").read_bytes()
    params = yaml.safe_load((project.root / "params.yaml").read_text(encoding="utf-8"))
    del params["correlation"]
    (project.root / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    write_correlation(Project(project.root))
    assert ((reports / "correlation.csv").read_bytes(), (reports / "correlation.md").read_bytes()) == before


def test_the_names_that_come_with_the_package_are_of_its_catalogue_and_its_leaderboards() -> None:
    settings = shipped_correlation()
    folders = leaderboard_folders(REPOSITORY)
    check_names(read_leaderboards(folders), settings)
    assert {name for names in settings.models.values() for name in names} <= {*catalogue("models")}


def test_the_matrix_is_square_and_the_picture_shows_it(project: Project) -> None:
    write_correlation(project)
    head, *lines = csv.reader(
        (project.paths.reports / "correlation_matrix.csv").read_text(encoding="utf-8").splitlines()
    )
    assert head[1:] == [line[0] for line in lines]
    values = np.array([[float(cell) if cell else np.nan for cell in line[1:]] for line in lines])
    np.testing.assert_array_equal(values, values.T)
    gc_1, gc_3 = head.index("mmeception: GC@1"), head.index("mmeception: GC@3")
    assert values[gc_1 - 1, gc_3 - 1] == pytest.approx(0.992, abs=1e-3)
    drawn = (project.paths.reports / "correlation.svg").read_text(encoding="utf-8")
    assert pale(drawn) == []
    cells = {each.told: each.at["fill"] for each in seen(drawn) if each.told}
    [alike] = {fill for told, fill in cells.items() if told.startswith("GC@1, mmeception") and told.endswith(": 0.99")}
    [opposite] = {fill for told, fill in cells.items() if "GC_FID@3" in told and told.endswith(": -0.99")}
    assert int(alike[5:], 16) > int(alike[1:3], 16) + 100
    assert int(opposite[1:3], 16) > int(opposite[5:], 16) + 100


def test_twice_is_the_same_bytes(project: Project) -> None:
    files = ("correlation.csv", "correlation_matrix.csv", "correlation.md", "correlation.svg")
    write_correlation(project)
    first = [(project.paths.reports / name).read_bytes() for name in files]
    write_correlation(project)
    assert [(project.paths.reports / name).read_bytes() for name in files] == first

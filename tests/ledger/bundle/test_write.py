"""A bundle: the same bytes each time, whole or not there, and over nothing that is no bundle."""

import csv
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from driftledger.benchmarks.base import DATASET, QUESTION_SET, SCORES
from driftledger.benchmarks.registry import benchmarks
from driftledger.cli import main
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import LedgerError
from driftledger.core.paths import Combination
from driftledger.ledger.bundle.write import is_bundle, write_bundle
from driftledger.ledger.lineage import fingerprint_of
from driftledger.ledger.log.chain import evidence_digest
from driftledger.project.project import Project
from driftledger_check.archive import Archive
from driftledger_check.bundle import EVIDENCE, FEATURES, FILES, LINE, MANIFEST, Bundle
from driftledger_check.cli import check
from driftledger_check.links import run_fingerprint
from tests.conftest import Checkout
from tests.driftledger_check.conftest import released, score_zip  # noqa: F401  # fixtures
from tests.ledger.verify.conftest import COMBINATION, MODEL, untouched  # noqa: F401  # a fixture
from tests.support.bundles import CHAINS, SCORE, bundled, differing, evidence_of
from tests.support.bundles import DATASET as SHAPES

# ruff: noqa: F811


@pytest.fixture
def changeable(released: Checkout, tmp_path: Path) -> Checkout:
    return released.copy(tmp_path / "checkout")


def members(path: Path) -> set[str]:
    with zipfile.ZipFile(path) as opened:
        return set(opened.namelist())


def test_the_same_run_is_the_same_bytes_twice_and_in_another_clone(
    released: Checkout, score_zip: Path, tmp_path: Path
) -> None:
    assert bundled(released, tmp_path / "again.zip").read_bytes() == score_zip.read_bytes()
    other = released.copy(tmp_path / "elsewhere" / "clone")
    (other.root / ".driftledger" / "features").rename(other.root / "gone")
    assert bundled(other, other.root / "score.zip").read_bytes() == score_zip.read_bytes()
    assert bundled(other, other.root / "score.zip").read_bytes() == score_zip.read_bytes()  # over itself


def test_everything_behind_the_scores_is_in_it_and_nothing_else(released: Checkout, score_zip: Path) -> None:
    folders = (SHAPES, CHAINS, "data/witnesses/my_images")
    files = [each for folder in folders for each in (released.root / folder).rglob("*") if each.is_file()]
    expected = {FILES + each.relative_to(released.root).as_posix() for each in files}
    expected |= {f"{FILES}{SCORE}/score.json", f"{FILES}{SCORE}/rows.jsonl"}
    own = {name for name in members(score_zip) if name.startswith(FILES)}
    assert own == expected
    rest = members(score_zip) - own
    assert {MANIFEST, EVIDENCE, LINE, "environment.json"} < rest
    assert all(name.startswith(FEATURES) for name in rest - {MANIFEST, EVIDENCE, LINE, "environment.json"})


def test_evidence_and_line_are_those_of_the_ledger(released: Checkout, score_zip: Path) -> None:
    evidence = evidence_of(released)
    with zipfile.ZipFile(score_zip) as opened:
        line = opened.read(LINE)
        assert json.loads(line)["evidence_sha256"] == evidence_digest(evidence)
        assert opened.getinfo(EVIDENCE).file_size == len(opened.read(EVIDENCE))
    assert line in (released.root / "ledger.jsonl").read_bytes().splitlines()


def test_features_are_those_of_every_image(score_zip: Path) -> None:
    with Archive(score_zip.open("rb")) as opened:
        bundle = Bundle(opened)
        [lineage] = bundle.lineages
        files = bundle.score_files(lineage)
        fingerprint = files.score["components"]["encoder"]["fingerprint"]
        images = [row["sha256"] for row in files.data.rows("samples.jsonl")]
        found = files.features.of(fingerprint, images)
        assert found is not None
        assert found.shape[0] == len(images) == 8
        assert files.features.of(fingerprint, ["0" * 64]) is None
        assert files.features.of("0" * 64, images) is None


def test_without_images_there_are_their_hashes(released: Checkout, score_zip: Path, tmp_path: Path) -> None:
    small = bundled(released, tmp_path / "small.zip", images=False)
    assert not [name for name in members(small) if name.endswith(".png")]
    assert small.stat().st_size < score_zip.stat().st_size
    report = check(small)
    assert report.holds
    assert {each.what for each in report.groups["files"] if each.status == "not checkable"} == {
        "only its hashes are in the bundle"
    }


def test_what_is_no_bundle_is_never_written_over(released: Checkout, tmp_path: Path) -> None:
    out = tmp_path / "thesis.zip"
    out.write_bytes(b"ten years of work")
    with pytest.raises(LedgerError, match=r"thesis\.zip is there and is no bundle; move it away"):
        bundled(released, out)
    assert out.read_bytes() == b"ten years of work"
    (tmp_path / "folder").mkdir()
    with pytest.raises(LedgerError, match="is no bundle"):
        bundled(released, tmp_path / "folder")
    with pytest.raises(LedgerError, match="there is no folder"):
        bundled(released, tmp_path / "nowhere" / "x.zip")


def test_half_a_bundle_is_never_there(
    released: Checkout, score_zip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "score.zip"
    out.write_bytes(score_zip.read_bytes())

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("driftledger.ledger.bundle.write._unchanged", full)
    with pytest.raises(OSError, match="No space left"):
        bundled(released, out)
    monkeypatch.undo()
    assert out.read_bytes() == score_zip.read_bytes()
    assert list(tmp_path.iterdir()) == [out]


def test_a_run_that_was_not_published_is_not_bundled(changeable: Checkout, tmp_path: Path) -> None:
    (changeable.root / "ledger.jsonl").unlink()
    with pytest.raises(LedgerError, match=r"ledger\.jsonl has no line for regions_medium .* run 'driftledger track'"):
        bundled(changeable, tmp_path / "x.zip")
    assert not (tmp_path / "x.zip").exists()


def test_a_score_that_its_records_do_not_give_is_not_bundled(changeable: Checkout, tmp_path: Path) -> None:
    evidence = evidence_of(changeable)
    [lineage] = evidence.lineages
    score = lineage.score.model_copy(update={"metrics": lineage.score.metrics | {"gc_at_2": 0.999}})
    forged = evidence.model_copy(update={"lineages": [lineage.model_copy(update={"score": score})]})
    with pytest.raises(LedgerError, match=r"nothing is bundled: .*metrics\.gc_at_2: 0\.999 is stored"):
        write_bundle(Project(changeable.root), forged, tmp_path / "x.zip")


def test_bytes_that_are_gone_are_named(changeable: Checkout, tmp_path: Path) -> None:
    evidence = evidence_of(changeable)
    for file in (changeable.root / CHAINS / "images").rglob("*.png"):
        file.unlink()
    for file in (changeable.root / ".dvc" / "cache").rglob("*"):
        if file.is_file():
            file.chmod(0o644)
            file.unlink()
    with pytest.raises(LedgerError, match=f"{CHAINS} cannot be had"):
        write_bundle(Project(changeable.root), evidence, tmp_path / "x.zip")


def test_is_bundle(score_zip: Path, tmp_path: Path) -> None:
    assert is_bundle(score_zip)
    assert not is_bundle(tmp_path)
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as made:
        made.writestr("a", b"")
    assert not is_bundle(tmp_path / "x.zip")


def test_the_commands_write_and_check(
    released: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(released.root)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    out = tmp_path / "score.zip"

    def driftledger(*arguments: str) -> object:
        monkeypatch.setattr("sys.argv", ["driftledger", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code

    assert driftledger("bundle", "regions_medium/painter/layout", "-o", str(out)) == 0
    assert "regions_medium · painter · layout, " in capsys.readouterr().out
    assert driftledger("check", str(out)) == 0
    assert "nothing differs" in capsys.readouterr().out
    assert driftledger("check", str(released.root / "params.yaml")) == 2
    assert "params.yaml is not a bundle" in capsys.readouterr().err


@pytest.mark.parametrize("spec", benchmarks(), ids=lambda spec: spec.name)
def test_the_checker_knows_what_tells_scores_apart_by_the_alphabet(spec: Any) -> None:
    """``driftledger_check.bundle.own_keys`` has no table of benchmarks."""
    own = [key for key in spec.scores.keys if key not in (*Combination._fields, *DATASET.keys, *QUESTION_SET.keys)]
    assert own == sorted(own)
    assert spec.scores.path.startswith(f"{SCORES}/{spec.name}/")


@pytest.mark.slow
def test_every_benchmark_is_bundled_and_reproduced(untouched: Checkout, tmp_path: Path) -> None:
    from driftledger.ledger.lineage import read_evidence
    from driftledger.ledger.log import chain

    made = untouched.copy(tmp_path / "checkout")
    project = Project(made.root)
    evidence = read_evidence(made.root, project.selected, COMBINATION)
    chain.append(made.root / "ledger.jsonl", [evidence], made.root / ".driftledger" / "lock")
    write_bundle(project, evidence, tmp_path / "score.zip")
    report = check(tmp_path / "score.zip")
    assert differing(report) == []
    assert len(report.groups) == 4 + len(evidence.lineages)
    with Archive((tmp_path / "score.zip").open("rb")) as opened:
        assert run_fingerprint(Bundle(opened)) == fingerprint_of(evidence.lineages, COMBINATION)


@pytest.mark.slow
def test_a_users_own_file_is_in_it_where_it_still_is(untouched: Checkout, tmp_path: Path) -> None:
    from driftledger.ledger.lineage import read_evidence
    from driftledger.ledger.log import chain

    made = untouched.copy(tmp_path / "checkout")
    project = Project(made.root)
    ratings = made.root / "ratings.csv"
    evidence = read_evidence(made.root, project.selected, COMBINATION)
    [fidelity] = [each for each in evidence.lineages if each.spec.beside]
    assert fidelity.beside == {}
    records = (made.root / fidelity.collected["redraw"].path / "records.jsonl").read_text().splitlines()
    rows = [["my_images", each["sample"], MODEL, each["description"], "ann", 3] for each in map(json.loads, records)]
    with ratings.open("w", newline="") as file:
        csv.writer(file).writerows([["dataset", "sample", "model", "description", "rater", "rating"], *rows])
    made.params(lambda params: params["fidelity"].update(ratings="ratings.csv"))
    made.run("dvc", "repro", "--single-item", "resolve")
    [name] = [name for name in fidelity.stages if name.startswith("fidelity@")]
    made.run("dvc", "repro", "--single-item", f"pipelines/fidelity/dvc.yaml:{name}")
    project = Project(made.root)
    evidence = read_evidence(made.root, project.selected, COMBINATION)
    chain.append(made.root / "ledger.jsonl", [evidence], made.root / ".driftledger" / "lock")
    write_bundle(project, evidence, tmp_path / "score.zip")
    assert f"beside/{sha256_file(ratings)}" in members(tmp_path / "score.zip")
    with Archive((tmp_path / "score.zip").open("rb")) as opened:
        bundle = Bundle(opened)
        found = {each["score"]["benchmark"]: bundle.score_files(each).beside for each in bundle.lineages}
    assert found["fidelity"] == {"ratings": ratings.read_bytes()}
    assert differing(check(tmp_path / "score.zip")) == []

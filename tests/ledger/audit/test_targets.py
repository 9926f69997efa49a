"""What may stand after ``driftledger audit``, on real bytes in real Git repositories."""

import json
import shutil
from pathlib import Path

import pytest
from PIL import Image

from driftledger.core.canonical import sha256_file
from driftledger.core.errors import DriftledgerError, LedgerError
from driftledger.ledger.audit.audit import as_json, as_tree
from driftledger.ledger.audit.images import hash_of
from driftledger.ledger.audit.targets import ImageTarget, RunTarget, resolve_target
from tests.support.audited import Audited, audited_in, empty, version
from tests.support.ledgers import CHAINS, COMBINATION, DATA
from tests.support.terminal import printed


@pytest.fixture
def audited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Audited:
    made = audited_in(tmp_path, monkeypatch)
    made.produce()
    made.commit("first")
    return made


def told(audited: Audited, text: str) -> str:
    with audited.sources() as sources:
        return printed(as_tree(resolve_target(sources, text), sources))


def image_target(audited: Audited, text: str) -> ImageTarget:
    with audited.sources() as sources:
        found = resolve_target(sources, text)
    assert isinstance(found, ImageTarget)
    return found


def fingerprint_of(audited: Audited) -> str:
    with audited.sources() as sources:
        return sources.current[0].fingerprint


def test_a_run_has_several_names(audited: Audited) -> None:
    fingerprint = fingerprint_of(audited)
    for name in ("seer/brush/eye", "seer · brush · eye", fingerprint, fingerprint[:8], f"  {fingerprint[:12]} "):
        with audited.sources() as sources:
            found = resolve_target(sources, name)
        assert isinstance(found, RunTarget), name
        assert found.lineage is None
        assert (found.evidence.fingerprint, found.known) == (fingerprint, "dvc.lock")


@pytest.mark.parametrize("name", ["seer", "seer/brush", "abcdef1", "nobody/brush/eye", "\x1b[2J", "a\0b"])
def test_what_is_nobody_is_one_inert_sentence_with_the_nearest_names(audited: Audited, name: str) -> None:
    with audited.sources() as sources, pytest.raises(LedgerError, match=r"nearest: .*seer/brush/eye") as caught:
        resolve_target(sources, name)
    assert "\x1b" not in str(caught.value)


def test_a_score_file_is_known_by_its_bytes_wherever_it_is(audited: Audited, tmp_path: Path) -> None:
    copied = Path(shutil.copy(audited.score_path, tmp_path / "from a slide.txt"))
    for path in (str(copied), str(audited.score_path), "reports/scores/genception/shapes/seer/brush/eye/score.json"):
        with audited.sources() as sources:
            found = resolve_target(sources, path)
            assert isinstance(found, RunTarget)
            assert found.lineage is not None
            assert found.is_run
            tree = printed(as_tree(found, sources))
        assert tree.startswith(
            "reports/scores/genception/shapes/seer/brush/eye/score.json, of seer · brush · eye, fingerprint"
        )
        assert "generator: brush, fingerprint" in tree


def test_an_altered_score_file_is_no_score_of_the_ledger(audited: Audited, tmp_path: Path) -> None:
    altered = tmp_path / "score.json"
    altered.write_text(audited.score_path.read_text().replace("0.7,", "0.9,"))
    with audited.sources() as sources, pytest.raises(LedgerError, match=r"looks like a score file.*it was altered"):
        resolve_target(sources, str(altered))


def test_a_score_that_no_selected_run_shows_is_still_explained(audited: Audited) -> None:
    with audited.sources(combinations=()) as sources:
        found = resolve_target(sources, str(audited.score_path))
        assert isinstance(found, RunTarget)
        assert found.lineage is not None
        assert not found.is_run
        assert "of no run that is selected here" in printed(as_tree(found, sources))
        assert json.loads(as_json(found, sources))["run"] is None


def test_an_older_score_file_and_run_are_found_in_git(audited: Audited, tmp_path: Path) -> None:
    fingerprint, old = fingerprint_of(audited), shutil.copy(audited.score_path, tmp_path / "old.json")
    audited.produce(generator=version("brush", settings={"longest_side": 128}), value=0.5, paints=9)
    audited.commit("another brush")
    assert fingerprint_of(audited) != fingerprint
    with audited.sources() as sources:
        run, score = resolve_target(sources, fingerprint[:10]), resolve_target(sources, str(old))
        assert isinstance(run, RunTarget)
        assert isinstance(score, RunTarget)
        assert score.lineage is not None
        assert (run.known, score.known) == ("git", "git")
        assert run.evidence.fingerprint == fingerprint
        text = printed(as_tree(run, sources))
    assert "gc_at_2 = 0.7" in text
    assert "which code gave them is not in Git" in text
    assert "from Git history: the score file and the dvc.lock that were committed together" in text


@pytest.mark.parametrize("by", ["copy", "sha256", "md5"])
def test_an_original_is_found_by_its_content(audited: Audited, tmp_path: Path, by: str) -> None:
    image = hash_of(audited.image("ring").read_bytes())
    copied = shutil.copy(audited.image("ring"), tmp_path / "holiday.bin")
    found = image_target(audited, {"copy": str(copied), "sha256": str(image.sha256), "md5": str(image.md5)}[by])
    [place] = found.places.found
    assert (place.role, place.entry["id"], place.md5) == ("sample", "ring", image.md5)
    assert place.current
    assert [*place.scores] == ["reports/scores/genception/shapes/seer/brush/eye/score.json"]


def test_a_drawn_image_leads_back_to_its_call_its_parent_and_its_scores(audited: Audited) -> None:
    text = told(audited, str(audited.image("ring", 2)))
    for link in (
        "drawn of sample ring of dataset shapes at t = 2: data/chains/shapes/seer/brush/images/ring/2.png",
        f"image sha256: {sha256_file(audited.image('ring', 2))}",
        f"md5: {hash_of(audited.image('ring', 2).read_bytes()).md5}",
        "description: a disc",
        "describe prompt: Describe it.",
        "generate prompt: Draw: {description}",
        "seed: 1002",
        "revised prompt: a disc, revised",
        "served model: seer-2026",
        f"parent image: sha256 {sha256_file(audited.image('ring', 1))}, drawn at t = 1",
        "generator: brush, fingerprint ",
        "model: seer, fingerprint ",
        "used by: reports/scores/genception/shapes/seer/brush/eye/score.json, gc_at_2 = 0.7",
    ):
        assert link in text, link
    assert "doubt" not in text
    first = told(audited, str(audited.image("ring", 1)))
    assert f"parent image: sha256 {sha256_file(audited.image('ring'))}, the original" in first


def test_what_was_given_to_a_dataset_is_known_by_what_it_became(audited: Audited, tmp_path: Path) -> None:
    given = tmp_path / "disc.bmp"
    Image.open(audited.image("disc")).save(given)
    found = image_target(audited, str(given))
    assert found.converted
    assert [place.entry["id"] for place in found.places.found] == ["disc"]


def test_an_image_of_nobody_is_one_sentence(audited: Audited, tmp_path: Path) -> None:
    Image.new("RGB", (3, 3)).save(tmp_path / "other.png")
    with audited.sources() as sources, pytest.raises(LedgerError, match=r"no score file, and no dataset.*has an image"):
        resolve_target(sources, str(tmp_path / "other.png"))


def test_a_replaced_image_of_the_same_name_is_told_from_the_new_one(audited: Audited, tmp_path: Path) -> None:
    old = shutil.copy(audited.image("disc"), tmp_path / "disc.png")
    audited.produce(samples={"disc": (1, 2, 3), "ring": (200, 30, 0)}, value=0.6)
    audited.commit("another disc")
    before, now = image_target(audited, str(old)), image_target(audited, str(audited.image("disc")))
    [was], [is_now] = before.places.found, now.places.found
    assert (was.current, is_now.current) == (False, True)
    assert was.file == is_now.file == "images/disc.png"
    assert was.folder_md5 != is_now.folder_md5
    assert [score.value for score in (*was.scores.values(), *is_now.scores.values())] == [0.7, 0.6]
    assert "in a version that dvc.lock no longer has" in told(audited, str(old))


def test_without_the_working_files_the_cache_is_asked(audited: Audited, tmp_path: Path) -> None:
    drawn = shutil.copy(audited.image("disc", 1), tmp_path / "drawn.png")
    shutil.rmtree(audited.root / "data")
    [place] = image_target(audited, str(drawn)).places.found
    assert place.entry["t"] == 1
    assert place.card["protocol"]["seed"] == 7


def test_where_nobody_can_look_is_said(audited: Audited, tmp_path: Path) -> None:
    drawn = shutil.copy(audited.image("disc", 1), tmp_path / "drawn.png")
    shutil.rmtree(audited.root / "data")
    shutil.rmtree(audited.root / ".dvc" / "cache")
    with audited.sources() as sources, pytest.raises(LedgerError, match="2 folders could not be looked into"):
        resolve_target(sources, str(drawn))


def test_a_list_that_is_not_the_locked_one_is_doubted(audited: Audited) -> None:
    records = audited.root / CHAINS / "records.jsonl"
    records.write_text(records.read_text().replace("a disc", "a lie"))
    text = told(audited, str(audited.image("disc", 1)))
    assert "doubt: records.jsonl is not the file that dvc.lock has" in text


def test_without_the_cache_the_working_files_are_enough(audited: Audited) -> None:
    shutil.rmtree(audited.root / ".dvc" / "cache")
    [place] = image_target(audited, str(audited.image("disc", 1))).places.found
    assert place.doubts == []
    assert place.card["protocol"]["seed"] == 7
    (audited.image("ring", 1)).unlink()
    [place] = image_target(audited, str(audited.image("disc", 1))).places.found
    assert "which files data/chains/shapes/seer/brush had is known neither" in place.doubts[0]
    assert place.card["protocol"]["seed"] == 7


def test_a_card_that_is_gone_is_a_doubt_and_no_obstacle(audited: Audited) -> None:
    card = audited.root / DATA / "dataset.json"
    md5 = hash_of(card.read_bytes()).md5 or ""
    card.unlink()
    (audited.root / ".dvc" / "cache" / "files" / "md5" / md5[:2] / md5[2:]).unlink()
    [place] = image_target(audited, str(audited.image("disc"))).places.found
    assert "data/datasets/shapes/dataset.json" in place.doubts[0]
    assert place.scores


@pytest.mark.parametrize("name", ["gc_at_2", "genception/shapes/gc_at_2", "category/round/gc_at_2"])
def test_a_metric_is_one_number_with_its_formula(audited: Audited, name: str) -> None:
    with audited.sources() as sources:
        found = resolve_target(sources, f"seer/brush/eye:{name}")
        assert isinstance(found, RunTarget)
        assert found.number is not None
        assert found.number.value == 0.7
        text, said = printed(as_tree(found, sources)), json.loads(as_json(found, sources))
    assert "computed: Σ t·s(t) / Σ t" in text
    assert "function: driftledger.metrics.drift.gc_at" in text
    assert "similarity_mean" not in text
    assert (said["value"], said["computed"]["function"]) == (0.7, "driftledger.metrics.drift.gc_at")
    assert set(said["components"]) == {"model", "generator", "encoder"}


def test_a_metric_may_be_asked_of_a_score_file(audited: Audited) -> None:
    assert told(audited, f"{audited.score_path}:coverage").startswith("genception/shapes/coverage = 1.0, of seer")


@pytest.mark.parametrize(("name", "nearest"), [("gc_at2", "gc_at_2"), ("genception/shapes/gc_at", "gc_at_2")])
def test_an_unknown_metric_is_one_sentence_with_the_nearest(audited: Audited, name: str, nearest: str) -> None:
    with audited.sources() as sources, pytest.raises(LedgerError, match=f"no metric '{name}'; nearest: .*{nearest}"):
        resolve_target(sources, f"seer/brush/eye:{name}")


def test_a_run_whose_stages_have_not_run_says_so(tmp_path: Path) -> None:
    with empty(tmp_path) as sources, pytest.raises(DriftledgerError, match="run 'dvc repro'"):
        resolve_target(sources, "/".join(COMBINATION))


def test_it_is_said_what_was_not_asked(audited: Audited) -> None:
    lines = told(audited, "seer/brush/eye").splitlines()
    assert lines[-2].startswith("from Git and DVC: which bytes each stage read and wrote, by MD5")
    assert lines[-1].startswith("MLflow was not asked: no MLflow store was named; set MLFLOW_TRACKING_URI, or")
    assert "packages and dirty patch: not recorded" in "\n".join(lines)

import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from driftledger.core.errors import LedgerError
from driftledger.core.paths import LOCKS
from driftledger.ledger.findings import Report
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.verify.bytes_check import check_bytes, check_stages
from tests.conftest import Checkout
from tests.ledger.verify.conftest import CHAINS, GENCEPTION, MODEL, Ledger, places

CHAIN = f"chain@my_images-{MODEL}-painter"
DRIFT = f"drift@my_images-{MODEL}-painter-layout"
PICTURE = f"{CHAINS}/images/round_1/2.png"
PIPELINE = "pipelines/genception/dvc.yaml"
LOCK = "pipelines/genception/dvc.lock"
DVC_CACHE = Path(".dvc") / "cache" / "files" / "md5"


def checked(ledger: Ledger, contents: Contents | None = None) -> Report:
    """By the evidence where it can be read, and by the stages of the last commit's lock where it cannot."""
    contents = contents or ledger.contents
    try:
        evidence = ledger.evidence
    except LedgerError:
        texts = [git(ledger, "show", f"HEAD:{file}") for file in LOCKS]
        committed = [stage for text in texts for stage in yaml.safe_load(text)["stages"]]
        return check_stages(ledger.root, committed, contents)
    return check_bytes(ledger.root, [evidence], contents)


def git(ledger: Ledger, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ledger.root, check=True, capture_output=True, text=True).stdout


def rewrite(path: Path, data: bytes) -> None:
    """A new file, since the old one may be a link into DVC's cache."""
    path.unlink()
    path.write_bytes(data)


@contextmanager
def changed(path: Path, data: bytes) -> Iterator[None]:
    before = path.read_bytes()
    rewrite(path, data)
    yield
    rewrite(path, before)


def one_byte(data: bytes, random_: random.Random) -> bytes:
    place = random_.randrange(len(data))
    return data[:place] + bytes([(data[place] + random_.randrange(1, 256)) % 256]) + data[place + 1 :]


def test_what_was_written_holds(kept: Ledger) -> None:
    report = checked(kept)
    assert (report.findings, report.unchecked) == ([], [])
    assert report.checked["files"] > 100


def test_every_changed_byte_is_found_and_named(ledger: Ledger) -> None:
    random_, root, contents = random.Random(6), ledger.root, ledger.contents
    data, scores = root / "data", root / "reports" / "scores"
    kinds = {
        "images": [*data.rglob("*.png")],
        "records": [*data.rglob("*.jsonl")],
        "components": [*data.rglob("components.json"), *data.rglob("dataset.json"), *data.rglob("question_set.json")],
        "scores": [*scores.rglob("*.json"), *scores.rglob("*.jsonl")],
        "lock": [root / file for file in LOCKS],
    }
    for kind, files in kinds.items():
        for _ in range(20 if kind == "lock" else 8):
            path = random_.choice(sorted(files))
            name = path.relative_to(root).as_posix()
            with changed(path, one_byte(path.read_bytes(), random_)):
                where = {finding.where.partition(", ")[0] for finding in checked(ledger, contents).findings}
            assert where == {name}, f"{kind}: {name} was changed, and {sorted(where)} is what was found"
    assert checked(ledger, contents).holds


def test_the_workspace_is_held_to_the_lock_file_by_file(ledger: Ledger) -> None:
    root = ledger.root
    rewrite(root / PICTURE, b"no picture")
    (root / CHAINS / "images" / "round_1" / "1.png").unlink()
    (root / CHAINS / "images" / "round_1" / "9.png").write_bytes(b"too many")
    (root / CHAINS / "images" / "half.partial").write_bytes(b"which .dvcignore leaves out")
    folder = f"{CHAINS}/images/round_1"
    assert sorted(places(checked(ledger).findings)) == [
        f"bytes {folder}/2.png",
        f"bytes {folder}/9.png",
        f"missing {folder}/1.png",
    ]


def test_a_folder_that_was_not_checked_out_is_no_finding(ledger: Ledger) -> None:
    shutil.rmtree(ledger.root / "data" / "chains")
    (ledger.root / f"{GENCEPTION}.samples.jsonl").unlink()
    assert checked(ledger).holds


def test_a_damaged_object_of_the_cache_is_found_though_the_workspace_is_whole(ledger: Ledger) -> None:
    md5 = ledger.contents.md5_of(ledger.root / PICTURE)
    path = DVC_CACHE / md5[:2] / md5[2:]
    rewrite(ledger.root / path, b"damaged")
    [finding] = checked(ledger).findings
    assert (finding.kind, finding.where) == ("bytes", path.as_posix())
    assert f"under the name of {PICTURE}; remove it and run 'dvc fetch'" in finding.what


def test_what_nobody_has_is_missing_and_says_why(ledger: Ledger) -> None:
    shutil.rmtree(ledger.root / ".dvc" / "cache")
    rewrite(ledger.root / PICTURE, b"damaged")
    [finding] = checked(ledger).findings
    assert (finding.kind, finding.where) == ("bytes", CHAINS)
    assert "which of its files differ is not known, and the remote could not be asked" in finding.what
    shutil.rmtree(ledger.root / CHAINS)
    [finding] = checked(ledger).findings
    assert (finding.kind, finding.where) == ("missing", CHAINS)
    assert "no default DVC remote is set" in finding.what


def on_lines(ledger: Ledger, report: Report) -> set[str]:
    """The lines of GenCeption's lock that findings name."""
    lines = (ledger.root / LOCK).read_text(encoding="utf-8").splitlines()
    assert {finding.where.partition(",")[0] for finding in report.findings} == {LOCK}
    return {lines[int(finding.where.rpartition(" ")[2]) - 1].strip() for finding in report.findings}


LOCK_CHANGES = {
    "a comment": ("schema: '2.0'\n", "schema: '2.0' # so\n", "schema: '2.0' # so"),
    "another quote": ("schema: '2.0'", 'schema: "2.0"', 'schema: "2.0"'),
    "a blank": ("      hash: md5\n", "      hash:  md5\n", "hash:  md5"),
    "another hash": ("hash: md5\n", "hash: md6\n", "hash: md6"),
    "another key": ("    deps:\n", "    debs:\n", "debs:"),
    "not YAML": ("    deps:\n", "    deps: [\n", "deps: ["),
    "a command": ("cmd: driftledger chain", "cmd: driftledger chart", "cmd: driftledger chart my_images"),
    "a setting": ("run.seed: 1\n", "run.seed: 2\n", "run.seed: 2"),
    "an unknown setting": ("run.seed: 1\n", "run.seet: 1\n", "run.seet: 1"),
    "a source file": ("path: src/driftledger/core/seeds.py", "path: src/driftledger/core/seedz.py", "seedz.py"),
    "no source file": ("path: src/driftledger/core/seeds.py", "path: srt/driftledger/core/seeds.py", "srt/driftledger"),
    "an output": (f"path: data/chains/my_images/{MODEL}/", f"path: data/chains/my_imagez/{MODEL}/", "my_imagez"),
}


@pytest.mark.parametrize("change", LOCK_CHANGES.values(), ids=LOCK_CHANGES.keys())
def test_lines_of_the_lock_that_were_changed_are_named(ledger: Ledger, change: tuple[str, str, str]) -> None:
    before, after, named = change
    path = ledger.root / LOCK
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1), encoding="utf-8")
    assert any(named in line for line in on_lines(ledger, checked(ledger)))


@pytest.mark.parametrize(("section", "stage"), [("outs", CHAIN), ("deps", DRIFT)])
@pytest.mark.parametrize("field", ["md5", "size", "nfiles"])
def test_of_two_entries_that_disagree_the_bytes_say_which_is_wrong(
    ledger: Ledger, section: str, stage: str, field: str
) -> None:
    def other(locked: dict[str, Any]) -> Any:
        return "0" * 32 + ".dir" if field == "md5" else locked[field] + 1

    path = ledger.root / LOCK
    lock = yaml.safe_load(path.read_text(encoding="utf-8"))
    locked = next(file for file in lock["stages"][stage][section] if file["path"] == CHAINS)
    text, value = path.read_text(encoding="utf-8"), other(locked)
    head, entry = text.split(f"  {stage}:\n")
    place = entry.index(f"path: {CHAINS}\n")
    place = entry.index(f"{field}: ", place)
    changed_entry = entry[:place] + entry[place:].replace(f"{field}: {locked[field]}", f"{field}: {value}", 1)
    path.write_text(f"{head}  {stage}:\n{changed_entry}", encoding="utf-8")
    assert on_lines(ledger, checked(ledger)) == {f"{field}: {value}"}


def test_a_score_that_the_lock_never_spoke_of_is_told_from_a_lock_that_was_changed(ledger: Ledger) -> None:
    path, score = ledger.root / LOCK, ledger.root / f"{GENCEPTION}.json"
    md5 = ledger.contents.md5_of(score)
    text = path.read_text(encoding="utf-8")
    with changed(path, text.replace(md5, "0" * 32).encode()):
        assert on_lines(ledger, checked(ledger)) == {f"md5: {'0' * 32}"}
    rewrite(score, score.read_bytes().replace(b"1", b"2", 1))
    assert places(checked(ledger).findings) == [f"bytes {GENCEPTION}.json"]


def test_a_missing_stage_is_missing(ledger: Ledger) -> None:
    path = ledger.root / LOCK
    head, _, rest = path.read_text(encoding="utf-8").partition(f"  {DRIFT}:\n")
    path.write_text(head + re.sub(r"\A(    .*\n)+", "", rest), encoding="utf-8")
    report = checked(ledger)
    assert places(report.findings) == ["missing dvc.lock"]
    assert DRIFT in report.findings[0].what


def test_newer_code_is_unchecked(ledger: Ledger) -> None:
    seeds = ledger.root / "src" / "driftledger" / "core" / "seeds.py"
    seeds.write_text(seeds.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    report = checked(ledger)
    assert report.findings == []
    assert [each.where for each in report.unchecked] == ["src/driftledger/core/seeds.py"]
    assert f"with which {CHAIN} and 1 more ran" in report.unchecked[0].why


def test_settings_that_were_changed_since_are_no_finding(ledger: Ledger) -> None:
    """The lock of the last commit knows that the stages ran with the old ones."""
    path = ledger.root / "params.yaml"
    params = yaml.safe_load(path.read_text(encoding="utf-8"))
    params["genception"]["min_coverage"] = 0.123
    path.write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")
    assert checked(ledger).holds


def test_a_run_of_another_time_is_checked_by_its_own_entries(ledger: Ledger) -> None:
    before = ledger.evidence
    md5 = ledger.contents.md5_of(ledger.root / PICTURE)
    rewrite(ledger.root / PICTURE, b"another picture")
    command = [
        sys.executable,
        "-m",
        "dvc",
        "commit",
        "--quiet",
        "--force",
        f"{PIPELINE}:{CHAIN}",
        f"{PIPELINE}:{DRIFT}",
    ]
    subprocess.run(command, cwd=ledger.root, check=True)
    assert checked(ledger).holds
    assert check_bytes(ledger.root, [before], ledger.contents).holds
    (ledger.root / DVC_CACHE / md5[:2] / md5[2:]).unlink()
    assert places(check_bytes(ledger.root, [before], ledger.contents).findings) == [f"missing {PICTURE}"]
    assert checked(ledger).holds


def test_evidence_that_was_changed_is_found(kept: Ledger) -> None:
    evidence = kept.evidence
    first, *rest = evidence.behind
    drift = first.stages[DRIFT]
    seeded = drift.model_copy(update={"params": {**drift.params, "params.yaml": {"run.seed": 9}}})
    better = first.score.model_copy(update={"metrics": {**first.score.metrics, "gc_at_1": 2.0}})
    others = {
        "fingerprint": {"data": first.data, "stages": {**first.stages, DRIFT: seeded}},
        "not the one in": {"score": better},
        "no stage in it wrote": {"data": first.data.model_copy(update={"md5": "0" * 32 + ".dir"})},
    }
    for said, changes in others.items():
        changed_evidence = evidence.model_copy(update={"behind": [first.model_copy(update=changes), *rest]})
        [finding] = check_bytes(kept.root, [changed_evidence], kept.contents).findings
        assert (finding.kind, finding.where) == ("bytes", f"evidence of {evidence.name}")
        assert said in finding.what


def test_a_damaged_lock_excuses_nothing_in_the_evidence_of_a_run(ledger: Ledger) -> None:
    evidence = ledger.evidence
    first = evidence.behind[0]
    unwritten = {stage: entry for stage, entry in first.stages.items() if not stage.startswith("dataset@")}
    cut = evidence.model_copy(update={"behind": [first.model_copy(update={"stages": unwritten})]})
    (ledger.root / LOCK).write_text("stages: [", encoding="utf-8")
    found = check_bytes(ledger.root, [cut], ledger.contents).findings
    assert any("which no stage behind it wrote" in finding.what for finding in found)


def test_a_whole_run_of_dvc_holds_before_it_is_committed_too(evaluated: Checkout) -> None:
    ledger = Ledger(evaluated)
    report = checked(ledger)
    assert (report.findings, report.unchecked) == ([], [])
    rewrite(ledger.root / "reports" / "leaderboard.md", b"better")
    assert places(checked(ledger).findings) == ["bytes reports/leaderboard.md"]


def test_without_a_lock_the_evidence_speaks_for_itself(ledger: Ledger) -> None:
    evidence = ledger.evidence
    for file in LOCKS:
        (ledger.root / file).unlink()
    report = check_bytes(ledger.root, [evidence], ledger.contents)
    assert report.findings == []
    assert check_stages(ledger.root, [CHAIN], ledger.contents).findings != []

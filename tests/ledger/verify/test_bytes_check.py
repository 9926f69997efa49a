"""Bytes and lock entries that were changed: each is found, once, and named where it stands."""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from driftledger.benchmarks.registry import lock_files
from driftledger.core.errors import DriftledgerError
from driftledger.ledger.findings import VerifyResult
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.verify import lock_check
from driftledger.ledger.verify.bytes_check import check_bytes, check_stages
from tests.conftest import Checkout
from tests.ledger.verify.conftest import CHAINS, GENCEPTION, MODEL, Ledger, places

DATASET = "dataset@my_images"
CHAIN = f"chain@my_images-{MODEL}-painter"
SCORE = f"genception@my_images-{MODEL}-painter-layout"
GRADE = f"grade@scenes_mm_vet-{MODEL}"
PICTURE = f"{CHAINS}/images/round_1/2.png"
PIPELINE = "pipelines/genception/dvc.yaml"
LOCK = "pipelines/genception/dvc.lock"
DVC_CACHE = Path(".dvc") / "cache" / "files" / "md5"

Stages = dict[str, Any]


def checked(ledger: Ledger, contents: Contents | None = None) -> VerifyResult:
    """By the evidence where it can be read, and by the stages of the selection where it cannot."""
    contents = contents or ledger.contents
    try:
        evidence = ledger.evidence
    except DriftledgerError:
        return check_stages(ledger.root, ledger.project.selected, contents)
    return check_bytes(ledger.root, [evidence], contents)


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
    result = checked(kept)
    assert (result.findings, result.skipped) == ([], [])
    assert result.checked["files"] > 100


def test_every_changed_byte_is_found_and_named(ledger: Ledger) -> None:
    random_, root, contents = random.Random(6), ledger.root, ledger.contents
    data, scores = root / "data", root / "reports" / "scores"
    kinds = {
        "images": [*data.rglob("*.png")],
        "records": [*data.rglob("*.jsonl")],
        "components": [*data.rglob("components.json"), *data.rglob("dataset.json"), *data.rglob("question_set.json")],
        "scores": [*scores.rglob("*.json"), *scores.rglob("*.jsonl")],
    }
    for kind, files in kinds.items():
        for _ in range(8):
            path = random_.choice(sorted(files))
            name = path.relative_to(root).as_posix()
            with changed(path, one_byte(path.read_bytes(), random_)):
                where = [finding.where for finding in checked(ledger, contents).findings]
            assert where == [name], f"{kind}: {name} was changed, and {where} is what was found"
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
    (ledger.root / GENCEPTION / "rows.jsonl").unlink()
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
    assert "none is asked without --remote URL, or --trust" in finding.what


def set_in(stage: str, *way: str | int, to: Any) -> Callable[[Stages], None]:
    """A change of one value of an entry."""

    def change(stages: Stages) -> None:
        content = stages.get(stage, {})
        for step in way[:-1]:
            content = content[step] if content else content
        if content:
            content[way[-1]] = to

    return change


def renamed(stage: str, *way: str | int, to: str) -> Callable[[Stages], None]:
    """A change of one key of an entry."""

    def change(stages: Stages) -> None:
        content = stages.get(stage, {})
        for step in way[:-1]:
            content = content[step] if content else content
        if content:
            content[to] = content.pop(way[-1])

    return change


PARAMS, RESOLVED = ("params", "params.yaml"), ("params", "data/resolved.json")
MEANINGS: dict[str, tuple[str, Callable[[Stages], None], str]] = {
    "command": (
        CHAIN,
        set_in(CHAIN, "cmd", to=f"driftledger stage genception chart my_images {MODEL} painter"),
        "chart",
    ),
    "command of another benchmark": (
        GRADE,
        set_in(GRADE, "cmd", to=f"driftledger stage mm_sap grade scenes_mm_vet {MODEL}"),
        "it runs another command than 'driftledger stage mm_vet grade",
    ),
    "setting": (CHAIN, set_in(CHAIN, *PARAMS, "run.seed", to=2), "run.seed = '2'"),
    "prompt": (CHAIN, set_in(CHAIN, *PARAMS, "genception.describe_prompt", to="Draw it."), "Draw it."),
    "setting of a score": (SCORE, set_in(SCORE, *PARAMS, "genception.confidence", to=0.7), "confidence = '0.7'"),
    "name of a setting": (CHAIN, renamed(CHAIN, *PARAMS, "run.seed", to="run.seet"), "run.seet = '1'"),
    "fingerprint": (CHAIN, set_in(CHAIN, *RESOLVED, "generators.painter", to="0" * 64), "generators.painter = '000"),
    "code": (CHAIN, set_in(CHAIN, *RESOLVED, "code.genception.chain", to="0" * 64), "code.genception.chain = 0000"),
    "code of a dataset": (DATASET, set_in(DATASET, *RESOLVED, "code.dataset.my_images", to="0" * 64), "code.dataset"),
    "output": (
        CHAIN,
        set_in(CHAIN, "outs", 0, "path", to="data/chains/mine"),
        "it writes 'data/chains/mine'",
    ),
    "output of the data": (DATASET, set_in(DATASET, "outs", 0, "path", to="data/datasets/mine"), "it writes"),
    "what was read": (SCORE, set_in(SCORE, "deps", 0, "path", to="data/chains/mine"), "no stage behind it wrote"),
    "an entry without a command": (SCORE, renamed(SCORE, "cmd", to="command"), "its entry cannot be read: "),
    "a section": (CHAIN, renamed(CHAIN, "deps", to="debs"), "its entry cannot be read: debs: "),
}


@pytest.mark.parametrize("name", MEANINGS)
def test_a_changed_meaning_of_an_entry_is_one_finding(ledger: Ledger, name: str) -> None:
    stage, change, said = MEANINGS[name]
    ledger.change_locks(change)
    [finding] = checked(ledger).findings
    assert finding.kind == "bytes"
    assert finding.where == f"{lock_of(ledger, stage)}: {stage}"
    assert said in finding.what


def lock_of(ledger: Ledger, stage: str) -> str:
    return next(file for file in lock_files() if f"\n  {stage}:" in (ledger.root / file).read_text(encoding="utf-8"))


@pytest.mark.parametrize(("section", "stage"), [("outs", CHAIN), ("deps", SCORE)])
@pytest.mark.parametrize("field", ["md5", "size", "nfiles"])
def test_of_two_entries_that_disagree_the_bytes_say_which_is_wrong(
    ledger: Ledger, section: str, stage: str, field: str
) -> None:
    def change(stages: Stages) -> None:
        for locked in stages.get(stage, {}).get(section, []):
            if locked["path"] == CHAINS:
                locked[field] = "0" * 32 + ".dir" if field == "md5" else locked[field] + 1

    ledger.change_locks(change)
    [finding] = checked(ledger).findings
    assert finding.where == f"{LOCK}: {stage}"
    assert f"{CHAINS} with {field} " in finding.what


@pytest.mark.parametrize("field", ["size", "nfiles"])
def test_of_entries_that_agree_on_a_wrong_size_each_is_measured(ledger: Ledger, field: str) -> None:
    def change(stages: Stages) -> None:
        for entry in stages.values():
            for locked in (*entry.get("deps", []), *entry.get("outs", [])):
                if locked["path"] == CHAINS:
                    locked[field] += 1

    ledger.change_locks(change)
    [finding] = checked(ledger).findings
    assert finding.where == f"{LOCK}: {CHAIN}"
    assert f"the {field} of {CHAINS}" in finding.what


@pytest.mark.parametrize("file", ["score.json", "metrics.json", "rows.jsonl"])
def test_a_file_that_no_lock_had_is_told_from_a_lock_that_was_changed(ledger: Ledger, file: str) -> None:
    path, written = ledger.root / LOCK, ledger.root / GENCEPTION / file
    text = path.read_text(encoding="utf-8")
    with changed(path, text.replace(ledger.contents.md5_of(written), "0" * 32).encode()):
        assert places(checked(ledger).findings) == [f"bytes {LOCK}: {SCORE}"]
    rewrite(written, written.read_bytes().replace(b"1", b"2", 1))
    assert places(checked(ledger).findings) == [f"bytes {GENCEPTION}/{file}"]


def test_how_a_lock_is_written_means_nothing(ledger: Ledger) -> None:
    for file in lock_files():
        path = ledger.root / file
        lock = yaml.safe_load(path.read_text(encoding="utf-8"))
        stages = dict(reversed([(name, dict(reversed(entry.items()))) for name, entry in lock["stages"].items()]))
        text = yaml.safe_dump({"stages": stages, "schema": "2.0"}, sort_keys=False, default_flow_style=None, width=400)
        path.write_text("# by hand\n" + text, encoding="utf-8")
    result = checked(ledger)
    assert (result.findings, result.skipped) == ([], [])


DAMAGE: dict[str, tuple[Callable[[bytes], bytes], str, str]] = {
    "not YAML": (lambda data: data.replace(b"    deps:\n", b"    deps: [\n", 1), ", line ", "it is not YAML"),
    "not UTF-8": (lambda data: data.replace(b"hash: md5", b"hash: md\xff", 1), ", line 7", "it is not UTF-8"),
    "a conflict": (
        lambda data: data.replace(b"stages:\n", b"stages:\n<<<<<<< HEAD\n", 1),
        ", line 3",
        "it holds both sides of a merge",
    ),
    "no date": (lambda data: data.replace(b"run.seed: 1\n", b"run.seed: 2026-02-31\n", 1), "", "does not exist"),
    "no stages": (lambda data: b"schema: '2.0'\n", "", "it has no stages"),
    "nothing": (lambda data: b"", "", "it has no stages"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_lock_is_one_finding(ledger: Ledger, name: str) -> None:
    damage, line, said = DAMAGE[name]
    path = ledger.root / LOCK
    path.write_bytes(damage(path.read_bytes()))
    [finding] = checked(ledger).findings
    assert finding.where.startswith(f"{LOCK}{line}")
    assert said in finding.what
    assert f"run 'git diff {LOCK}'" in finding.what


def test_a_missing_stage_is_missing(ledger: Ledger) -> None:
    ledger.change_locks(lambda stages: stages.pop(SCORE, None))
    result = checked(ledger)
    assert places(result.findings) == [f"missing {LOCK}"]
    assert SCORE in result.findings[0].what


def test_other_code_is_skipped(kept: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    for digest in ("code_behind", "code_behind_data"):
        monkeypatch.setattr(lock_check, digest, lambda *_: "0" * 64)
    result = checked(kept)
    assert result.findings == []
    [skipped] = result.skipped
    assert skipped.where == "code"
    assert f"with which {DATASET} and 20 more ran" in skipped.why


def test_other_code_is_skipped_where_nobody_can_be_asked(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(ledger.root / ".git")
    (ledger.root / ".dvc" / "config").write_text("[core]\n    no_scm = true\n", encoding="utf-8")
    shutil.rmtree(ledger.root / ".dvc" / "cache" / "runs", ignore_errors=True)
    for digest in ("code_behind", "code_behind_data"):
        monkeypatch.setattr(lock_check, digest, lambda *_: "0" * 64)
    result = checked(ledger)
    assert result.findings == []
    assert {skipped.where for skipped in result.skipped} == {"code", *lock_files()}


def test_settings_that_were_changed_since_are_no_finding(ledger: Ledger) -> None:
    """The lock of the last commit knows that the stages ran with the old ones."""
    shutil.rmtree(ledger.root / ".dvc" / "cache" / "runs")
    path = ledger.root / "params.yaml"
    params = yaml.safe_load(path.read_text(encoding="utf-8"))
    params["genception"]["min_coverage"] = 0.123
    path.write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")
    result = checked(ledger)
    assert (result.findings, result.skipped) == ([], [])
    shutil.rmtree(ledger.root / ".git")
    (ledger.root / ".dvc" / "config").write_text("[core]\n    no_scm = true\n", encoding="utf-8")
    assert places(checked(ledger).findings) == [f"bytes {LOCK}: {SCORE}"]


def test_a_run_of_another_time_is_checked_by_its_own_entries(ledger: Ledger) -> None:
    before = ledger.evidence
    md5 = ledger.contents.md5_of(ledger.root / PICTURE)
    rewrite(ledger.root / PICTURE, b"another picture")
    stages = [f"{PIPELINE}:{CHAIN}", f"{PIPELINE}:{SCORE}"]
    subprocess.run([sys.executable, "-m", "dvc", "commit", "--quiet", "--force", *stages], cwd=ledger.root, check=True)
    now = checked(ledger)
    assert now.findings == []
    assert now.skipped == [(LOCK, f"Git's last commit does not have the entry of {CHAIN} and 1 more as it is here")]
    assert check_bytes(ledger.root, [before], ledger.contents).findings == []
    (ledger.root / DVC_CACHE / md5[:2] / md5[2:]).unlink()
    assert places(check_bytes(ledger.root, [before], ledger.contents).findings) == [f"missing {PICTURE}"]
    assert checked(ledger).holds


def test_an_entry_of_a_run_elsewhere_is_held_to_its_name_too(kept: Ledger) -> None:
    evidence = kept.evidence
    first, *rest = evidence.lineages
    chain = first.stages[CHAIN].model_copy(update={"cmd": "driftledger stage genception chart"})
    other = first.model_copy(update={"stages": {**first.stages, CHAIN: chain}})
    run = evidence.model_copy(update={"lineages": [other, *rest]})
    found = check_bytes(kept.root, [run], kept.contents).findings
    assert places(found)[0] == f"bytes evidence of {evidence.name}: {CHAIN}"
    assert "it runs another command" in found[0].what


def test_an_entry_of_version_0_1_names_its_command_as_it_was(kept: Ledger) -> None:
    first, *rest = kept.evidence.lineages
    data = next(name for name in first.stages if name.startswith("dataset@"))
    old = first.stages[data].model_copy(update={"cmd": f"driftledger dataset {data.partition('@')[2]}"})
    other = first.model_copy(update={"stages": {**first.stages, data: old}})
    run = kept.evidence.model_copy(update={"lineages": [other, *rest]})
    found = check_bytes(kept.root, [run], kept.contents).findings
    assert not [finding for finding in found if "it runs another command" in finding.what]


def test_evidence_that_was_changed_is_found(kept: Ledger) -> None:
    evidence = kept.evidence
    first, *rest = evidence.lineages
    score = first.stages[SCORE]
    seeded = score.model_copy(update={"params": {**score.params, "params.yaml": {"run.seed": 9}}})
    better = first.score.model_copy(update={"metrics": {**first.score.metrics, "gc_at_1": 2.0}})
    others: dict[str, dict[str, Any]] = {
        "fingerprint": {"stages": {**first.stages, SCORE: seeded}},
        "not the one in": {"score": better},
        "no stage in it wrote data/": {"data": first.data.model_copy(update={"md5": "0" * 32 + ".dir"})},
        "no stage in it wrote reports/": {"rows_file": first.rows_file.model_copy(update={"md5": "0" * 32})},
    }
    for said, changes in others.items():
        changed_evidence = evidence.model_copy(update={"lineages": [first.model_copy(update=changes), *rest]})
        [finding] = check_bytes(kept.root, [changed_evidence], kept.contents).findings
        assert (finding.kind, finding.where) == ("bytes", f"evidence of {evidence.name}")
        assert said in finding.what


def test_a_damaged_lock_excuses_nothing_in_the_evidence_of_a_run(ledger: Ledger) -> None:
    evidence = ledger.evidence
    first = evidence.lineages[0]
    unwritten = {stage: entry for stage, entry in first.stages.items() if stage != DATASET}
    cut = evidence.model_copy(update={"lineages": [first.model_copy(update={"stages": unwritten})]})
    (ledger.root / LOCK).write_text("stages: [", encoding="utf-8")
    found = check_bytes(ledger.root, [cut], ledger.contents).findings
    assert any("which no stage behind it wrote" in finding.what for finding in found)


def test_what_dvc_has_run_holds_before_it_is_committed(checkout: Checkout) -> None:
    """DVC's own memory of the run knows settings that were changed since, and does not know others."""
    checkout.run("dvc", "repro", f"{PIPELINE}:{SCORE}")
    ledger = Ledger(checkout)
    result = checked(ledger)
    assert result.findings == []
    assert [skipped.where for skipped in result.skipped] == ["dvc.lock", LOCK]
    assert f"Git's last commit does not have the entry of {DATASET} as it is here" in result.skipped[0].why
    checkout.params(lambda params: params["genception"].update(generate_prompt="Now draw: {description}"))
    assert checked(ledger).findings == []
    ledger.change_locks(set_in(CHAIN, *PARAMS, "genception.generate_prompt", to="Or draw: {description}"))
    assert places(checked(ledger).findings) == [f"bytes {LOCK}: {CHAIN}"]


def test_without_a_lock_the_evidence_speaks_for_itself(ledger: Ledger) -> None:
    evidence = ledger.evidence
    for file in lock_files():
        (ledger.root / file).unlink()
    result = check_bytes(ledger.root, [evidence], ledger.contents)
    assert result.findings == []
    assert check_stages(ledger.root, ledger.project.selected, ledger.contents).findings != []


def test_settings_outside_of_the_checkout_are_not_read(ledger: Ledger, tmp_path: Path) -> None:
    """Through a link; nor is a device, which never ends."""
    outside = tmp_path / "outside.yaml"
    outside.write_text("secret: 7\n")
    (ledger.root / "linked.yaml").symlink_to(outside)
    (ledger.root / "endless.yaml").symlink_to("/dev/zero")
    files = ("linked.yaml", "endless.yaml")

    def change(stages: Stages) -> None:
        if CHAIN in stages:
            stages[CHAIN]["params"] |= {file: {"secret": 7} for file in files}

    ledger.change_locks(change)
    found = [each.what for each in checked(ledger).findings if "it ran with secret = '7'" in each.what]
    assert len(found) == len(files)


def test_settings_of_any_size_are_not_read(tmp_path: Path) -> None:
    large = tmp_path / "large.yaml"
    large.touch()
    os.truncate(large, 2**42)
    assert lock_check._settings(large) is None

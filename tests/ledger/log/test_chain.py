"""The ledger of published runs: what is written, and that nothing can be changed in it without being named."""

import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from driftledger.benchmarks.score import Score
from driftledger.core.errors import LedgerError
from driftledger.core.paths import Paths
from driftledger.ledger.code import CodeVersion
from driftledger.ledger.findings import Finding, VerifyResult
from driftledger.ledger.lineage import Evidence, read_evidence
from driftledger.ledger.log.chain import append, check, evidence_digest
from driftledger.ledger.log.lines import read_chain
from driftledger.project.settings import Tracking
from driftledger.tracking.projection import show
from tests.conftest import REPOSITORY, Checkout
from tests.support.git import commit as commit_all
from tests.support.git import git, no_git_but_ours
from tests.support.ledgers import COMBINATION, SELECTED, component, genception_score, locked, varied, write_ledger

__all__ = ["no_git_but_ours"]
pytestmark = pytest.mark.usefixtures("no_git_but_ours")

LINES = 5


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    root = tmp_path_factory.mktemp("evidence")
    write_ledger(root)
    return read_evidence(root, SELECTED, COMBINATION)


@pytest.fixture(scope="module")
def runs(evidence: Evidence) -> list[Evidence]:
    """Ten runs, of which ledgers here hold the first five."""
    return [named(evidence, f"run {number}") for number in range(10)]


@pytest.fixture(scope="module")
def ledger(runs: list[Evidence], tmp_path_factory: pytest.TempPathFactory) -> bytes:
    root = tmp_path_factory.mktemp("ledger")
    assert append(root / "ledger.jsonl", runs[:LINES], root / "lock") == LINES
    return (root / "ledger.jsonl").read_bytes()


def named(evidence: Evidence, name: str) -> Evidence:
    code = CodeVersion(commit=sha256(name.encode())[:40], dirty=False, untracked=[])
    return evidence.model_copy(update={"name": name, "fingerprint": sha256(name.encode()), "code": code})


def with_lineage(evidence: Evidence, **update: object) -> Evidence:
    """The same with other fields of its only lineage."""
    [lineage] = evidence.lineages
    return evidence.model_copy(update={"lineages": [lineage.model_copy(update=update)]})


def valued(value: float) -> Score:
    """The score with another GC@2."""
    return genception_score(metrics=genception_score().metrics | {"gc_at_2": value})


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def checked(root: Path, data: bytes, evidence: list[Evidence] | None = None) -> VerifyResult:
    (root / "ledger.jsonl").write_bytes(data)
    return check(root / "ledger.jsonl", root, evidence or [])


def named_lines(findings: list[Finding]) -> set[int]:
    return {int(match[1]) for each in findings if (match := re.fullmatch(r"ledger\.jsonl line (\d+)", each.where))}


def commit(root: Path, data: bytes | None = None) -> None:
    if data is not None:
        (root / "ledger.jsonl").write_bytes(data)
    commit_all(root)


@pytest.fixture
def repository(tmp_path: Path, ledger: bytes) -> Path:
    """A commit without a ledger, then one with three lines, something else, and one with all five."""
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "--quiet", "--initial-branch=main")
    (root / "other.txt").write_text("one")
    commit(root)
    commit(root, b"".join(ledger.splitlines(keepends=True)[:3]))
    (root / "other.txt").write_text("two")
    commit(root)
    commit(root, ledger)
    return root


# --- what is written


def test_a_line_says_which_run_and_holds_the_hash_of_the_line_before(ledger: bytes, runs: list[Evidence]) -> None:
    rows = ledger.decode().removesuffix("\n").split("\n")
    lines = [json.loads(row) for row in rows]
    assert [line["n"] for line in lines] == [1, 2, 3, 4, 5]
    assert [line["name"] for line in lines] == [run.name for run in runs[:LINES]]
    assert [line["fingerprint"] for line in lines] == [run.fingerprint for run in runs[:LINES]]
    assert [line["evidence_sha256"] for line in lines] == [evidence_digest(run) for run in runs[:LINES]]
    assert lines[0]["previous"] == "0" * 64
    assert [line["previous"] for line in lines[1:]] == [sha256(row.encode()) for row in rows[:-1]]
    assert lines[0]["code"] == {"commit": runs[0].code.commit, "dirty": False}
    assert all(row == json.dumps(json.loads(row), sort_keys=True, separators=(",", ":")) for row in rows)


def test_appending_leaves_earlier_lines_and_what_is_known(tmp_path: Path, ledger: bytes, runs: list[Evidence]) -> None:
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(ledger)
    assert append(path, runs[:LINES], tmp_path / "lock") == 0
    assert path.read_bytes() == ledger
    assert append(path, runs[3:7] + runs[6:7], tmp_path / "lock") == 2
    assert path.read_bytes().startswith(ledger)
    assert checked(tmp_path, path.read_bytes(), runs[:7]).holds
    assert not list(tmp_path.glob("*.partial"))


@settings(max_examples=25)
@given(st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=4))
def test_in_whatever_portions_each_run_has_one_line(
    runs: list[Evidence], tmp_path_factory: pytest.TempPathFactory, portions: list[list[int]]
) -> None:
    root = tmp_path_factory.mktemp("portions")
    path = root / "ledger.jsonl"
    for portion in portions:
        before = path.read_bytes() if path.exists() else b""
        append(path, [runs[number] for number in portion], root / "lock")
        assert not portion or path.read_bytes().startswith(before)
    wanted = list(dict.fromkeys(number for portion in portions for number in portion))
    found = read_chain(path.read_bytes() if path.exists() else b"")
    assert [line.name for line in found.lines.values()] == [runs[number].name for number in wanted]
    assert not found.findings


def test_known_fingerprint_with_other_evidence_gets_no_line_and_is_told(
    tmp_path: Path, ledger: bytes, runs: list[Evidence]
) -> None:
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(ledger)
    other = with_lineage(runs[2], score=valued(0.99))
    assert append(path, [other], tmp_path / "lock") == 0
    [finding] = checked(tmp_path, ledger, [runs[1], other]).findings
    assert (finding.kind, finding.where) == ("bytes", "ledger.jsonl line 3")
    assert evidence_digest(other) in finding.what


APPEND = """
import sys
from pathlib import Path
from driftledger.ledger.log.chain import append
from driftledger.ledger.lineage import Evidence
root = Path(sys.argv[1])
runs = [Evidence.model_validate_json(line) for line in (root / "runs").read_text().splitlines()]
print("ready", flush=True)
sys.stdin.readline()
print(sum(append(root / "ledger.jsonl", runs[:count], root / "lock") for count in range(1, len(runs) + 1)))
"""


def test_processes_at_once_give_one_line_each(tmp_path: Path, runs: list[Evidence]) -> None:
    (tmp_path / "runs").write_text("\n".join(run.model_dump_json(by_alias=True) for run in runs))
    command = [sys.executable, "-c", APPEND, str(tmp_path)]
    several = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert all(each.stdout and each.stdout.readline() == "ready\n" for each in several)
    for each in several:
        assert each.stdin
        each.stdin.write("\n")
        each.stdin.flush()
    assert sum(int(each.communicate(timeout=600)[0]) for each in several) == len(runs)
    data = (tmp_path / "ledger.jsonl").read_bytes()
    assert [line.name for line in read_chain(data).lines.values()] == [run.name for run in runs]
    assert checked(tmp_path, data, runs).holds


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.replace(b'"n":3', b'"n":9'),
        lambda data: data.removesuffix(b"\n"),
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: data + b"\x1b[31m\n",
        lambda data: b"<<<<<<< HEAD\n" + data,
    ],
)
def test_nothing_is_appended_to_what_is_not_as_it_was_written(
    tmp_path: Path, ledger: bytes, runs: list[Evidence], change: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(change(ledger))
    with pytest.raises(LedgerError, match=r"nothing is appended to ledger\.jsonl") as caught:
        append(path, runs, tmp_path / "lock")
    assert len(str(caught.value).splitlines()) == 1
    assert "\x1b" not in str(caught.value)
    assert path.read_bytes() == change(ledger)


def test_what_cannot_be_written_is_one_sentence_and_what_is_known_needs_no_writing(
    tmp_path: Path, ledger: bytes, runs: list[Evidence]
) -> None:
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(ledger)
    (tmp_path / "file").touch()
    nowhere = tmp_path / "file" / "lock"
    assert append(path, runs[:LINES], nowhere) == 0
    with pytest.raises(LedgerError, match=r"ledger\.jsonl cannot be written .*driftledger track"):
        append(path, runs, nowhere)
    (tmp_path / "ledger.jsonl.partial").mkdir()
    with pytest.raises(LedgerError, match=r"ledger\.jsonl cannot be written .*driftledger track"):
        append(path, runs, tmp_path / "lock")
    assert path.read_bytes() == ledger


# --- the digest of evidence


def test_the_digest_comes_back_from_json_and_depends_on_no_code(evidence: Evidence) -> None:
    assert evidence_digest(Evidence.model_validate_json(evidence.model_dump_json(by_alias=True))) == evidence_digest(
        evidence
    )
    code = CodeVersion(commit="c0ffee", dirty=True, untracked=["x"])
    assert evidence_digest(evidence.model_copy(update={"code": code})) == evidence_digest(evidence)


def test_source_files_and_code_in_the_lock_do_not_count_and_everything_else_does(evidence: Evidence) -> None:
    [lineage] = evidence.lineages
    entry = lineage.stages["dataset@shapes"]

    def changed(**update: object) -> str:
        stages = lineage.stages | {"dataset@shapes": entry.model_copy(update=update)}
        return evidence_digest(with_lineage(evidence, stages=stages))

    own, resolved = evidence_digest(evidence), entry.params["data/resolved.json"]
    extra = [type(entry.outs[0]).model_validate(locked(path, "9" * 32)) for path in ("src/x.py", "data/x")]
    coded, other = ({"data/resolved.json": resolved | {key: "9"}} for key in ("code.dataset.shapes", "datasets.shapes"))
    assert changed(deps=[*entry.deps, extra[0]]) == own
    assert changed(params=coded) == own
    changes = [
        changed(deps=[extra[1]]),
        changed(cmd="x"),
        changed(outs=extra),
        changed(params={}),
        changed(params=other),
    ]
    assert len({own, *changes}) == 6


def test_every_score_and_component_counts(evidence: Evidence) -> None:
    others = [
        valued(0.7000000000000001),
        genception_score(flags=["a flag"]),
        varied(genception_score(), generator=component("brush", version="4")),
    ]
    digests = [evidence_digest(with_lineage(evidence, score=score)) for score in others]
    assert len({evidence_digest(evidence), evidence_digest(named(evidence, "other")), *digests}) == 5


def test_fields_that_are_as_by_default_leave_the_digest(evidence: Evidence) -> None:
    """So that a later version, whose evidence has a field more, knows the lines of this one."""
    told = json.loads(evidence.model_dump_json(by_alias=True))
    for key in ("served", "flags", "schema"):
        del told["lineages"][0]["score"][key]
    assert evidence_digest(Evidence.model_validate(told)) == evidence_digest(evidence)


# --- what is found in the file alone


def test_a_ledger_as_it_was_written_holds(tmp_path: Path, ledger: bytes, runs: list[Evidence]) -> None:
    report = checked(tmp_path, ledger, runs[:LINES])
    assert report.holds
    assert report.checked == {"ledger lines": LINES, "runs": LINES}
    [skipped] = report.skipped
    assert "no commit holds it" in skipped.why


def test_every_changed_byte_is_found_and_its_line_named(ledger: bytes) -> None:
    for place, byte in enumerate(ledger):
        line = ledger[:place].count(b"\n") + 1
        for other in {byte ^ 1, byte ^ 0x80, *b"\n\r "} - {byte}:
            changed = ledger[:place] + bytes([other]) + ledger[place + 1 :]
            findings = read_chain(changed).findings
            assert named_lines(findings) == {line}, (place, bytes([byte]), bytes([other]), findings)


def test_every_removed_or_added_byte_is_found_and_its_line_named(ledger: bytes) -> None:
    for place in range(len(ledger)):
        line = ledger[:place].count(b"\n") + 1
        removed = read_chain(ledger[:place] + ledger[place + 1 :]).findings
        assert named_lines(removed) == {line}, (place, removed)
        for other in b"\n\r 0":
            added = read_chain(ledger[:place] + bytes([other]) + ledger[place:]).findings
            assert named_lines(added) in ({line}, {line + 1}), (place, other, added)


@pytest.mark.parametrize("n", range(1, LINES))
def test_a_removed_line_is_named(ledger: bytes, n: int) -> None:
    rows = ledger.splitlines(keepends=True)
    [finding] = read_chain(b"".join(rows[: n - 1] + rows[n:])).findings
    assert finding == ("missing", f"ledger.jsonl line {n}", f"was removed: line {n} is not there")


def test_several_removed_lines_are_named(ledger: bytes) -> None:
    rows = ledger.splitlines(keepends=True)
    [finding] = read_chain(rows[0] + rows[4]).findings
    assert finding == ("missing", "ledger.jsonl line 2", "was removed: lines 2 to 4 are not there")
    assert named_lines(read_chain(rows[1] + rows[3]).findings) == {1, 3}


def test_a_last_line_that_was_removed_is_missed_by_its_run(tmp_path: Path, ledger: bytes, runs: list[Evidence]) -> None:
    rows = ledger.splitlines(keepends=True)
    [finding] = checked(tmp_path, b"".join(rows[:-1]), runs[:LINES]).findings
    assert (finding.kind, finding.where) == ("missing", "ledger.jsonl")
    assert runs[LINES - 1].fingerprint in finding.what


@pytest.mark.parametrize(("one", "two"), list(combinations(range(LINES), 2)))
def test_two_lines_that_changed_places_are_named(ledger: bytes, one: int, two: int) -> None:
    rows = ledger.splitlines(keepends=True)
    rows[one], rows[two] = rows[two], rows[one]
    findings = read_chain(b"".join(rows)).findings
    assert named_lines(findings) == {one + 1, two + 1}
    assert all("was moved" in each.what for each in findings)


def test_a_ledger_cut_anywhere_is_found_unless_at_a_line_end(ledger: bytes) -> None:
    for length in range(len(ledger)):
        findings = read_chain(ledger[:length]).findings
        whole = length == 0 or ledger[length - 1 : length] == b"\n"
        assert named_lines(findings) == (set() if whole else {ledger[:length].count(b"\n") + 1})


@pytest.mark.parametrize(
    "garbage",
    [b"x", b"\n", b"{}\n", b"\x00" * 9, b"null\n", b"[" * 100_000 + b"\n", b'{"n":6}\n', b"\xff\n", b"1" * 9999],
)
def test_garbage_after_the_last_line_is_named(ledger: bytes, garbage: bytes) -> None:
    assert named_lines(read_chain(ledger + garbage).findings) == {LINES + 1}


def test_garbage_before_and_between_lines_is_named(ledger: bytes) -> None:
    rows = ledger.splitlines(keepends=True)
    assert named_lines(read_chain(b"x\n" + ledger).findings) == {1}
    assert named_lines(read_chain(b"".join([*rows[:2], b"x\n", *rows[2:]])).findings) == {3}


def test_a_line_that_is_there_twice_is_named(ledger: bytes) -> None:
    [finding] = read_chain(ledger + ledger.splitlines(keepends=True)[1]).findings
    assert (finding.where, finding.what) == ("ledger.jsonl line 2", "is there twice")


def test_windows_line_ends_are_one_finding(ledger: bytes) -> None:
    [finding] = read_chain(ledger.replace(b"\n", b"\r\n")).findings
    assert finding == (
        *("bytes", "ledger.jsonl line 1"),
        "ends in CRLF, as do 4 more lines; the ledger has Unix line ends",
    )


def test_a_missing_line_end_is_named(ledger: bytes) -> None:
    [finding] = read_chain(ledger[:-1]).findings
    assert (finding.where, finding.what) == ("ledger.jsonl line 5", "has no line end")


def forged(row: bytes, **changes: object) -> bytes:
    """The line with other contents, and the hash of itself that belongs to them."""
    rest = {key: value for key, value in json.loads(row).items() if key != "line_sha256"} | changes

    def canonical(value: object) -> bytes:
        return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()

    return canonical(rest | {"line_sha256": sha256(canonical(rest))}) + b"\n"


@pytest.mark.parametrize("n", range(1, LINES))
def test_a_line_forged_with_its_own_hash_is_given_away_by_the_next(ledger: bytes, n: int) -> None:
    rows = ledger.splitlines(keepends=True)
    rows[n - 1] = forged(rows[n - 1], name="forged")
    findings = read_chain(b"".join(rows)).findings
    assert [each.where for each in findings] == [f"ledger.jsonl line {n}"]


def rewritten(ledger: bytes, start: int, **changes: object) -> bytes:
    """Line ``start`` forged, and every later one written again to fit."""
    rows = ledger.splitlines(keepends=True)
    rows[start - 1] = forged(rows[start - 1], **changes)
    for place in range(start, len(rows)):
        rows[place] = forged(rows[place], previous=sha256(rows[place - 1].removesuffix(b"\n")))
    return b"".join(rows)


def test_two_lines_about_one_run_are_named(ledger: bytes) -> None:
    same = json.loads(ledger.splitlines()[1])["fingerprint"]
    [finding] = read_chain(rewritten(ledger, 4, fingerprint=same)).findings
    assert finding.where == "ledger.jsonl line 4"
    assert "line 2 names" in finding.what


def test_a_number_out_of_this_world_costs_nothing(ledger: bytes) -> None:
    chain = read_chain(rewritten(ledger, 5, n=10**15))
    assert named_lines(chain.findings) == {5}
    assert chain.unreadable


def test_a_file_that_is_something_else_is_a_screenful() -> None:
    assert len(read_chain(b"something\n" * 10_000).findings) == 1
    findings = read_chain(b'{"code":1}\n' * 10_000).findings
    assert len(findings) < 200
    assert "9900 more" in findings[-1].what


@given(st.binary(max_size=300))
def test_no_bytes_at_all_are_a_bug(data: bytes) -> None:
    assert bool(read_chain(data).findings) == bool(data)


def test_hostile_names_are_inert(tmp_path: Path, evidence: Evidence) -> None:
    hostile = named(evidence, "=x\x1b[31m\u202e\n<img>")
    append(tmp_path / "ledger.jsonl", [hostile], tmp_path / "lock")
    data = (tmp_path / "ledger.jsonl").read_bytes()
    assert data.count(b"\n") == 1
    assert checked(tmp_path, data, [hostile]).holds
    other = hostile.model_copy(update={"name": f"{hostile.name}!"})
    report = checked(tmp_path, data, [other]) + checked(tmp_path, b"", [hostile])
    assert len(report.findings) == 2
    assert not any(bad in each.what for each in report.findings for bad in ("\x1b", "\n", "\u202e"))


def test_runs_are_not_called_missing_while_their_lines_cannot_be_read(
    tmp_path: Path, ledger: bytes, runs: list[Evidence]
) -> None:
    report = checked(tmp_path, ledger.replace(b'"n":3', b'"n":4'), runs[:LINES])
    assert named_lines(report.findings) == {3}
    assert len(report.findings) == 1
    assert any(runs[2].fingerprint in each.why for each in report.skipped)


def test_without_a_ledger_there_is_one_finding(tmp_path: Path, runs: list[Evidence]) -> None:
    [finding] = check(tmp_path / "ledger.jsonl", tmp_path, runs).findings
    assert (finding.kind, finding.where) == ("missing", "ledger.jsonl")
    assert check(tmp_path / "ledger.jsonl", tmp_path, []).holds


# --- what Git knows


def grown(root: Path, data: bytes, runs: list[Evidence]) -> bytes:
    (root / "ledger.jsonl").write_bytes(data)
    append(root / "ledger.jsonl", runs, root / "lock")
    return (root / "ledger.jsonl").read_bytes()


def test_every_version_that_begins_the_next_holds(
    repository: Path, tmp_path: Path, ledger: bytes, runs: list[Evidence]
) -> None:
    report = checked(repository, ledger, runs[:LINES])
    assert report.holds
    assert not report.skipped
    assert report.checked["ledger versions"] == 2
    assert checked(repository, grown(tmp_path, ledger, runs), runs).holds  # appended and not committed yet


@pytest.mark.parametrize("committed", [False, True])
def test_a_removed_last_line_is_found(repository: Path, ledger: bytes, committed: bool) -> None:
    shorter = b"".join(ledger.splitlines(keepends=True)[:4])
    if committed:
        commit(repository, shorter)
    [finding] = checked(repository, shorter).findings
    assert (finding.kind, finding.where) == ("missing", "ledger.jsonl line 5")
    assert "was removed" in finding.what


@pytest.mark.parametrize("n", range(1, LINES + 1))
def test_a_chain_written_again_is_found(repository: Path, ledger: bytes, n: int) -> None:
    forgery = rewritten(ledger, n, name="forged")
    assert not read_chain(forgery).findings
    for _ in ("in the folder", "in a commit"):
        findings = checked(repository, forgery).findings
        assert named_lines(findings) == set(range(n, LINES + 1))
        assert all("written again" in each.what for each in findings)
        commit(repository, forgery)
    commit(repository, ledger)  # put back, and history still tells
    assert named_lines(checked(repository, ledger).findings) == set(range(n, LINES + 1))


def test_what_the_file_tells_itself_is_told_once(repository: Path, ledger: bytes) -> None:
    assert len(checked(repository, ledger.replace(b'"n":3', b'"n":4')).findings) == 1
    [finding] = checked(repository, ledger[:-1]).findings
    assert finding.what == "has no line end"
    [finding] = checked(repository, ledger.replace(b"\n", b"\r\n")).findings
    assert "CRLF" in finding.what
    rows = ledger.splitlines(keepends=True)
    [finding] = checked(repository, b"".join(rows[:1] + rows[2:])).findings
    assert (finding.where, finding.kind) == ("ledger.jsonl line 2", "missing")


def test_a_deleted_ledger_is_found_and_so_is_one_begun_anew(
    repository: Path, ledger: bytes, runs: list[Evidence]
) -> None:
    (repository / "ledger.jsonl").unlink()
    assert named_lines(check(repository / "ledger.jsonl", repository, []).findings) == {1, 2, 3, 4, 5}
    commit(repository)
    assert named_lines(check(repository / "ledger.jsonl", repository, []).findings) == {1, 2, 3, 4, 5}
    append(repository / "ledger.jsonl", runs[5:6], repository / ".git" / "lock")
    commit(repository)
    assert not check(repository / "ledger.jsonl", repository, runs[5:6]).holds


def test_a_project_in_a_subfolder_has_its_history_too(tmp_path: Path, ledger: bytes) -> None:
    root = tmp_path / "a folder" / "projekt ü"
    root.mkdir(parents=True)
    git(tmp_path, "init", "--quiet")
    commit(root, ledger)
    shorter = b"".join(ledger.splitlines(keepends=True)[:4])
    assert named_lines(checked(root, shorter).findings) == {5}
    assert checked(root, ledger).holds


def test_a_shallow_clone_says_what_it_cannot_compare(repository: Path, tmp_path: Path, ledger: bytes) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{repository}", str(clone))
    report = check(clone / "ledger.jsonl", clone, [])
    assert report.holds
    assert any("unshallow" in each.why for each in report.skipped)


def test_without_a_commit_to_compare_with_it_says_why(tmp_path: Path, ledger: bytes) -> None:
    def why() -> str:
        [skipped] = checked(tmp_path, ledger).skipped
        return skipped.why.partition(":")[0].removeprefix("no commit holds it to compare with")

    assert why() == " (there is no Git repository here)"
    git(tmp_path, "init", "--quiet")
    assert why() == " (the Git repository here has no commit)"
    git(tmp_path, "commit", "--quiet", "--allow-empty", "--message", "nothing")
    assert why() == ""
    (tmp_path / ".git" / "config").write_text("[core\n")
    assert why().startswith(" (the Git repository here cannot be read (")


def test_a_merge_that_alters_what_it_descends_from_is_no_side(repository: Path, ledger: bytes) -> None:
    """One parent has a line more than the other, which it descends from: what loses it has lost it for good."""
    tip = git(repository, "rev-parse", "HEAD")
    rows = ledger.splitlines(keepends=True)
    (repository / "ledger.jsonl").write_bytes(b"".join(rows[:4]))
    git(repository, "add", "--all")
    tree = git(repository, "write-tree")
    merged = git(repository, "commit-tree", tree, "-p", "HEAD~2", "-p", tip, "-m", "merged")
    git(repository, "reset", "--quiet", "--hard", merged)
    [finding] = check(repository / "ledger.jsonl", repository, []).findings
    assert (finding.where, finding.what) == (
        "ledger.jsonl line 5",
        f"was removed: it is there by commit {tip[:12]}, and not by commit {merged[:12]}",
    )


@pytest.mark.parametrize("side", ["--ours", "--theirs"])
def test_two_branches_meet_again_by_one_side_and_track(
    repository: Path, ledger: bytes, runs: list[Evidence], side: str
) -> None:
    path, lock = repository / "ledger.jsonl", repository / ".git" / "lock"
    shutil.copy(REPOSITORY / ".gitattributes", repository)
    commit(repository)
    git(repository, "switch", "--quiet", "--create", "other")
    append(path, runs[5:7], lock)
    commit(repository)
    git(repository, "switch", "--quiet", "main")
    append(path, runs[7:9], lock)
    ours = path.read_bytes()
    commit(repository)
    git(repository, "merge", "--quiet", "other", succeeds=False)
    assert path.read_bytes() == ours  # no conflict marks in it
    git(repository, "checkout", side, "ledger.jsonl")
    left = [finding.what for finding in check(path, repository, []).findings]
    assert len(left) == 2
    assert all("driftledger track" in what for what in left)

    assert append(path, [runs[8], runs[6]], lock) == 2
    assert check(path, repository, runs[:9]).holds
    commit(repository)
    assert check(path, repository, runs[:9]).holds
    append(path, runs[9:], lock)
    commit(repository)
    assert check(path, repository, runs).holds
    assert [line.n for line in read_chain(path.read_bytes()).lines.values()] == list(range(1, 11))
    assert {line.fingerprint for line in read_chain(path.read_bytes()).lines.values()} == {r.fingerprint for r in runs}


def test_a_merge_that_drops_a_side_is_found_until_it_is_tracked(
    repository: Path, ledger: bytes, runs: list[Evidence]
) -> None:
    path, lock = repository / "ledger.jsonl", repository / ".git" / "lock"
    git(repository, "switch", "--quiet", "--create", "other")
    append(path, runs[5:6], lock)
    commit(repository)
    git(repository, "switch", "--quiet", "main")
    append(path, runs[6:7], lock)
    commit(repository)
    git(repository, "merge", "--quiet", "--strategy=ours", "--message=merged", "other")
    [finding] = check(path, repository, runs[:5]).findings
    assert finding.kind == "missing"
    assert runs[5].fingerprint in finding.what
    assert append(path, runs[:5], lock) == 1
    assert check(path, repository, runs[:7]).holds


def test_both_branches_may_publish_the_same_run(repository: Path, runs: list[Evidence]) -> None:
    path, lock = repository / "ledger.jsonl", repository / ".git" / "lock"
    git(repository, "switch", "--quiet", "--create", "other")
    append(path, runs[5:6], lock)
    commit(repository)
    git(repository, "switch", "--quiet", "main")
    elsewhere = runs[5].model_copy(update={"code": CodeVersion(commit="c0ffee", dirty=True, untracked=[])})
    append(path, [elsewhere], lock)
    commit(repository)
    git(repository, "merge", "--quiet", "--strategy=ours", "--message=merged", "other")
    assert append(path, runs[:6], lock) == 0
    assert check(path, repository, runs[:6]).holds


def test_history_cannot_be_cut_off_by_a_merge_of_an_older_commit(
    repository: Path, ledger: bytes, runs: list[Evidence]
) -> None:
    old, tip = git(repository, "rev-parse", "HEAD~2"), git(repository, "rev-parse", "HEAD")
    commit(repository, b"".join(ledger.splitlines(keepends=True)[:3]))
    tree = git(repository, "rev-parse", "HEAD^{tree}")
    merged = git(repository, "commit-tree", tree, "-p", old, "-p", tip, "-m", "merged")
    git(repository, "reset", "--quiet", "--hard", merged)
    report = check(repository / "ledger.jsonl", repository, [])
    assert [each.kind for each in report.findings] == ["missing", "missing"]
    assert all(any(run.fingerprint in each.what for each in report.findings) for run in runs[3:LINES])


def test_hundreds_of_versions_are_compared(tmp_path: Path, evidence: Evidence) -> None:
    root = tmp_path / "long"
    root.mkdir()
    append(root / "ledger.jsonl", [named(evidence, f"run {n}") for n in range(200)], tmp_path / "lock")
    data = (root / "ledger.jsonl").read_bytes()
    ends = [place + 1 for place, byte in enumerate(data) if byte == 10]
    stream = []
    for n, end in enumerate(ends):
        stream.append(b"commit refs/heads/main\ncommitter a <a@b> %d +0000\ndata 0\n" % (1_700_000_000 + n))
        stream.append(b"M 644 inline ledger.jsonl\ndata %d\n" % end + data[:end] + b"\n")
    git(root, "init", "--quiet", "--initial-branch=main")
    subprocess.run(["git", "-C", root, "fast-import", "--quiet"], input=b"".join(stream), check=True)
    report = check(root / "ledger.jsonl", root, [])
    assert report.holds
    assert report.checked["ledger versions"] == 200


# --- where it is called


def test_tracking_appends_what_it_has_shown_and_nothing_that_it_has_not(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    run = read_evidence(tmp_path, SELECTED, COMBINATION)
    with pytest.raises(LedgerError):
        show(
            tmp_path, [run], Tracking(uri=f"sqlite:///{tmp_path}/dvc.lock/mlflow.db", experiment="tests", traces="none")
        )
    assert not Paths(tmp_path).ledger.exists()


@pytest.mark.slow
def test_a_committed_ledger_is_left_as_it_is(published: Checkout) -> None:
    ledger = (published.root / "ledger.jsonl").read_bytes()
    assert [line.name for line in read_chain(ledger).lines.values()] == ["regions_medium · painter · layout"]
    published.commit("a run")
    assert "1 runs created" in published.run("dvc", "repro").stdout
    assert (published.root / "ledger.jsonl").read_bytes() == ledger

    (published.root / "ledger.jsonl").unlink()  # as a crash after the push leaves it
    assert "1 unchanged; 1 new in ledger.jsonl" in published.run("driftledger", "track").stdout


def test_a_score_that_was_computed_again_is_the_same_evidence(tmp_path: Path) -> None:
    digests = set()
    for _ in range(2):
        write_ledger(tmp_path)
        digests.add(evidence_digest(read_evidence(tmp_path, SELECTED, COMBINATION)))
    assert len(digests) == 1

"""Lines of other kinds: plans, attempts and reproductions, chained with runs."""

from pathlib import Path

import pytest

from driftledger.core.errors import LedgerError
from driftledger.ledger.log.chain import append, check, note
from driftledger.ledger.log.lines import Noted, PublishedCode, encoded, read_chain, rows_of
from tests.conftest import REPOSITORY
from tests.support.chained import chained, run
from tests.support.git import no_git_but_ours

__all__ = ["no_git_but_ours"]
pytestmark = pytest.mark.usefixtures("no_git_but_ours")

CODE = PublishedCode(commit="c" * 40, dirty=False)
PLAN = Noted(kind="plan", name="trac", subject_sha256="1" * 64, code=CODE)
ATTEMPT = Noted(kind="attempt", name="plan 111111111111", subject_sha256="2" * 64, code=CODE)
MIXED = chained([run(1), PLAN, ATTEMPT, run(2)])


def test_the_bytes_of_a_note_are_these() -> None:
    assert rows_of(MIXED)[1].decode() == (
        '{"code":{"commit":"cccccccccccccccccccccccccccccccccccccccc","dirty":false},"kind":"plan","line_sha256":"'
        + read_chain(MIXED).notes[2].line_sha256
        + '","n":2,"name":"trac","previous":"'
        + read_chain(MIXED).notes[2].previous
        + f'","schema":1,"subject_sha256":"{"1" * 64}"}}'
    )


def test_runs_and_notes_are_told_apart() -> None:
    chain = read_chain(MIXED)
    assert not chain.findings
    assert ([*chain.lines], [*chain.notes], [*chain.all]) == ([1, 4], [2, 3], [1, 2, 3, 4])


def test_lines_of_before_are_the_same_bytes_and_read_as_ever() -> None:
    data = (REPOSITORY / "ledger.jsonl").read_bytes()
    chain = read_chain(data)
    runs = [line for n, line in chain.lines.items() if n <= 170]
    assert not chain.findings
    assert len(runs) == 170
    assert [encoded(line.entry, line.n, line.previous) for line in runs] == rows_of(data)[:170]


def test_every_changed_byte_of_a_note_is_found_and_its_line_named() -> None:
    start = MIXED.index(b"\n") + 1
    end = MIXED.index(b"\n", start)
    for at in range(start, end):
        changed = MIXED[:at] + bytes([(MIXED[at] + 1) % 256]) + MIXED[at + 1 :]
        assert "ledger.jsonl line 2" in {each.where for each in read_chain(changed).findings}, at


@pytest.mark.parametrize(
    ("old", "new"),
    [(b'"kind":"plan"', b'"kind":"other"'), (b'"kind":"plan",', b""), (b'"kind":"plan"', b'"kind":null')],
)
def test_a_note_of_an_unknown_kind_is_no_line(old: bytes, new: bytes) -> None:
    assert [each.where for each in read_chain(MIXED.replace(old, new)).findings] == ["ledger.jsonl line 2"]


def test_a_note_that_is_there_twice_is_found() -> None:
    [finding] = read_chain(chained([PLAN, run(1), PLAN])).findings
    assert finding.where == "ledger.jsonl line 3"
    assert "names the thing that line 1 names, plan 1111" in finding.what


def test_noting_goes_on_from_what_is_there_once(tmp_path: Path) -> None:
    path, lock = tmp_path / "ledger.jsonl", tmp_path / "lock"
    path.write_bytes(before := chained([run(1)]))
    seen: list[tuple[int, int]] = []

    def make(n: int, rows: object) -> Noted:
        seen.append((n, len(rows_of(path.read_bytes()))))
        return PLAN

    assert [note(path, lock, make), note(path, lock, make)] == [2, 2]
    assert seen == [(2, 1), (3, 2)]
    assert path.read_bytes() == before + MIXED.splitlines(keepends=True)[1]
    assert note(path, lock, lambda *_: ATTEMPT) == 3
    assert append(path, [], lock) == 0
    assert check(path, tmp_path, []).holds


def test_nothing_is_noted_in_what_is_not_as_it_was_written(tmp_path: Path) -> None:
    (path := tmp_path / "ledger.jsonl").write_bytes(MIXED.replace(b"trac", b"mmee"))
    with pytest.raises(LedgerError, match="nothing is appended"):
        note(path, tmp_path / "lock", lambda *_: ATTEMPT)
    (tmp_path / "file").touch()
    path.write_bytes(MIXED)
    with pytest.raises(LedgerError, match="cannot be written"):
        note(path, tmp_path / "file" / "lock", lambda *_: PLAN)

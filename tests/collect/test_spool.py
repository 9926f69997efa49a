import json
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from driftledger.collect.call_result import Cost, Result, Spent
from driftledger.collect.call_store import CallStore
from driftledger.collect.objects import object_path
from driftledger.collect.shards import Shard
from driftledger.collect.spool import Spool, spools_in
from driftledger.collect.spool_lines import LINES, SpooledCall, parse_line
from driftledger.components.service import Limits
from driftledger.core.canonical import canonical_json
from driftledger.core.errors import BudgetError, ConfigError, StoreError
from driftledger.core.types import Outcome, PromptUsage
from tests.support.spools import drawn, finished, key

ALONE = Shard(0, 1)


def all_lines(spool: Spool) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (spool.folder / LINES).read_text(encoding="utf-8").splitlines()]


def test_a_result_comes_back_here_and_in_the_next_shard(tmp_path: Path) -> None:
    with Spool(tmp_path, Shard(0, 2)) as spool:
        assert spool.claim([key("a").digest])
        [text, image] = spool.put([finished(key("a")), drawn(key("b"))])
        assert image.image is not None
        assert image.image.path.is_relative_to(spool.folder / "objects")
        assert spool.get([key(each).digest for each in "abc"]) == {key("a").digest: text, key("b").digest: image}
    with Spool(tmp_path, Shard(2, 3)) as later:
        assert later.get([key(each).digest for each in "abc"]) == {key("a").digest: text, key("b").digest: image}
        assert len(later) == 2
    assert spools_in(tmp_path) == [spool.folder]  # in the other one nothing was put


def test_everything_that_a_result_holds_comes_back(tmp_path: Path) -> None:
    whole = Result(
        Outcome.TRUNCATED,
        text="ä \u2028 \x00 𝒳\n",
        served_model="v-2",
        revised_prompt="r",
        error="e",
        system_fingerprint="fp",
        reading=PromptUsage(9, 7),
        note="n",
    )
    with Spool(tmp_path, ALONE) as spool:
        spool.put([finished(key("a"))._replace(result=whole, cost=Cost(0.5, None, None, 0.1, 2))])
    with Spool(tmp_path, ALONE) as later:
        assert later.get([key("a").digest]) == {key("a").digest: whole}


def test_failures_are_passed_on_and_not_kept(tmp_path: Path) -> None:
    with Spool(tmp_path, ALONE) as spool:
        [passed] = spool.put([finished(key("a"), outcome=Outcome.FAILED)])
        assert passed.outcome is Outcome.FAILED
        assert spool.get([key("a").digest]) == {}
        assert len(all_lines(spool)) == 1


def test_a_call_is_made_by_one_batch_of_the_process(tmp_path: Path) -> None:
    a, b = key("a").digest, key("b").digest
    with Spool(tmp_path, ALONE) as spool:
        assert spool.claim([a])
        before = spool.version()
        assert not spool.claim([a, b])
        spool.release([a])
        assert spool.version() != before
        assert spool.claim([a, b])


def test_a_line_that_was_never_finished_is_no_line(tmp_path: Path) -> None:
    with Spool(tmp_path, ALONE) as spool:
        spool.put([finished(key("a")), finished(key("b"))])
    lines = spool.folder / LINES
    whole = lines.read_bytes()
    for cut in range(len(whole) - 1, whole.index(key("b").digest.encode()), -97):
        lines.write_bytes(whole[:cut])
        with Spool(tmp_path, ALONE) as later:
            assert later.get([key("a").digest, key("b").digest]).keys() == {key("a").digest}


def test_an_image_that_is_gone_or_altered_makes_the_call_new(tmp_path: Path) -> None:
    with Spool(tmp_path, ALONE) as spool:
        [result] = spool.put([drawn(key("a"))])
        assert result.image is not None
        result.image.path.write_bytes(b"else")
        assert spool.get([key("a").digest]) == {}
        spool.put([drawn(key("a"), "blue")])
        assert spool.get([key("a").digest])[key("a").digest].image is not None


def test_the_repository_s_store_is_read_and_not_written(tmp_path: Path) -> None:
    with CallStore(tmp_path / "store") as store:
        store.put([finished(key("a")), drawn(key("b"))])
        before = store.version()
        with Spool(tmp_path / "spool", ALONE, tmp_path / "store") as spool:
            assert spool.get([key("a").digest, key("b").digest]).keys() == {key("a").digest, key("b").digest}
        assert store.version() == before


def test_a_store_that_cannot_be_read_is_said_and_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "calls.db").write_bytes(b"no database" * 100)
    with Spool(tmp_path / "spool", ALONE, tmp_path / "store") as spool:
        assert spool.get([key("a").digest]) == {}
    assert "cannot be read (file is not a database): the shard does not look into it" in capsys.readouterr().err


def test_a_spool_that_cannot_be_read_is_said_and_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "0-of-1.0").mkdir()
    (tmp_path / "0-of-1.0" / LINES).write_text('{"spool": 1}\n', encoding="utf-8")
    (tmp_path / "0-of-1.1").mkdir()
    (tmp_path / "0-of-1.1" / LINES).write_text("", encoding="utf-8")
    with Spool(tmp_path, ALONE) as spool:
        assert len(spool) == 0
    said = capsys.readouterr().err
    assert "the shard does not look into it" in said
    assert "0-of-1.1" not in said


@pytest.mark.parametrize("text", ["", "1", "3/3", "4/3", "-1/3", "0/0", "a/b", "1/3/4", "1/3\n", "１/３"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="counted from 0"):
        Shard.parse(text)


def test_shards_have_every_position_once() -> None:
    shards = [Shard.parse(f"{number}/5") for number in range(5)]
    for position in range(200):
        assert sum(shard.has(position, 12) for shard in shards) == 1
        assert [shard.has(position, 12) for shard in shards] == [shard.has(position // 12 * 12, 12) for shard in shards]


# What is written by others


def a_line(**changes: Any) -> bytes:
    plain = SpooledCall.model_validate(
        {
            "call": key("a").digest,
            "cost": Cost(0.5)._asdict(),
            "fingerprint": key("a").fingerprint,
            "parts": key("a").parts(),
            "result": Result(Outcome.OK, text="t").to_row(),
            **{"dataset": "photos", "sample": "coffee", "t": 1},
        }
    ).to_dict()
    return canonical_json({**plain, **changes}).encode()


def test_a_line_says_what_was_made() -> None:
    record = parse_line(a_line(), "here")
    assert isinstance(record, SpooledCall)
    assert record.key == key("a")
    assert record.gave(None) == Result(Outcome.OK, text="t")


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"call": key("b").digest}, "its key is not the digest"),
        ({"fingerprint": "0" * 64}, "its key is not the digest"),
        ({"parts": {**key("a").parts(), "component": {"provider": "else"}}}, "its fingerprint is not"),
        ({"parts": {**key("a").parts(), "images": ["../../etc/passwd"]}}, "parts.images"),
        ({"result": {**Result(Outcome.OK).to_row(), "image": "../" * 21 + "a"}}, "result.image"),
        ({"result": Result(Outcome.FAILED).to_row()}, "it failed"),
        ({"result": {"outcome": "splendid", "image": None, "reading": None}}, "result.outcome"),
        ({"result": {**Result(Outcome.OK).to_row(), "command": "rm"}}, "result.command"),
        ({"t": 2**63}, "t: "),
        ({"cost": {**Cost(0.5)._asdict(), "seconds": -1}}, "cost.seconds"),
        ({"more": 1}, "more"),
        ({"schema": 3}, "schema"),
    ],
)
def test_what_no_shard_writes_is_refused(changes: dict[str, Any], what: str) -> None:
    with pytest.raises(StoreError, match=what):
        parse_line(a_line(**changes), "here")


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"[]",
        b'{"call":"' + b"0" * 64 + b'"',
        a_line().replace(b'"text":"t"', b'"text":"\\ud800"'),
        a_line().replace(b'"seconds":0.5', b'"seconds":NaN'),
        a_line().replace(b'"input":"a"', b'"input":' + b"[" * 100_000 + b"]" * 100_000),
        b'{"attempts":40,"component":"' + b"0" * 64 + b'","cost":0.0,"schema":2}',
    ],
)
def test_what_is_no_line_is_refused(line: bytes) -> None:
    with pytest.raises(StoreError):
        parse_line(line, "here")


def test_an_image_is_found_below_the_spool_alone(tmp_path: Path) -> None:
    assert object_path(tmp_path, "ab" * 32).parent.parent == tmp_path / "objects"


# Budgets


def spend(spool: Spool, limits: Limits, most: float = 1.0, cost: float = 1.0) -> int:
    """Make as many attempts as the budget allows."""
    made = 0
    with suppress(BudgetError):
        while admission := spool.admit("f" * 64, "the seer", most, limits):
            spool.settle(admission, cost)
            made += 1
    return made


def test_the_shares_of_a_budget_are_the_budget(tmp_path: Path) -> None:
    limits = Limits(max_calls=40)
    made = []
    for number in range(3):
        with Spool(tmp_path, Shard(number, 3)) as spool:
            made.append(spend(spool, limits))
    assert made == [13, 13, 14]
    for number, of in ((1, 3), (0, 2)):
        with Spool(tmp_path, Shard(number, of)) as spool:
            assert spend(spool, limits) == 0
            assert spool.spent("f" * 64) == Spent(40, 40.0)


def test_a_shard_that_starts_again_has_the_rest_of_its_share(tmp_path: Path) -> None:
    limits = Limits(max_calls=20)
    with Spool(tmp_path, Shard(0, 2)) as spool:
        for _ in range(4):
            assert spool.admit("f" * 64, "the seer", 1.0, limits)  # and was ended before any came back
    with Spool(tmp_path, Shard(0, 2)) as spool:
        assert spend(spool, limits) == 6
    with Spool(tmp_path, Shard(1, 2)) as spool:
        assert spend(spool, limits) == 10


def test_whose_share_is_used_up_is_said(tmp_path: Path) -> None:
    with Spool(tmp_path, Shard(0, 2)) as spool:
        spend(spool, Limits(max_calls=7))
        with pytest.raises(BudgetError, match=r"shard 0/2 has used up its share .* \(3 attempts, cost 3\.0000\)"):
            spool.admit("f" * 64, "the seer", 1.0, Limits(max_calls=7))


def test_another_number_of_shards_shares_what_is_left(tmp_path: Path) -> None:
    with Spool(tmp_path, Shard(0, 2)) as spool:
        assert spend(spool, Limits(max_cost=10.0), cost=1.0) == 5
    made = []
    for number in range(4):
        with Spool(tmp_path, Shard(number, 4)) as spool:
            made.append(spend(spool, Limits(max_cost=10.0), cost=0.5))
    assert made == [1, 1, 1, 1]  # an attempt may cost 1 and 1.25 is each one's


def test_an_attempt_that_was_not_made_costs_nothing(tmp_path: Path) -> None:
    with Spool(tmp_path, ALONE) as spool:
        admission = spool.admit("f" * 64, "the seer", 1.0, Limits(max_calls=1, max_cost=1.0))
        assert admission is not None
        spool.settle(admission, None)
        assert spend(spool, Limits(max_calls=1, max_cost=1.0)) == 1


def test_an_attempt_waits_for_those_under_way(tmp_path: Path) -> None:
    limits = Limits(max_cost=1.5)
    with Spool(tmp_path, ALONE) as spool:
        first = spool.admit("f" * 64, "the seer", 1.0, limits)
        assert first is not None
        assert spool.admit("f" * 64, "the seer", 1.0, limits) is None
        spool.settle(first, 0.25)
        assert spool.admit("f" * 64, "the seer", 1.0, limits) is not None


def test_what_is_merged_counts_once(tmp_path: Path) -> None:
    from driftledger.collect.merge import merge_spool

    limits = Limits(max_calls=20)
    with CallStore(tmp_path / "store") as store:
        for number, expected in ((0, 10), (0, 0), (1, 10), (1, 0), (0, 0)):
            with Spool(tmp_path / "spool", Shard(number, 2), tmp_path / "store") as spool:
                assert spend(spool, limits) == expected
            for folder in spools_in(tmp_path / "spool"):
                merge_spool(store, folder)
        assert store.spent("f" * 64) == Spent(20, 20.0)


def test_a_full_disk_leaves_no_half_line(tmp_path: Path) -> None:
    class Full:
        def __init__(self, file: Any) -> None:
            self.file = file

        def write(self, data: memoryview) -> int:
            if len(data) < 300:
                raise OSError(28, "No space left on device")
            return int(self.file.write(data[:300]))

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

    with Spool(tmp_path, ALONE) as spool:
        spool.put([finished(key("a"))])
        good = spool._file
        spool._file = Full(good)  # type: ignore[assignment]
        with pytest.raises(StoreError, match="make room there and run again"):
            spool.put([finished(key("b"))])
        spool._file = good
        spool.put([finished(key("c"))])
    assert [line.get("call") for line in all_lines(spool)] == [None, key("a").digest, key("c").digest]


def test_a_store_of_another_version_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    with CallStore(tmp_path) as store:
        store.put([finished(key("a"))])
    db = sqlite3.connect(tmp_path / "calls.db")
    db.executescript("DROP TABLE merged; DROP TABLE spent;")
    db.close()
    with Spool(tmp_path / "spool", ALONE, tmp_path) as spool:
        assert spool.get([key("a").digest]).keys() == {key("a").digest}

"""Which scores a version touched, in Git repositories of several commits."""

import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from driftledger.core.canonical import sha256_file
from driftledger.core.errors import ConfigError, LedgerError
from driftledger.ledger.audit.query import as_date, behind, parse_query
from driftledger.ledger.audit.sources import LoggedRun
from driftledger.ledger.audit.summary import summary_of
from driftledger.ledger.audit.touched import Answer, ScoreUse, as_json, as_table, touched
from driftledger.ledger.objects.git import Git
from driftledger.ledger.objects.reach import own_folder
from tests.support.audited import Audited, audited_in, empty, version
from tests.support.ledgers import component, divide_lock, genception_score
from tests.support.terminal import fitting, printed

HOSTILE = "\x1b[2J\x9b31m\r\n\u202eevil [red]markup[/red] <img src=x> =1+1 \ud800"
SMALL = version("brush", settings={"longest_side": 64}, identity={"repository": "org/brush", "commit": "c0ffee" * 6})
LARGE = version("brush", settings={"longest_side": 128}, identity={"files": 2, "sha256": "beef" * 16})


class Told(NamedTuple):
    """What a test has done."""

    audited: Audited
    commits: list[str]


@pytest.fixture
def unfinished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Audited:
    return audited_in(tmp_path, monkeypatch)


@pytest.fixture
def changed(unfinished: Audited) -> Told:
    """A small brush, a large brush, and the small one again; something else is committed in between."""
    audited, commits = unfinished, []
    for number, (brush, value) in enumerate(((SMALL, 0.7), (LARGE, 0.5), (SMALL, 0.7)), 1):
        audited.produce(generator=brush, value=value, paints=number % 2)
        commits.append(audited.commit(f"scores {number}", f"2026-03-0{number}T12:00:00+00:00"))
        (audited.root / "notes.txt").write_text(str(number))
        commits.append(audited.commit(f"notes {number}", f"2026-03-0{number}T13:00:00+00:00"))
    return Told(audited, commits)


def ask(audited: Audited, **asked: Any) -> Answer:
    with audited.sources() as sources:
        return touched(sources, parse_query(**asked))


def values(answer: Answer) -> list[float | None]:
    return [row.facts.value for row in answer.rows]


def test_changed_settings_are_a_new_version_and_the_old_one_is_still_there(changed: Told) -> None:
    small, large = ask(changed.audited, generator="brush").rows
    drawn_by = [
        version.fingerprint for row in (small, large) for version in row.facts.versions if version.name == "brush"
    ]
    assert drawn_by == [SMALL.fingerprint, LARGE.fingerprint]
    assert (small.current, large.current) == (True, False)
    assert (small.first_commit, small.last_commit) == (changed.commits[0], changed.commits[5])
    assert (large.first_commit, large.last_commit) == (changed.commits[2], changed.commits[3])
    assert (large.first_date, large.last_date) == ("2026-03-02T12:00:00Z", "2026-03-02T13:00:00Z")
    assert small.known_from == ["git", "here"]
    assert large.known_from == ["git"]
    assert [len(small.runs), len(large.runs)] == [1, 1]
    assert small.runs != large.runs


def test_a_lock_that_was_divided_has_the_same_runs(changed: Told) -> None:
    before, _ = ask(changed.audited, generator="brush").rows
    divide_lock(changed.audited.root)
    divided = changed.audited.commit("a lock for each pipeline", "2026-03-09T12:00:00+00:00")
    after, large = ask(changed.audited, generator="brush").rows
    assert (after.runs, after.current, after.first_commit) == (before.runs, True, before.first_commit)
    assert (after.last_commit, large.current) == (divided, False)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({"generator": f"brush@{SMALL.fingerprint[:8]}"}, [0.7]),
        ({"generator": f"brush@{LARGE.fingerprint}"}, [0.5]),
        ({"generator": f"@{LARGE.fingerprint[:8].upper()}"}, [0.5]),
        ({"generator": "brush@c0ffeec0"}, [0.7]),
        ({"generator": "@beefbeef"}, [0.5]),
        ({"generator": "brush@org/brush"}, [0.7]),
        ({"model": "seer"}, [0.7, 0.5]),
        ({"encoder": "eye", "generator": "@beef"}, [0.5]),
        ({"dataset": "shapes"}, [0.7, 0.5]),
        ({"generator": "brush", "since": "2026-03-02"}, [0.5]),
        ({"generator": "brush", "since": "2026-03-04"}, []),
        ({"since": "2026-01-01"}, [0.7, 0.5]),
    ],
)
def test_a_version_is_named_in_many_ways(changed: Told, asked: dict[str, str], expected: list[float]) -> None:
    assert values(ask(changed.audited, **asked)) == expected


def test_since_a_revision_leaves_out_what_stood_by_then(changed: Told) -> None:
    for revision in (changed.commits[0], changed.commits[1], "HEAD~4"):
        assert values(ask(changed.audited, model="seer", since=revision)) == [0.5]
    assert values(ask(changed.audited, model="seer", since="HEAD")) == []


def test_a_dataset_is_known_by_its_digest_and_by_its_md5(changed: Told) -> None:
    audited = changed.audited
    with audited.sources() as sources:
        before = sources.outs["data/datasets/shapes"]
    audited.produce(generator=SMALL, samples={"disc": (1, 2, 3), "ring": (200, 30, 0)}, value=0.1)
    audited.commit("one image replaced", "2026-03-09T12:00:00+00:00")
    digest = ask(audited, dataset="shapes").rows[-1].facts.digest
    assert values(ask(audited, dataset=f"shapes@{before}")) == [0.7, 0.5]
    assert values(ask(audited, dataset=f"@{digest[:10]}")) == [0.1]


def test_an_image_leads_to_the_scores_that_used_it(changed: Told, tmp_path: Path) -> None:
    audited = changed.audited
    copied = tmp_path / "copied.png"
    copied.write_bytes(audited.image("disc", 1).read_bytes())
    original = sha256_file(audited.image("disc"))
    assert values(ask(audited, image=copied)) == [0.7]
    assert values(ask(audited, image=original)) == [0.7, 0.5]
    assert values(ask(audited, image=original, generator="@beef")) == [0.5]
    with pytest.raises(LedgerError, match=r"no folder of the ledger has the image sha256 f{64}"):
        ask(audited, image="f" * 64)
    with pytest.raises(LedgerError, match=r"there is no file 'nowhere\.png'"):
        ask(audited, image="nowhere.png")


def test_what_is_not_committed_yet_is_found_too(changed: Told) -> None:
    changed.audited.produce(generator=LARGE, value=0.9)
    row = ask(changed.audited, generator="@beef").rows[-1]
    assert (row.facts.value, row.known_from, row.current, row.first_commit) == (0.9, ["here"], True, None)


def test_branches_and_merges_are_history_too(changed: Told) -> None:
    audited = changed.audited
    audited.git("switch", "--quiet", "--create", "side", changed.commits[0])
    audited.produce(model=version("seer", settings={"detail": "fine"}), value=0.3)
    audited.commit("on a branch", "2026-03-05T12:00:00+00:00")
    audited.git("switch", "--quiet", "main")
    assert values(ask(audited, model="seer")) == [0.7, 0.5, 0.3]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"generator": "brusj"}, r"no score was made with generator brusj; there are: brush@"),
        ({"generator": "brush@1234567"}, rf"brush@1234567; there are: .*brush@{SMALL.fingerprint[:9]}"),
        ({"judge": "seer"}, r"no score was made with judge seer; there are: none"),
        (
            {"generator": "@beef", "dataset": "shapes@0123"},
            r"no score was made with dataset shapes@0123; there are: shapes@",
        ),
        ({"since": "yesterday"}, r"'yesterday' is neither a date"),
        ({"since": "--all"}, r"'--all' is neither a date"),
    ],
)
def test_what_nobody_made_is_one_sentence(changed: Told, asked: dict[str, str], said: str) -> None:
    with pytest.raises(LedgerError, match=said):
        ask(changed.audited, **asked)


@pytest.mark.parametrize(("role", "asked"), [("text_encoder", "encoder"), ("example_model", "model")])
def test_what_a_service_said_it_was_names_a_version_in_every_role(role: str, asked: str) -> None:
    score = genception_score()
    score = score.model_copy(
        update={"components": score.components | {role: version("second")}, "served": {role: {"served-2026-03": 4}}}
    )
    [wanted] = parse_query(**{asked: "second@served-2026"}).wanted
    known = list(behind(summary_of(score), {}))
    assert any(map(wanted.means, known))
    assert not any(map(wanted._replace(name=score.components[asked].name).means, known))


@pytest.mark.parametrize("asked", [{}, {"model": "@"}, {"generator": "  "}])
def test_a_question_that_asks_nothing_is_refused(asked: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"names nothing|nothing is asked"):
        parse_query(**asked)


def test_a_second_question_reads_no_score_and_no_lock_again(changed: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, real, read = {"generator": "brush", "dataset": "shapes@"}, Git.read, list[bytes]()

    def noted(git: Git, name: str | None) -> bytes | None:
        data = real(git, name)
        read.append(data or b"")
        return data

    monkeypatch.setattr(Git, "read", noted)
    first = ask(changed.audited, **asked)
    assert any(b'"gc_at_2"' in data for data in read)
    read.clear()
    assert ask(changed.audited, **asked) == first
    assert not any(b'"gc_at_2"' in data or b"stages:" in data for data in read)


@pytest.mark.parametrize("damage", [b"", b"not a database at all", b"SQLite format 3\0" + b"x" * 4096])
def test_the_cache_is_disposable(changed: Told, damage: bytes) -> None:
    first = ask(changed.audited, generator="brush")
    cache = own_folder(changed.audited.root) / "audit.db"
    assert cache.is_file()
    cache.write_bytes(damage)
    assert ask(changed.audited, generator="brush") == first
    cache.unlink()
    cache.mkdir()
    assert ask(changed.audited, generator="brush") == first


def test_without_git_only_the_working_tree_answers(changed: Told, tmp_path: Path) -> None:
    (changed.audited.root / ".git").rename(tmp_path / "away")
    answer = ask(changed.audited, generator="brush")
    assert [(row.known_from, row.first_date) for row in answer.rows] == [(["here"], None)]
    assert "Git was not asked: there is no Git repository here" in answer.said


class Logged:
    """What MLflow would say: the runs of another checkout, one of them in a format of the past."""

    def __init__(self, evidence: dict[str, Any], **changes: Any) -> None:
        self._run = LoggedRun(
            run_id="1" * 32,
            name="seer · brush · eye",
            fingerprint=evidence.get("fingerprint", "e" * 64),
            current=True,
            started="2026-02-01T00:00:00Z",
            generator="brush",
            address="sqlite:///mlflow.db",
            evidence=lambda: evidence,
            files=lambda: ["evidence.json", "packages.txt"],
        )._replace(**changes)

    def find(self, run: str) -> LoggedRun | None:
        return self._run if run in (self._run.run_id, self._run.fingerprint) else None

    def every(self) -> Iterator[LoggedRun]:
        yield self._run


def evidence_of(audited: Audited) -> dict[str, Any]:
    with audited.sources() as sources:
        found: dict[str, Any] = sources.current[0].model_dump(mode="json", by_alias=True)
    return found


def test_a_score_that_git_and_mlflow_know_is_one_row(changed: Told) -> None:
    logged = Logged(evidence_of(changed.audited))
    with changed.audited.sources(logged) as sources:
        answer = touched(sources, parse_query(generator="brush"))
    assert [row.known_from for row in answer.rows] == [["git", "here", "mlflow"], ["git"]]
    assert answer.rows[0].first_date == "2026-03-01T12:00:00Z"
    assert answer.said[-1] == "from MLflow: every finished run"


def test_mlflow_alone_answers_where_there_is_no_repository(changed: Told, tmp_path: Path) -> None:
    sources = empty(tmp_path / "nothing")
    sources._mlflow = Logged(evidence_of(changed.audited))
    sources.why_not = None
    with sources:
        answer = touched(sources, parse_query(generator=f"brush@{SMALL.fingerprint[:8]}"))
    [row] = answer.rows
    assert (row.known_from, row.current, row.first_date) == (["mlflow"], True, "2026-02-01T00:00:00Z")
    assert "there is no dvc.lock here: which scores are current is what MLflow says" in answer.said


def test_mlflow_that_cannot_be_asked_is_said_and_no_obstacle(changed: Told) -> None:
    class Dead(Logged):
        def every(self) -> Iterator[LoggedRun]:
            raise LedgerError("the store is away")

    with changed.audited.sources(Dead({})) as sources:
        answer = touched(sources, parse_query(generator="brush"))
    assert values(answer) == [0.7, 0.5]
    assert answer.said[-1] == "MLflow was not asked: the store is away"


def test_hostile_text_is_inert_in_the_table_and_in_json(unfinished: Audited) -> None:
    hostile = HOSTILE.replace("\ud800", "")
    unfinished.produce(generator=version(hostile, identity={"served": hostile}), said=hostile)
    unfinished.commit("hostile")
    answer = ask(unfinished, model="seer")
    plain = Answer([ScoreUse.model_validate(row.model_dump()) for row in answer.rows], [HOSTILE])
    for text in (fitting(as_table(plain)), as_json(plain)):
        assert {letter for letter in text if unicodedata.category(letter) in ("Cc", "Zl", "Zp")} <= {"\n"}
        assert not {"\u202e", "\x9b", "\x1b"} & set(text)
    assert "[red]markup[/red]" in printed(as_table(answer))
    assert len(printed(as_table(answer)).splitlines()) == 6 + len(answer.said)
    [row] = json.loads(as_json(answer))["scores"]
    assert hostile in [version["name"] for version in row["versions"]]


def test_scores_stand_below_the_versions_that_they_came_and_went_with(changed: Told) -> None:
    first, second, third = (commit[:8] for commit in changed.commits[::2])
    text = fitting(as_table(ask(changed.audited, generator="brush")))
    lines = text.splitlines()
    old, new = (next(n for n, line in enumerate(lines) if line.startswith(f"from {name}")) for name in (first, second))
    assert (lines[old][-23:], third in lines[old]) == (" stands now (git, here)", False)
    assert lines[old + 1].startswith(f"made with brush@{SMALL.fingerprint[:8]}, eye@")
    assert lines[new + 1].startswith(f"made with brush@{LARGE.fingerprint[:8]}, eye@")
    seer = f"seer@{component('seer').fingerprint[:8]}"
    assert lines[old + 3].split()[:4] == ["genception/shapes", seer, "GC@2", "0.700"]
    assert lines[new + 3].split()[:4] == ["genception/shapes", seer, "GC@2", "0.500"]


@pytest.mark.parametrize("text", ["2026-3-1", "v1.2", "", "2026-13-01", "HEAD"])
def test_what_is_no_date_is_no_date(text: str) -> None:
    assert as_date(text) is None

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from PIL import Image

from driftledger.benchmarks.score import Score
from driftledger.core.errors import LedgerError
from driftledger.core.files import write_jsonl
from driftledger.data.records import SampleEntry
from driftledger.ledger.diff.diff import as_text, diff
from tests.conftest import REPRO, Checkout
from tests.support.description_ledgers import add_trac, trac_score
from tests.support.git import commit, git
from tests.support.ledgers import (
    BRUSH,
    SCORE_FILE,
    component,
    divide_lock,
    genception_score,
    lock_of,
    md5_of,
    varied,
    write_collected,
    write_ledger,
    write_lock,
    write_scored,
)
from tests.support.question_ledgers import add_questions, question_score
from tests.support.terminal import fitting, printed

PARAMS: dict[str, Any] = {
    "run": {"models": ["seer"], "datasets": ["shapes"], "judge": "rubric", "seed": 7},
    "genception": {"iterations": 2, "describe_prompt": "Describe it."},
    "generators": {"brush": {"provider": "painter", "longest_side": 64}},
}
GRADES = "data/grades/exam/seer"


class History:
    """A project in a Git repository, with a DVC cache, of which every state is a hand-written ledger."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / ".dvc").mkdir(parents=True)
        (root / ".dvc" / "config").write_text("", encoding="utf-8")
        (root / ".gitignore").write_text("/data\n/.dvc/*\n!/.dvc/config\n/.driftledger\n", encoding="utf-8")
        self.git("init", "--quiet")
        self.state()

    def git(self, *arguments: str) -> str:
        return git(self.root, *arguments)

    def commit(self, subject: str) -> str:
        return commit(self.root, subject)

    def state(self, params: dict[str, Any] = PARAMS, of: Score | None = None, **score: Any) -> None:
        """Write settings, data, scores and lock as they are after a run."""
        (self.root / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
        write_ledger(self.root, of or genception_score(**score))
        add_questions(self.root)

    def keep(self, stage: str, path: str) -> None:
        """Cache a folder and let the lock's stage have it, as DVC does when a stage has run."""
        folder, rows = self.root / path, []
        for file in sorted(each for each in folder.rglob("*") if each.is_file()):
            rows.append({"md5": self._cached(file.read_bytes()), "relpath": file.relative_to(folder).as_posix()})
        md5 = self._cached(json.dumps(rows, sort_keys=True).encode(), ".dir")
        lock = yaml.safe_load((self.root / "dvc.lock").read_text(encoding="utf-8"))
        [out] = lock["stages"][stage]["outs"]
        out["md5"] = md5
        write_lock(self.root, lock)

    def _cached(self, data: bytes, ending: str = "") -> str:
        md5 = md5_of(data) + ending
        path = self.root / ".dvc" / "cache" / "files" / "md5" / md5[:2] / md5[2:]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return md5

    def samples(self, **images: str) -> None:
        """Let the dataset hold these samples, by id, with images of these hashes."""
        rows = [
            SampleEntry(id=name, file=f"images/{name}.png", sha256=sha256, width=4, height=4, category="round")
            for name, sha256 in images.items()
        ]
        write_jsonl(self.root / "data/datasets/shapes/samples.jsonl", rows)
        self.keep("dataset@shapes", "data/datasets/shapes")

    def grades(self, *choices: int | None, parser: str = "1", how: str = "letter") -> None:
        """Let the model's answers to q0, q1, … be read as these options."""
        rows = [
            {
                "question": f"q{number}",
                "variant": 0,
                "outcome": "unparsed" if choice is None else "ok",
                "choice": choice,
                "how": how,
            }
            for number, choice in enumerate(choices)
        ]
        write_collected(self.root, varied(question_score(), parser=parser), "grade", rows)
        self.keep("grade@exam-seer", GRADES)


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "project")


def changed(**changes: Any) -> dict[str, Any]:
    """``params.yaml`` with other sections."""
    return PARAMS | changes


def test_nothing_changed(history: History) -> None:
    history.grades(0)
    first = history.commit("one")
    found = diff(history.root, "HEAD")
    assert found.empty
    assert (found.old, found.new) == (f"HEAD ({first[:12]})", "the workspace")
    assert printed(as_text(found)).endswith("\nnothing changed that scores depend on")
    assert not found.dirty


def test_scores_are_told_with_their_headlines(history: History) -> None:
    history.commit("one")
    history.state(metrics={"gc_at_2": 0.8, "similarity_at_2": 0.6, "frechet_eye_at_2": 9.0})
    history.commit("two")
    [score] = diff(history.root, "HEAD~1", "HEAD").scores
    assert (score.path, score.became) == (SCORE_FILE, "changed")
    assert [(each.key, each.old, each.new) for each in score.headline] == [("gc_at_2", 0.7, 0.8)]
    assert {each.key: each.new for each in score.metrics}["gc_at_1"] is None  # no longer there
    lines = fitting(as_text(diff(history.root, "HEAD~1", "HEAD"))).splitlines()
    row = "genception/shapes/seer/brush/eye changed GC@2 0.700 0.800 +0.100"
    assert row in [" ".join(line.split()) for line in lines]


def test_added_and_removed_scores(history: History) -> None:
    history.commit("one")
    add_trac(history.root, trac_score("short", "reader"))
    history.commit("two")
    there, back = diff(history.root, "HEAD~1", "HEAD"), diff(history.root, "HEAD", "HEAD~1")
    assert [(each.benchmark, each.on, each.became) for each in there.scores] == [("trac", "digits", "added")]
    assert [each.became for each in back.scores] == ["removed"]
    assert [(each.key, each.old, each.new) for each in there.scores[0].headline] == [
        ("class_mean", None, 58.0),
        ("top1", None, 64.0),
    ]
    assert [(each.kind, each.name, each.old) for each in there.data] == [("dataset", "digits", None)]
    assert [each.subject for each in there.commits] == ["two"]
    assert there.left == back.commits == []
    assert [each.subject for each in back.left] == ["two"]


def test_a_score_file_that_no_lock_has_is_no_score(history: History) -> None:
    history.commit("one")
    write_scored(history.root, genception_score(generator="pen"), [])
    history.commit("two")
    assert diff(history.root, "HEAD~1", "HEAD").scores == []


def test_components_are_told_by_what_made_them_others(history: History) -> None:
    history.commit("one")
    brush = component("brush", settings={"batch_size": 16, "longest_side": 128}, identity={"pillow": "13"})
    brush = brush.model_copy(update={"fingerprint": "9" * 64})
    history.state(of=varied(genception_score(), generator=brush, model=component("oracle")))
    found = diff(history.root, "HEAD")
    found_by = {(each.section, each.name): each for each in found.components}
    painted = found_by["generators", "brush"]
    assert (painted.old, painted.new) == (BRUSH.fingerprint, "9" * 64)
    assert [str(change) for change in painted.changes] == [
        'identity.pillow: nothing → "13"',
        "settings.longest_side: 64 → 128",
    ]
    assert (found_by["models", "oracle"].old, found_by["models", "oracle"].changes) == (None, [])
    assert ("models", "seer") not in found_by  # the exam's score depends on it still
    assert "    settings.longest_side: 64 → 128" in printed(as_text(found))


def test_judges_and_narrators_are_components_too(history: History) -> None:
    history.commit("one")
    add_questions(history.root, varied(question_score(), judge=component("rubric")))
    add_trac(history.root, trac_score("shown", "reader"))
    names = {(each.section, each.name) for each in diff(history.root, "HEAD").components}
    assert names == {("models", "rubric"), ("models", "narrator"), ("encoders", "reader")}


def test_selection_and_protocols_come_from_the_settings(history: History) -> None:
    history.commit("one")
    run = {"models": ["oracle", "seer"], "datasets": [], "judge": "gpt", "seed": 7}
    protocol = {"iterations": 3, "describe_prompt": "Describe it."}
    history.state(changed(run=run, genception=protocol, generators={"brush": {"provider": "painter"}}))
    found = diff(history.root, "HEAD")
    assert {change.key: (change.old, change.new) for change in found.selection} == {
        "run.models": (None, ["oracle"]),
        "run.datasets": (["shapes"], None),
        "run.judge": ("rubric", "gpt"),
    }
    assert [str(change) for change in found.protocols] == ["genception.iterations: 2 → 3"]
    assert [str(change) for change in found.catalogues] == ["generators.brush.longest_side: 64 → nothing"]
    text = printed(as_text(found))
    assert "  run.models: + oracle" in text
    assert "  run.datasets: − shapes" in text
    assert '  run.judge: "rubric" → "gpt"' in text
    assert found.dirty


def test_another_order_of_a_selection_is_a_change(history: History) -> None:
    """TRAC's headline is the first."""
    history.state(changed(run={"descriptions": ["short", "long"]}))
    history.commit("one")
    history.state(changed(run={"descriptions": ["long", "short"]}))
    assert '  run.descriptions: ["short","long"] → ["long","short"]' in printed(as_text(diff(history.root, "HEAD")))


def test_samples_that_came_went_or_were_replaced_under_their_name(history: History) -> None:
    history.samples(disc="a" * 64, ring="b" * 64, cone="c" * 64)
    history.commit("one")
    history.samples(disc="a" * 64, ring="0" * 64, star="d" * 64)
    history.commit("two")
    shutil.rmtree(history.root / "data")  # the cache has what both held
    found = diff(history.root, "HEAD~1", "HEAD")
    [data] = found.data
    assert (data.kind, data.name, data.untold) == ("dataset", "shapes", None)
    assert (data.added, data.removed, data.replaced, data.altered) == (["star"], ["cone"], ["ring"], [])
    assert "    1 replaced: ring" in printed(as_text(found))


def test_a_category_that_changed_is_no_other_image(history: History) -> None:
    history.samples(disc="a" * 64, ring="b" * 64)
    history.commit("one")
    rows = history.root / "data/datasets/shapes/samples.jsonl"
    rows.write_text(rows.read_text(encoding="utf-8").replace("round", "flat", 1), encoding="utf-8")
    history.keep("dataset@shapes", "data/datasets/shapes")
    [data] = diff(history.root, "HEAD").data
    assert (data.replaced, data.altered) == ([], ["disc"])


def test_samples_that_are_nowhere_any_more_leave_the_digest(history: History) -> None:
    history.samples(disc="a" * 64)
    history.commit("one")
    shutil.rmtree(history.root / ".dvc" / "cache")
    history.samples(disc="b" * 64)
    [data] = diff(history.root, "HEAD").data
    assert data.old != data.new
    assert data.replaced == []
    assert data.untold is not None
    assert "known neither to DVC's cache nor here" in data.untold
    assert "which entries is not known" in printed(as_text(diff(history.root, "HEAD")))


def test_answers_that_are_read_otherwise(history: History) -> None:
    history.grades(0, 1, None)
    history.commit("one")
    history.grades(0, 2, 3, parser="2")
    history.commit("two")
    found = diff(history.root, "HEAD~1", "HEAD")
    [readings] = found.readings
    assert (readings.folder, list(map(str, readings.protocol)), readings.read) == (GRADES, ['parser: "1" → "2"'], 3)
    assert [(each.record, each.before, each.now) for each in readings.moved] == [
        ("question q1, variant 0", "ok: 1 (letter)", "ok: 2 (letter)"),
        ("question q2, variant 0", "unparsed: nothing (letter)", "ok: 3 (letter)"),
    ]
    assert '  grades/exam/seer: 2 of 3 moved, parser: "1" → "2"' in printed(as_text(found))
    assert not found.empty


def test_answers_in_the_workspace_are_those_that_lie_there(history: History) -> None:
    history.grades(0, 1)
    history.commit("one")
    assert diff(history.root, "HEAD").readings[0].moved == []
    grades = history.root / GRADES / "records.jsonl"
    grades.write_text(grades.read_text(encoding="utf-8").replace('"choice":1', '"choice":4'), encoding="utf-8")
    assert [each.now for each in diff(history.root, "HEAD").readings[0].moved] == ["ok: 4 (letter)"]


def test_answers_that_cannot_be_had_are_told_as_such(history: History) -> None:
    history.commit("one")  # whose grades nobody has cached
    history.grades(0, 1)
    found = diff(history.root, "HEAD")
    assert found.readings == []
    assert found.untold == [f"{GRADES} is not there at 'HEAD'; run 'dvc fetch', or name another revision"]


@pytest.mark.parametrize("name", ["nowhere", "--all", "HEAD:params.yaml", "", "-", "HEAD\nHEAD"])
def test_an_unknown_revision_is_one_sentence(history: History, name: str) -> None:
    history.commit("one")
    for names in ((name,), ("HEAD", name)):
        with pytest.raises(LedgerError, match="cannot be read; name a commit, tag or branch of this repository"):
            diff(history.root, *names)


def test_no_repository_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="the revision 'HEAD' cannot be read"):
        diff(tmp_path, "HEAD")


@pytest.mark.parametrize(
    ("path", "content", "message"),
    [
        ("params.yaml", b"run: [", "params.yaml of HEAD is not YAML"),
        ("params.yaml", b"\xff", "params.yaml of HEAD is not YAML"),
        ("params.yaml", b"[]", "nothing"),
        ("params.yaml", b"- run", "params.yaml of HEAD holds no mapping"),
        ("dvc.lock", b"stages: 3", "dvc.lock of HEAD is not a dvc.lock"),
        ("pipelines/trac/dvc.lock", b"stages: 3", "pipelines/trac/dvc.lock of HEAD is not a dvc.lock"),
    ],
)
def test_a_damaged_file_of_a_revision_is_one_sentence(
    history: History, path: str, content: bytes, message: str
) -> None:
    file = history.root / path
    whole = file.read_bytes() if file.is_file() else None
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    history.commit("damaged")
    if whole is None:
        file.unlink()
    else:
        file.write_bytes(whole)
    if message == "nothing":
        assert len(diff(history.root, "HEAD").selection) == len(PARAMS["run"])
        return
    with pytest.raises(LedgerError, match=message):
        diff(history.root, "HEAD")


def test_a_score_of_another_schema_is_told_and_the_others_compared(history: History) -> None:
    target = history.root / "reports/scores/mm_sap/exam/seer/score.json"
    target.write_text(json.dumps(json.loads(target.read_bytes()) | {"schema": 9}), encoding="utf-8")
    history.commit("from the future")
    history.state(metrics={"gc_at_2": 0.8})
    found = diff(history.root, "HEAD")
    untold = found.untold[0]
    assert untold.startswith("reports/scores/mm_sap/exam/seer/score.json of HEAD is not a Score of schema 2: schema:")
    assert ("genception", "changed") in [(each.benchmark, each.became) for each in found.scores]


def test_a_revision_before_the_first_run_has_no_scores(history: History) -> None:
    whole = (history.root / "dvc.lock").read_bytes()
    (history.root / "dvc.lock").unlink()
    history.commit("nothing has run")
    (history.root / "dvc.lock").write_bytes(whole)
    found = diff(history.root, "HEAD")
    assert {each.became for each in found.scores} == {"added"}
    assert len(found.scores) == 2


def test_commits_of_both_sides(history: History) -> None:
    history.commit("base")
    history.git("branch", "side")
    history.commit("on main")
    history.git("checkout", "--quiet", "side")
    history.commit("on the side")
    main = history.git("rev-parse", "main") if "main" in history.git("branch") else history.git("rev-parse", "master")
    found = diff(history.root, main, "side")
    assert ([each.subject for each in found.commits], [each.subject for each in found.left]) == (
        ["on the side"],
        ["on main"],
    )


def test_nothing_is_checked_out_or_written(history: History) -> None:
    history.samples(disc="a" * 64)
    history.commit("one")
    history.samples(disc="b" * 64)
    before = {
        path: path.read_bytes() for path in history.root.rglob("*") if path.is_file() and ".git" not in path.parts
    }
    diff(history.root, "HEAD")
    after = {path: path.read_bytes() for path in history.root.rglob("*") if path.is_file() and ".git" not in path.parts}
    assert {p: d for p, d in after.items() if ".dvc" not in p.parts} == {
        p: d for p, d in before.items() if ".dvc" not in p.parts
    }
    assert history.git("rev-parse", "--abbrev-ref", "HEAD") in ("main", "master")


def test_a_project_in_a_folder_of_a_repository(tmp_path: Path) -> None:
    history = History(tmp_path / "outer" / "project")
    shutil.rmtree(history.root / ".git")
    git(tmp_path / "outer", "init", "--quiet")
    history.commit("one")
    history.state(metrics={"gc_at_2": 0.8})
    assert [each.became for each in diff(history.root, "HEAD").scores] == ["changed"]


def test_json_is_all_of_it(history: History) -> None:
    history.grades(0, 1)
    history.samples(disc="a" * 64)
    history.commit("one")
    history.state(changed(run={"models": []}), metrics={"gc_at_2": 0.8})
    history.grades(0, 2)
    history.samples(disc="b" * 64)
    found = diff(history.root, "HEAD").model_dump(mode="json")
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["readings"][0]["moved"][0]["now"] == "ok: 2 (letter)"
    assert found["data"][0]["replaced"] == ["disc"]


def test_untrusted_text_is_inert_in_the_terminal(history: History) -> None:
    evil = "\x1b[2J[red]\nscores:\u202e"
    history.samples(**{"disc": "a" * 64})
    history.grades(0)
    history.commit("one")
    history.state(changed(genception={"describe_prompt": evil}))
    history.samples(evil="a" * 64)
    samples = history.root / "data/datasets/shapes/samples.jsonl"
    samples.write_text(samples.read_text().replace('"evil"', json.dumps(evil)))  # which none of ours writes
    history.grades(1, how=evil)
    history.commit("two \x1b[2J")
    text = fitting(as_text(diff(history.root, "HEAD~1", "HEAD")))
    assert "\\x1b" in text
    assert "\u202e" not in text
    assert text.count("\nscores:") == 0  # no score changed, and nobody else says so at the start of a line


def test_a_lock_that_was_divided_is_no_difference(history: History) -> None:
    history.commit("one lock")
    history.state(metrics={"gc_at_2": 0.8})
    before = diff(history.root, "HEAD")
    divide_lock(history.root)
    assert diff(history.root, "HEAD") == before
    assert len(before.scores) == 1


def test_lock_of_is_what_the_ledger_writes(history: History) -> None:
    """The cases above change the one file that a hand-written lock is."""
    stages = lock_of(history.root, genception_score())["stages"]
    assert set(stages) < set(yaml.safe_load((history.root / "dvc.lock").read_text(encoding="utf-8"))["stages"])


@pytest.mark.slow
def test_a_replaced_image_in_a_real_project(evaluated: Checkout) -> None:
    evaluated.commit("evaluated")
    image = evaluated.root / "my_images" / "round" / "1.png"
    Image.new("RGB", (96, 72), (9, 200, 90)).save(image)
    evaluated.run(*REPRO, "pipelines/genception/dvc.yaml")
    found = diff(evaluated.root, "HEAD")
    [data] = found.data
    assert (data.name, data.added, data.removed, len(data.replaced)) == ("my_images", [], [], 1)
    assert {each.became for each in found.scores} == {"changed"}
    assert (found.components, found.selection, found.protocols) == ([], [], [])
    evaluated.commit("replaced")
    assert diff(evaluated.root, "HEAD~1", "HEAD").data == found.data

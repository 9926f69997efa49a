"""``driftledger collect``: all calls of the selection in one process, or those of some models."""

import hashlib
import shutil
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from types import SimpleNamespace

import numpy as np
import pytest

from driftledger.benchmarks.base.records import results_of, stream_records
from driftledger.benchmarks.mm_vet.spec import CALIBRATION
from driftledger.benchmarks.registry import benchmark_names
from driftledger.collect.features import FeatureStore
from driftledger.collect.store import CallStore
from driftledger.commands.collect import collect, tasks_of
from driftledger.commands.gc import remove_unused
from driftledger.commands.plan import plan, require_readiness
from driftledger.commands.shards import collect_shard, merge
from driftledger.core.errors import ConfigError, ServiceError, StoreError
from driftledger.core.files import read_json
from driftledger.core.made import INPUTS, Made
from driftledger.core.types import Outcome, Result
from driftledger.project.project import Project
from driftledger_demo.generators.painter import Painter
from driftledger_demo.models.controls import Blind
from driftledger_demo.models.regions.model import Regions
from driftledger_demo.models.rubric import Rubric
from tests.sentence import run
from tests.support.cases import cases, each_case
from tests.support.evaluation import build
from tests.support.git import git
from tests.support.locked import holding
from tests.support.small import (
    IMAGES,
    contents,
    edited,
    folders,
    make_small,
)
from tests.support.stores import comparable, found, stored_rows

NOTHING = {f"run.{name}": [] for name in ("question_sets", *benchmark_names())}
"""Under ``run``, in which a test selects what it needs."""
CALLED = [
    (Painter, "generate"),
    (Blind, "respond"),
    (Regions, "respond"),
    (Rubric, "respond"),
]
"""All that a project asks, and by which method."""


MODELS = ["regions_medium", "blind"]


def asks_nobody(*_):
    raise AssertionError("asked once more")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A small project whose data are built, to be copied."""
    root = tmp_path_factory.mktemp("built")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        build(make_small(root))
    return root


@pytest.fixture(scope="module")
def all_made(built, tmp_path_factory):
    """The same with all records, to be copied."""
    root = shutil.copytree(built, tmp_path_factory.mktemp("made") / "project")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        collect(Project(root, own_code=True))
    return root


@pytest.fixture
def project(built, tmp_path, monkeypatch):
    monkeypatch.chdir(shutil.copytree(built, tmp_path / "project"))
    return Project(Path.cwd(), own_code=True)


@pytest.fixture
def collected(all_made, tmp_path, monkeypatch):
    monkeypatch.chdir(shutil.copytree(all_made, tmp_path / "collected"))
    return Project(Path.cwd(), own_code=True)


def to_make(project):
    calls = plan(Project(project.root)).calls
    return {name: calls[name].to_make for name in calls}


def test_what_is_planned_is_made_and_then_nothing_is_left(project):
    before = to_make(project)
    calibration = "judge rubric, calibration"
    components = {"models.regions_medium", "models.blind", "generators.painter"}
    assert before.keys() == {*components, "judge rubric", calibration}
    assert before[calibration] == 2 * len(CALIBRATION)
    assert min(before.values()) > 0
    collect(project, ["blind"])
    assert to_make(project)["models.blind"] == 0
    assert to_make(project)["models.regions_medium"] == before["models.regions_medium"]
    records = [name for name in folders(project.root) if "records/" in name]
    assert {name.split("/")[2] for name in records} == {"blind"}
    assert len(records) == 7
    collect(project, MODELS)
    assert set(to_make(project).values()) == {0}


def test_the_tasks_of_a_model_begin_one_after_the_other(project):
    """They are side by side, and the stage is named once."""
    meeting, met = Barrier(2), []

    def begins(stage):
        with suppress(BrokenBarrierError):
            meeting.wait(0.5)
            met.append(stage)

    assert len(tasks_of(project, ["blind"])) > 1
    collect(project, ["blind"], begins)
    assert met == []


@pytest.fixture
def drawings(project, monkeypatch):
    """GenCeption alone, by a model that opens each picture once."""

    def respond(self, conversations):
        media = [conversation.last_medium for conversation in conversations]
        described.extend(medium.sha256 for medium in media)
        return [Result(f"{medium.sha256} {medium.open().size}") for medium in media]

    described = []
    monkeypatch.setattr(Blind, "respond", respond)
    over = {"run.datasets": ["my_images"], "run.genception": ["my_images"]}
    alone = {"run.models": ["blind"], "genception.iterations": 5}
    project = edited(project.root, NOTHING | over | alone)
    build(project)
    return project, described


def test_a_drawing_is_hashed_once_and_only_the_model_reads_it(drawings, monkeypatch):
    project, described = drawings
    hashed, read = Counter(), Counter()
    sha256, open_file = hashlib.sha256, Path.open

    def noting_hash(data=b"", **options):
        digest = sha256(data, **options)
        hashed[digest.hexdigest()] += 1
        return digest

    def noting_read(path, mode="r", *arguments, **options):
        if mode == "rb":
            read[path.stat().st_ino] += 1
        return open_file(path, mode, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(hashlib, "sha256", noting_hash)
        patch.setattr(Path, "open", noting_read)
        collect(project)
    [task] = tasks_of(project)
    results = results_of(stream_records(task.folder))
    drawn = Counter(result.sha256 for result in results if result.sha256 is not None)
    files = [*task.folder.rglob("*.png")]
    assert len(files) > IMAGES
    for file in files:
        digest = sha256(file.read_bytes()).hexdigest()
        assert hashed[digest] == drawn[digest] > 0
        assert read[file.stat().st_ino] == described.count(digest) <= 1
    assert drawn.keys() & {*described}


def test_records_that_were_edited_pay_nothing_back(drawings):
    """The store is gone, and a text in the records was changed: every call is made again."""
    project, described = drawings
    collect(project)
    before = contents(project.root)
    calls = Counter(described)
    shutil.rmtree(project.state)
    [task] = tasks_of(project)
    records = task.folder / "records.jsonl"
    records.write_text(records.read_text().replace('"text":"', '"text":"Forged. '))
    described.clear()
    collect(project)
    assert Counter(described) == calls
    assert contents(project.root) == before


def test_a_full_disk_pays_for_no_recorded_call_again(drawings, monkeypatch):
    project, described = drawings
    collect(project)
    shutil.rmtree(project.state)
    described.clear()

    def refuse(_, calls):
        assert list(calls)
        raise StoreError("the disk is full")

    monkeypatch.setattr(CallStore, "restore", refuse)
    with pytest.raises(StoreError, match="disk is full"):
        collect(project)
    assert described == []


def test_a_judge_that_is_evaluated_is_planned_in_one_line(project):
    project = edited(project.root, {"run.judge": "blind"})
    names = [name for name in to_make(project) if "blind" in name]
    assert names == ["models.blind", "judge blind, calibration"]


def test_failed_calls_are_planned_and_made_by_the_next_run(
    project, monkeypatch, capsys
):
    respond, away, asked = Blind.respond, True, []

    def answer(self, conversations):
        """Answer but three questions of MM-SAP, while the service is away."""
        asked.extend(conversations)
        questions = [*dict.fromkeys(each.subject for each in asked if each.options)]
        lost = Result("", Outcome.FAILED, error="503")
        replies = zip(conversations, respond(self, conversations), strict=True)
        return [
            lost if away and each.subject in questions[:3] and each.options else reply
            for each, reply in replies
        ]

    monkeypatch.setattr(Blind, "respond", answer)
    folder = project.root / "data/records/blind/mm_sap/scenes_mm_sap"
    for failed, calls in ((3, 120), (3, 3), (0, 3), (0, 0)):
        away = failed > 0
        asked.clear()
        collect(project, ["blind"])
        said = f"scenes_mm_sap · blind: {failed} of 45 records were ended by a failed call ("
        assert (said in capsys.readouterr().err) == bool(failed)
        assert (len(asked), to_make(project)["models.blind"]) == (calls, failed)
        assert read_json(folder / INPUTS, Made).failed == failed


@pytest.mark.parametrize(
    ("component", "method", "sentence", "complete"),
    [
        (Blind, "respond", "blind: the service is away", {"regions_medium"}),
        (Painter, "generate", "regions_medium, blind: the service is away", set()),
    ],
)
def test_a_model_that_cannot_be_asked_takes_no_other_with_it(
    component, method, sentence, complete, project, monkeypatch
):
    def away(*_):
        raise ServiceError("the service is away")

    with monkeypatch.context() as patched:
        patched.setattr(component, method, away)
        with pytest.raises(ServiceError, match=f"^{sentence}$"):
            collect(project)
    for model in MODELS:
        is_made = all(task.made() for task in tasks_of(project, [model]))
        assert is_made == (model in complete)
    collect(project)
    assert all(task.is_made() for task in tasks_of(project))


def test_a_plan_counts_what_examples_depend_on_at_most(project):
    """The examples that blind describes for both models are its own descriptions without
    examples."""

    examples = {"choose": "random", "shots": [1, 2], "by": "blind"}
    way = {"prompt": "What is it?", "demonstrations": examples}
    over = {"run.datasets": ["digits"], "run.trac": ["digits"]}
    shown = {"run.descriptions": ["shown"], "descriptions.shown": way}
    project = edited(project.root, NOTHING | over | shown)
    build(project)
    assert to_make(project) == {
        "models.regions_medium": 30 * 3,
        "models.blind": 30 * 3,
        "generators.painter": 0,
    }


def test_each_component_is_loaded_once_and_let_go_of_when_no_later_folder_needs_it(
    project, monkeypatch
):
    """For all six benchmarks of two models, with a generator and a judge: loading is what follows a
    release."""
    seen, loaded = [], set()
    for component, method in CALLED:
        original = getattr(component, method)

        def work(self, *given, ask=original):
            if self.provider not in loaded:
                seen.append(f"{self.provider} loaded")
                loaded.add(self.provider)
            return ask(self, *given)

        def release(self):
            if self.provider in loaded:
                seen.append(f"{self.provider} released")
                loaded.remove(self.provider)

        monkeypatch.setattr(component, method, work)
        monkeypatch.setattr(component, "release", release, raising=False)
    collect(project, MODELS)
    names = {component.provider for component, _ in CALLED}
    assert len(seen) == 2 * len(names)
    at = {each: seen.index(each) for each in seen}
    assert all(at[f"{name} loaded"] < at[f"{name} released"] for name in names)
    assert at["regions released"] < at["blind loaded"]
    assert at["blind loaded"] < min(at["painter released"], at["rubric released"])


def test_what_records_hold_is_not_asked_again(collected, monkeypatch):
    """The store is gone, and so is what says what the records were made from."""
    files = [*(collected.root / "data/records").rglob("records.jsonl")]
    written = [file.read_text() for file in files]
    assert written
    for file in files:
        (file.parent / INPUTS).unlink()
    shutil.rmtree(collected.state)
    for component, method in CALLED:
        monkeypatch.setattr(component, method, asks_nobody)
    collect(Project(collected.root))
    assert [file.read_text() for file in files] == written


@each_case(cases(__file__, "collect"))
def test_a_mistake_is_a_sentence(case, project, sentence):
    sentence(case, project.root)


def test_a_fresh_clone_builds_what_calls_need(project, monkeypatch):
    shutil.rmtree(project.root / "data")
    assert run(monkeypatch, "collect", "--model", "blind") == 0
    names = {path.name for path in (project.root / "data").iterdir()}
    assert names == {"datasets", "questions", "records"}


def test_what_must_come_first_is_named(project):
    resolved = (project.root / "data/resolved.json").rename("kept.json")
    with pytest.raises(StoreError, match="run 'dvc repro resolve'"):
        collect(project, ["blind"])
    resolved.rename("data/resolved.json")
    shutil.rmtree(project.root / "data/questions/scenes_mme")
    missing = "data/questions/scenes_mme is missing; run 'dvc repro data' or 'dvc pull'"
    with pytest.raises(StoreError, match=missing):
        collect(project, ["blind"])


def test_what_is_missing_is_said_before_the_first_call_and_only_if_it_is_needed(
    project, monkeypatch
):
    def readiness():
        preview = plan(Project(project.root, own_code=True))
        return preview.missing, preview.notes

    assert readiness() == ([], [])
    refusal = r"^nothing was asked yet: models\.blind: no key; correct that"
    with monkeypatch.context() as patched:
        patched.setattr(Blind, "readiness", lambda self: (["no key"], ["no price"]))
        assert readiness() == (["models.blind: no key"], ["models.blind: no price"])
        with pytest.raises(ConfigError, match=refusal):
            require_readiness(project)
        with pytest.raises(ConfigError, match=refusal):
            collect(project, ["blind"])
        with pytest.raises(ConfigError, match=r"^blind: no key$"):
            collect(project)
    assert all(task.made() for task in tasks_of(project, ["regions_medium"]))
    assert not any(task.made() for task in tasks_of(project, ["blind"]))
    collect(project, ["blind"])
    monkeypatch.setattr(Blind, "readiness", lambda self: (["no key"], ["no price"]))
    assert readiness() == ([], [])
    # made again from stored calls
    for mark in (project.root / "data/records").rglob("inputs.json"):
        mark.unlink()
    assert readiness() == ([], [])


HOLDS = """
import sys
from pathlib import Path
from driftledger.collect.store import CallStore
with CallStore(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_what_nothing_uses_is_shown_and_then_removed(project, monkeypatch):
    def gone(path, **given):
        if path.suffix == ".png":
            raise KeyboardInterrupt
        unlink(path, **given)

    def kept():
        return sorted(path.name for path in project.state.glob("*/*/*"))

    unlink = Path.unlink
    collect(project, ["blind"])
    own = kept()
    collect(project, ["regions_medium"])
    features = FeatureStore(project.state / "features")
    for encoder in (project.component("encoders", "layout").fingerprint, "f" * 64):
        features.get(encoder, "texts", ["a"], lambda: np.zeros((1, 1), np.float32))
    unused = "0 calls and 1 images and files of features, 0.0 MB, are not used; "
    assert remove_unused(project).startswith(unused)
    project = edited(project.root, {"run.models": ["blind"]})
    fingerprint = project.component("generators", "painter").fingerprint
    score = SimpleNamespace(components=[{"fingerprint": fingerprint}])
    runs = [SimpleNamespace(scores=[score])]
    with monkeypatch.context() as patch:
        read = "driftledger.ledger.published.read_published"
        patch.setattr(read, lambda _: runs)
        described = int(remove_unused(project).split(" calls")[0])
    assert int(remove_unused(project).split(" calls")[0]) > described > 0
    before = kept()
    in_use = pytest.raises(StoreError, match="is in use by process")
    with holding(HOLDS, project.state), in_use:
        remove_unused(replace(project, waits=False), yes=True)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", gone)
        with pytest.raises(KeyboardInterrupt):
            remove_unused(project, yes=True)
    assert kept() == before
    assert remove_unused(project, yes=True).startswith("0 calls and ")
    used = f"every call, image and file of features in {project.state} is used"
    assert remove_unused(project) == used
    [features] = {*kept()} - {*own}
    assert features.endswith(".npy")
    assert {*own} < {*kept()}
    assert set(to_make(project).values()) == {0}


def test_what_another_checkout_selects_stays(collected):
    for command in ("init", "add params.yaml", "commit -m a", "worktree add other"):
        git(collected.root, *command.split())
    project = edited(collected.root, {"run.models": ["blind"]})
    with pytest.raises(StoreError, match=r"/other: .*; nothing was removed"):
        remove_unused(project, yes=True)
    shutil.copytree(project.root / "data", project.root / "other/data")
    used = "every call, image and file of features"
    assert remove_unused(project, yes=True).startswith(used)


# Several processes with a store each: what they make is what one process makes, and nothing is
# asked twice.


def stored(project):
    with project.store() as store:
        results = found(store, stored_rows(store.folder))
    return {key: comparable(results[key]) for key in results}


def run_round(project, of, into, **chosen):
    return [
        collect_shard(Project(project.root), f"{number}/{of}", into, **chosen)
        for number in range(of)
    ]


def test_shards_make_what_one_process_makes(collected, tmp_path, monkeypatch):
    reference = contents(collected.root)
    calls = stored(collected)
    shutil.rmtree(collected.state)
    shutil.rmtree(collected.root / "data/records")
    into = tmp_path / "shards"
    others = "stages need what other shards make; when all shards have ended, "
    for said in run_round(collected, 3, into)[:2]:
        assert f"{others}'driftledger merge" in said
    assert not (collected.state / "calls.db").exists()
    first = merge(collected, [into])
    last = run_round(collected, 2, into)  # another number
    assert "need what other shards make" not in last[-1]
    assert merge(collected, [into]).startswith("5 stores merged: ")
    assert first.startswith("3 stores merged: ")
    assert set(to_make(collected).values()) == {0}
    assert stored(collected) == calls
    for component, method in CALLED:
        monkeypatch.setattr(component, method, asks_nobody)
    said = collect_shard(Project(collected.root), "1/5", into)
    assert "there was nothing to make; when" in said
    collect(Project(collected.root), MODELS)
    assert contents(collected.root) == reference

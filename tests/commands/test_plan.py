"""``driftledger plan``: what it says after each edit, and what is made then, with services that
charge for it."""

import json
import os
import re
import shutil
from collections import Counter
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from driftledger.benchmarks.base.usage import usage_behind
from driftledger.benchmarks.registry import benchmark_names
from driftledger.collect.call import Batch, walk
from driftledger.collect.store import CallStore
from driftledger.commands import run as running
from driftledger.commands.collect import collect, tasks_of
from driftledger.commands.lock import hold
from driftledger.commands.plan import plan, require_readiness
from driftledger.commands.shards import collect_shard
from driftledger.core.errors import ConfigError, DataError
from driftledger.core.paths import STATE
from driftledger.project.project import RESOLVED, Project
from driftledger_demo.encoders.layout import LayoutEncoder
from tests.conftest import draw
from tests.sentence import edit, write_files
from tests.support.cases import cases, each_case
from tests.support.evaluation import build
from tests.support.params import default_params
from tests.support.server import ChatAnswer, Server, described
from tests.support.small import edited, write_params

MODEL, GENERATOR = "models.tells", "generators.draws"
WORDS = 1024
"""In each description: as many tokens as the model's entry allows."""
PROJECT, MISSING = cases(__file__, "charged")
PRICES = PROJECT["set"][MODEL]["prices"]


def longest(body):
    words = described(body).text.split()
    return ChatAnswer(" ".join([*words, *["word"] * (WORDS - len(words))]))


def planned(root):
    """Plan as a new process does, which reads the settings again."""
    return plan(Project(root, own_code=True))


def settings_of(case, base_url):
    return json.loads(json.dumps(case["set"]).replace("SERVER", base_url))


def params_of(base_url):
    params = default_params()
    params["run"] |= {name: [] for name in ("question_sets", *benchmark_names())}
    edit(params, {"set": settings_of(PROJECT, base_url)})
    return params


@pytest.fixture(scope="module")
def server():
    with Server(reply=longest) as running_server:
        yield running_server


@pytest.fixture(scope="module")
def evaluated(server, tmp_path_factory):
    """A project of three images, two of them in one category, whose calls for T = 2 are stored."""
    root = tmp_path_factory.mktemp("evaluated")
    for number, name in enumerate(("square/0", "round/1", "round/2")):
        draw(root / f"photos/{name}.png", number, (24, 18))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.setattr(LayoutEncoder, "understands", None)
        project = write_params(root, params_of(server.base_url))
        build(project)
        collect(project)
    return root


@pytest.fixture
def root(evaluated, tmp_path, monkeypatch):
    """A copy of it."""
    monkeypatch.setattr(LayoutEncoder, "understands", None)
    monkeypatch.chdir(shutil.copytree(evaluated, tmp_path / "copy"))
    return Path.cwd()


def made_by(server, work):
    """Count the descriptions and the drawings that are asked for."""
    before = len(server.requests)
    work()
    kinds = Counter("messages" in each.body for each in server.requests[before:])
    return kinds[True], kinds[False]


def copied(root):
    shutil.copy(root / "photos/square/0.png", root / "photos/square/copy.png")


FOLDERS = {
    "an image twice": copied,
    "moved away": lambda root: (root / "photos").rename("away"),
    "no store": lambda root: shutil.rmtree(root / STATE),
}
"""What a case does to the folder."""


@each_case(cases(__file__, "plan"))
def test_after_an_edit_no_more_is_made_than_planned(case, root, server):
    """``planned`` and ``made`` are descriptions and drawings."""
    before = (root / RESOLVED).read_bytes()
    if "folder" in case:
        FOLDERS[case["folder"]](root)
    write_files(root, case.get("files", {}))
    project = edited(root, case.get("set", {}))
    preview = plan(project)
    calls = [preview.calls[name] for name in (MODEL, GENERATOR)]
    assert [each.to_make for each in calls] == case["planned"]
    assert preview.replies == "descriptions"
    assert (root / RESOLVED).read_bytes() == before
    missing = case.get("missing", [])
    assert all(any(each in line for line in preview.missing) for each in missing)
    assert len(preview.missing) == bool(missing)
    for name, cost in case.get("likely", {}).items():
        assert preview.calls[name].likely_cost == pytest.approx(cost)
    if "between" in case:
        low, high = case["between"]
        assert low < calls[0].likely_cost < high

    def run():
        build(project)
        collect(project)

    if missing:
        with pytest.raises(DataError, match="photos: "):
            run()
        return
    assert made_by(server, run) == tuple(case["made"])
    most = sum(each.most_cost or 0.0 for each in calls)
    spent = 0.0
    with project.store(writes=False) as store:
        for each in calls:
            spent += store.spent(each.component.fingerprint).cost - each.spent.cost
    assert 0 <= spent <= most
    assert set(case["made"]) == {0} or spent > 0
    assert {each.to_make for each in plan(project).calls.values()} == {0}


def test_a_checkout_of_others_is_counted_as_it_was_resolved(root, server):
    edited(root, {"genception.iterations": 3})
    assert plan(Project(root)).calls[MODEL].to_make == 0
    assert plan(Project(root)).notes == []
    shutil.rmtree(root / "data/datasets")
    assert planned(root).calls[MODEL].to_make == 3


def test_what_to_know_before_the_first_call(root, monkeypatch):
    """Drawings of the control are half of all: the descriptions of the other model are stored."""
    values = {
        "run.models": ["tells", "blind"],
        "genception.generate_prompt": "Draw {description}",
        "genception.iterations": 1,
        f"{GENERATOR}.limits": {"concurrency": 4},
    }
    edited(root, values)
    first, *others = planned(root).notes
    cost = 3 * (1037 * 10 + 16 * 100) / 1e6
    assert first == (
        f"controls, which never look, cost {cost:.2f} of the likely {2 * cost:.2f}; take them out "
        "of run.models to save that"
    )
    shared = "; 2 models share these slots"
    assert f"{GENERATOR}: 6 calls, 4 at once, in 2 rounds{shared}" in others
    means = CallStore(root / STATE, writes=False).means()
    slow = {key: replace(means[key], seconds=90.0) for key in means}
    monkeypatch.setattr(CallStore, "means", lambda _: slow)
    lasts = f"{GENERATOR}: 6 calls, 4 at once, about 0:03:00 in all{shared}"
    assert lasts in planned(root).notes


def test_both_prices_of_batches_and_how_long_they_take(root):
    """Of three chains, the third and the fourth of the descriptions follow one another."""
    edited(root, {"genception.iterations": 4})
    most = planned(root).calls[MODEL].most_cost
    edited(root, {f"{MODEL}.batch": True})
    preview = planned(root)
    assert preview.calls[MODEL].to_make == 6
    assert preview.calls[MODEL].most_cost == pytest.approx(most / 2)
    days = "batches take up to 2 x 24 hours"
    assert f"{MODEL}: without `batch` at most {most:,.2f}; {days}" in preview.notes
    fingerprint = preview.calls[MODEL].component.fingerprint
    with Project(root).store() as store:
        store.submit(fingerprint, Batch("f", 2e9, None, {"0" * 64: 1.0}))
    until = f"{MODEL}: 1 batch, 1 calls, until 2033-05-19 03:33 UTC"
    assert until in planned(root).notes
    with pytest.raises(ConfigError, match="is asked in batches; collect its calls"):
        collect_shard(Project(root, own_code=True), "0/2", root / "shards")


def test_calls_in_batches_are_not_to_be_made_again(root):
    """Of four chains of one call more, each description is in a batch, and no drawing."""
    project = edited(root, {"genception.iterations": 3, f"{MODEL}.batch": True})
    before = plan(project).calls
    pending = {}
    [task] = tasks_of(project)
    fingerprint = before[MODEL].component.fingerprint
    with project.store() as store:
        for each in task.collecting().planned:
            pending[walk(each.steps, store.answer).pending.key] = 0.5
        store.submit(fingerprint, Batch("f", 2e9, None, pending))
    after = plan(project).calls
    assert before[MODEL].to_make == 3
    assert (after[MODEL].to_make, after[MODEL].in_batches) == (0, 3)
    assert after[MODEL].most_cost is None
    assert after[MODEL].spent.cost == before[MODEL].spent.cost + 1.5
    assert after[GENERATOR].to_make == before[GENERATOR].to_make == 3


def test_what_a_service_has_not_counted_is_no_price(root, server, monkeypatch):
    """It counts one of three answers, of 90 and 1,024 tokens."""
    script = [{"to": "chat", "times": 1}, {"to": "chat", "changes": {"usage": None}}]
    monkeypatch.setattr(server, "script", script)
    other = {"genception.describe_prompt": "Say it.", "genception.iterations": 1}
    project = edited(root, other)
    build(project)
    collect(project)
    [task] = tasks_of(project)
    usage = usage_behind(task.folder)
    model = usage.roles["model"]
    cost = (90 * PRICES["input"] + WORDS * PRICES["output"]) / 1e6
    assert (model.calls, model.counted, model.priced) == (3, 1, 1)
    assert model.cost == pytest.approx(cost)
    assert model.most_cost > 3 * WORDS * PRICES["output"] / 1e6
    assert usage.costs.keys() == {"seconds_per_sample"}
    assert usage.uncounted == "1 of 3 calls of the model"


def test_data_under_a_run_stay_as_it_reads_them(root):
    project = Project(root, own_code=True)
    draw(root / "photos/round/3.png", 3, (24, 18))
    samples = root / "data/datasets/photos/samples.jsonl"
    before = samples.read_bytes()
    with hold(project, "driftledger run"):
        preview = plan(project)
    who = rf"'driftledger run' \(process {os.getpid()}, since \d\d:\d\d\)"
    first = rf"{who} works in this folder: the plan counts the data that it has built"
    assert re.fullmatch(first, preview.notes[0])
    assert preview.calls[MODEL].to_make == 0
    assert samples.read_bytes() == before
    assert plan(project).calls[MODEL].to_make == 2


@each_case(cases(__file__, "room"))
def test_room_is_missing_by_the_size_of_what_is_stored_not_by_a_guess(
    case, root, monkeypatch
):
    """For three images: the size of six that are stored, or a guess of 1.5 bytes a pixel."""
    project = edited(root, {"genception.iterations": 3} | case.get("set", {}))
    sizes = [file.stat().st_size for file in (root / STATE).glob("objects/*/*")]
    free = case.get("free") or round(case["of_stored"] * 3 * np.mean(sizes))
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    preview = plan(project)
    advice = "make room, or name another folder as `store:`"
    place = f"in {root / STATE}, where {free / 1e6:,.0f} MB are free; {advice}"
    for kind in ("missing", "notes"):
        notices = [f"store: what is drawn {each} {place}" for each in case[kind]]
        assert [each for each in getattr(preview, kind) if "drawn" in each] == notices
    build(project)
    start = r"^nothing was asked yet: store: what is drawn takes"
    refused = pytest.raises(ConfigError, match=start)
    with refused if case["missing"] else nullcontext():
        require_readiness(project)


def entries_of(missing):
    """The entry that each sentence names first."""
    return sorted(each.partition(":")[0] for each in missing)


def test_all_that_is_missing_is_named_at_once_by_plan_and_by_run(
    root, server, monkeypatch
):
    for name in [*os.environ]:
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    (root / "sheet.csv").write_text("image,question\na.png,What?\n")
    project = edited(root, settings_of(MISSING, server.base_url))
    preview = plan(project)
    assert entries_of(preview.missing) == MISSING["missing"]
    unknown = "sheet.csv: columns.answer: column 'answer' is unknown"
    assert unknown in str(preview.missing)
    to_make = {name: calls.to_make for name, calls in preview.calls.items()}
    assert to_make == MISSING["to_make"]
    assert preview.replies == "replies"
    (root / ".dvc").mkdir()
    (root / ".dvc/config").write_text("[core]\n    no_scm = true\n")
    (root / "dvc.yaml").write_text("stages: {}\n")
    with pytest.raises(ConfigError, match=r"^nothing was asked yet: ") as caught:
        running.run(project)
    assert all(each in str(caught.value) for each in preview.missing)
    (root / "photos/round/cut.png").write_bytes(b"\x89PNG")
    edited(root, {"run.datasets": ["photos"], "run.genception": ["photos"]})
    missing = ["datasets.photos", *MISSING["missing"][1:]]
    assert entries_of(planned(root).missing) == missing

"""``driftledger plan``: what it says after each edit, and what is made then, with services that
charge for it."""

import os
import shutil
import struct
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from filelock import FileLock

from driftledger.benchmarks.registry import benchmark_names
from driftledger.collect.call import Batch
from driftledger.collect.store import CallStore
from driftledger.commands import run as running
from driftledger.commands.collect import (
    collect,
    collect_shard,
    plan,
    require_readiness,
)
from driftledger.core.errors import ConfigError, DataError
from driftledger.core.paths import STATE
from driftledger.project.project import RESOLVED, Project
from driftledger_demo.encoders.layout import LayoutEncoder
from tests.conftest import draw
from tests.support.evaluation import build
from tests.support.openai_server import ChatAnswer, OpenAIServer, described
from tests.support.params import default_params
from tests.support.small import Params, changed, write_params

MODEL, GENERATOR = "models.tells", "generators.draws"
WORDS = 1024
"""In each description: as many tokens as the model's entry allows."""
PRICES = {"input": 10.0, "output": 100.0}


def longest(body):
    words = described(body).text.split()
    return ChatAnswer(" ".join([*words, *["word"] * (WORDS - len(words))]))


def params_of(base_url):
    params = default_params()
    service = {"base_url": base_url, "api_key_env": None, "prices": PRICES}
    nothing: Params = {name: [] for name in ("question_sets", *benchmark_names())}
    params["run"] |= nothing | {
        "datasets": ["photos"],
        "genception": ["photos"],
        "models": ["tells"],
    }
    params["run"] |= {"generators": ["draws"]}
    params["datasets"] = {"photos": {"provider": "image_folder", "path": "photos"}}
    params["models"]["tells"] = {
        "provider": "openai",
        "model": "tells",
        "max_tokens": WORDS,
    } | service
    params["generators"]["draws"] = {
        "provider": "openai_images",
        "model": "draws",
        "extra": {"quality": "medium"},
    }
    params["generators"]["draws"] |= service
    params["genception"] |= {"iterations": 2, "cross_check": [], "text_encoder": None}
    return params


@pytest.fixture(scope="module")
def server():
    with OpenAIServer(reply=longest) as running_server:
        yield running_server


@pytest.fixture(scope="module")
def evaluated(server, tmp_path_factory):
    """A project of three images, two of them in one category, whose calls for T = 2 are stored."""
    root = tmp_path_factory.mktemp("evaluated")
    for number, category in enumerate(("square", "round", "round")):
        draw(root / "photos" / category / f"{number}.png", number, (24, 18))
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


def broken(root):
    data = (root / "photos/square/0.png").read_bytes()
    for name in ("cut", "short"):
        (root / "photos/square" / f"{name}.png").write_bytes(data[:45])


def huge(root):
    """Add a PNG whose header says 200 megapixels."""
    data = (root / "photos/square/0.png").read_bytes()
    header = b"IHDR" + struct.pack(">II", 20_000, 10_000) + data[24:29]
    crc = struct.pack(">I", zlib.crc32(header))
    (root / "photos/square/huge.png").write_bytes(data[:12] + header + crc + data[33:])


def moved_away(root):
    (root / "photos").rename(root / "away")


def setting(section, **values):
    return lambda root: changed(root, lambda params: params[section].update(values))


def entry(section, name, **values):
    return lambda root: changed(
        root, lambda params: params[section][name].update(values)
    )


@dataclass(frozen=True)
class Edit:
    edit: Callable[[Path], object]
    planned: tuple[int, int]
    """Descriptions and drawings."""
    made: tuple[int, int]
    missing: tuple[str, ...] = ()


EDITS = {
    "nothing": Edit(lambda root: None, (0, 0), (0, 0)),
    "iterations 2 → 3": Edit(setting("genception", iterations=3), (3, 3), (3, 3)),
    "iterations 2 → 5": Edit(setting("genception", iterations=5), (9, 9), (9, 9)),
    "describe_prompt": Edit(
        setting("genception", describe_prompt="What is it?"), (6, 6), (6, 6)
    ),
    # The first descriptions stay.
    "generate_prompt": Edit(
        setting("genception", generate_prompt="Draw {description}"), (3, 6), (3, 6)
    ),
    # This server draws equal prompts alike, so that what follows a drawing is stored, which nobody
    # can know before.
    "repeats 1 → 3": Edit(setting("genception", repeats=3), (6, 12), (0, 12)),
    "an image twice": Edit(copied, (1, 2), (0, 2)),
    "temperature": Edit(entry("models", "tells", temperature=1.0), (6, 6), (6, 0)),
    "per_category": Edit(entry("datasets", "photos", per_category=1), (0, 0), (0, 0)),
    "fidelity": Edit(setting("run", fidelity=["photos"]), (3, 3), (3, 3)),
    "a new model": Edit(setting("run", models=["tells", "blind"]), (0, 6), (0, 6)),
    "the folder moved away": Edit(moved_away, (0, 0), (0, 0)),
    "two broken images": Edit(
        broken,
        (0, 0),
        (0, 0),
        ("square/cut.png cannot be", "square/short.png cannot be"),
    ),
    "a huge image": Edit(
        huge,
        (0, 0),
        (0, 0),
        ("square/huge.png has more pixels than Pillow reads; make it smaller",),
    ),
}


@pytest.mark.parametrize("case", EDITS.values(), ids=EDITS)
def test_after_an_edit_no_more_is_made_than_planned(case, root, server):
    before = (root / RESOLVED).read_bytes()
    case.edit(root)
    project = Project(root, own_code=True)
    preview = plan(project)
    calls = preview.calls[MODEL], preview.calls[GENERATOR]
    assert (calls[0].to_make, calls[1].to_make) == case.planned
    assert (root / RESOLVED).read_bytes() == before
    assert all(
        any(each in sentence for sentence in preview.missing) for each in case.missing
    )
    assert len(preview.missing) == bool(case.missing)

    def run():
        build(project)
        collect(project)

    if case.missing:
        with pytest.raises(DataError, match="photos: "):
            run()
        return
    assert made_by(server, run) == case.made
    most = sum(each.most_cost or 0.0 for each in calls)
    spent = 0.0
    with project.store(writes=False) as store:
        for each in calls:
            spent += store.spent(each.component.fingerprint).cost - each.spent.cost
    assert 0 <= spent <= most
    assert set(case.made) == {0} or spent > 0
    assert {each.to_make for each in plan(project).calls.values()} == {0}


def test_a_checkout_of_others_is_counted_as_it_was_resolved(root, server):
    setting("genception", iterations=3)(root)
    assert plan(Project(root)).calls[MODEL].to_make == 0
    assert plan(Project(root)).notes == []
    shutil.rmtree(root / "data/datasets")
    assert plan(Project(root, own_code=True)).calls[MODEL].to_make == 3


def test_the_likely_price_goes_by_what_is_stored(root):
    """Each stored description took 90 tokens and gave 1,024; before any call, 300 are assumed of
    each text."""
    setting("genception", iterations=3)(root)
    calls = plan(Project(root, own_code=True)).calls
    assert calls[MODEL].likely_cost == pytest.approx(3 * (90 * 10 + 1024 * 100) / 1e6)
    # another version: as long as the replies of the first
    entry("models", "tells", temperature=1.0)(root)
    likely = plan(Project(root, own_code=True)).calls[MODEL].likely_cost
    assert likely is not None
    assert 9 * 1024 * 100 / 1e6 < likely < 9 * (4000 * 10 + 1024 * 100) / 1e6
    shutil.rmtree(root / STATE)
    entry("datasets", "photos", per_category=1)(root)
    drawings = plan(Project(root, own_code=True)).calls[GENERATOR]
    assert drawings.to_make == 6
    assert drawings.likely_cost == pytest.approx(6 * (300 * 10 + 1056 * 100) / 1e6)
    entry("generators", "draws", image_size="1024x1536")(root)
    drawings = plan(Project(root, own_code=True)).calls[GENERATOR]
    assert drawings.likely_cost == pytest.approx(6 * (300 * 10 + 1584 * 100) / 1e6)


def test_what_to_know_before_the_first_call(root, monkeypatch):
    """Drawings of the control are half of all: the descriptions of the other model are stored."""
    setting("run", models=["tells", "blind"])(root)
    setting("genception", generate_prompt="Draw {description}", iterations=1)(root)
    entry("generators", "draws", limits={"concurrency": 4})(root)
    first, *others = plan(Project(root, own_code=True)).notes
    cost = 3 * (1037 * 10 + 16 * 100) / 1e6
    assert first == (
        f"controls, which never look, cost {cost:.2f} of the likely {2 * cost:.2f}; take them out "
        "of run.models to save that"
    )
    shared = "; 2 models share these slots"
    assert f"{GENERATOR}: 6 calls, 4 at once, in 2 rounds{shared}" in others
    means = CallStore.means
    slow = {
        key: replace(mean, seconds=90.0)
        for key, mean in means(CallStore(root / STATE, writes=False)).items()
    }
    monkeypatch.setattr(CallStore, "means", lambda _: slow)
    assert (
        f"{GENERATOR}: 6 calls, 4 at once, about 0:03:00 in all{shared}"
        in plan(Project(root, own_code=True)).notes
    )


def test_both_prices_of_batches_and_how_long_they_take(root):
    """Of three chains, the third and the fourth of the descriptions follow one another."""
    setting("genception", iterations=4)(root)
    most = plan(Project(root, own_code=True)).calls[MODEL].most_cost
    assert most is not None
    entry("models", "tells", batch=True)(root)
    preview = plan(Project(root, own_code=True))
    assert preview.calls[MODEL].to_make == 6
    assert preview.calls[MODEL].most_cost == pytest.approx(most / 2)
    days = "batches take up to 2 x 24 hours"
    assert f"{MODEL}: without `batch` at most {most:,.2f}; {days}" in preview.notes
    component = preview.calls[MODEL].component
    with Project(root).store() as store:
        store.submit(component.fingerprint, Batch("f", 2e9, None, {"0" * 64: 1.0}))
    told = plan(Project(root, own_code=True)).notes
    assert f"{MODEL}: 1 batch, 1 calls, until 2033-05-19 03:33 UTC" in told
    with pytest.raises(ConfigError, match="is asked in batches; collect its calls"):
        collect_shard(Project(root, own_code=True), "0/2", root / "shards")


def test_data_under_a_run_stay_as_it_reads_them(root):
    project = Project(root, own_code=True)
    draw(root / "photos" / "round" / "3.png", 3, (24, 18))
    before = (root / "data/datasets/photos/samples.jsonl").read_bytes()
    with FileLock(root / STATE / "run.lock"):
        preview = plan(project)
    assert (
        preview.notes[0]
        == "'driftledger run' is under way here: data count as it has built them"
    )
    assert preview.calls[MODEL].to_make == 0
    assert (root / "data/datasets/photos/samples.jsonl").read_bytes() == before
    assert plan(project).calls[MODEL].to_make == 2


def test_a_full_disk_is_missing_room(root, monkeypatch):
    """Three images with 1024 pixels a side, of 1.5 bytes a pixel, are 4.7 MB."""
    setting("genception", iterations=3)(root)
    project = Project(root, own_code=True)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=5_000_000))
    assert plan(project).missing == []
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=4_000_000))
    [lacks] = plan(project).missing
    assert lacks == (
        f"store: what is drawn takes about 5 MB in {root / STATE}, where 4 MB are free; make "
        "room, or name another folder as `store:`"
    )
    build(project)
    with pytest.raises(
        ConfigError, match=r"^nothing was asked yet: store: what is drawn"
    ):
        require_readiness(project, of_all=False)


def test_all_that_is_missing_is_named_at_once_by_plan_and_by_run(
    root, server, monkeypatch
):
    for name in [*os.environ]:
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    here = {"base_url": server.base_url, "api_key_env": "NO_SUCH_KEY", "prices": PRICES}
    weights = {"provider": "transformers", "path": "weights/nowhere"}

    def select(params):
        params["models"] |= {
            "keyless": {"provider": "openai", "model": "m"} | here,
            "weights": weights,
        }
        params["generators"]["draws"]["base_url"] = "http://127.0.0.1:9/v1"
        params["encoders"]["gone"] = {"provider": "dinov2", "path": "weights/gone"}
        params["datasets"]["others"] = {"provider": "image_folder", "path": "others"}
        params["run"] |= {
            "models": ["tells", "keyless", "weights"],
            "encoders": ["gone"],
        }
        params["run"] |= {
            "datasets": ["photos", "others"],
            "genception": ["photos", "others"],
        }

    project = changed(root, select)
    preview = plan(project)
    assert sorted(each.partition(":")[0] for each in preview.missing) == [
        "datasets.others",
        "encoders.gone",
        "generators.draws",
        "models.keyless",
        "models.weights",
    ]
    assert {name: calls.to_make for name, calls in preview.calls.items()} == {
        "models.tells": 3,
        "models.keyless": 6,
        "models.weights": 6,
        "generators.draws": 18,
    }
    (root / ".dvc").mkdir()
    (root / "dvc.yaml").write_text("stages: {}\n")
    with pytest.raises(ConfigError, match=r"^nothing was asked yet: ") as caught:
        running.run(project)
    assert all(each in str(caught.value) for each in preview.missing)

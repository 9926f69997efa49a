"""From images and folders of checkpoints that mean something to scores: those in lab/checkpoints/
describe, draw and look."""

import re
import shutil

import pytest
from PIL import Image

from driftledger.benchmarks.base.records import CollectedRecord
from driftledger.benchmarks.base.usage import USAGE, ScoreUsage
from driftledger.core.files import read_json, read_jsonl
from driftledger.data.records import read_samples
from driftledger.scoring.score import Score
from driftledger_demo.datasets.arrangements.provider import Arrangements
from lab.validity.faultless import shown_in
from tests.acceptance.checkout import Checkout
from tests.acceptance.places import ALWAYS, REPOSITORY
from tests.support.by_hand import named
from tests.support.checkpoints.inception import build_inception
from tests.support.checkpoints.weights import change_one_weight
from tests.support.small import folders, matching

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings(
        "ignore:`torch.jit:FutureWarning"
    ),  # what Inception is published in
]

MODEL, PAINTER = "llava_final", "sd_2"
GIVEN = {"--model": MODEL, "--generator": PAINTER, "--encoder": "vit"}
IMAGES = 12
DATA = "data/datasets/photos"
CHAINS = f"data/records/{MODEL}/genception/photos/{PAINTER}"
SCORES = f"reports/scores/{MODEL}"


def change(params):
    """Let two more encoders look, and components answer soon."""
    params["genception"]["iterations"] = 2
    params["models"][MODEL]["max_new_tokens"] = 64  # of 1,024 in all
    params["generators"][PAINTER] |= {"steps": 4, "guidance_scale": 1, "device": "cpu"}
    more = {"clip": {"provider": "open_clip"}}
    more["inception"] = {"provider": "inception", "allow_pickle": True}
    for name, entry in more.items():
        entry |= {"path": f"checkpoints/{name}", "device": "cpu"}
        params["encoders"][name] = entry
    params["run"]["encoders"] += [*more]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Initialize a project with folders of checkpoints, as the README has it for names, and run
    it; each checkpoint is loaded once."""
    folder = tmp_path_factory.mktemp("neural")
    project = Checkout(folder / "project", folder / "state")
    project.root.mkdir()
    project.git("init", "--quiet")
    shutil.copytree(
        REPOSITORY / "lab/checkpoints",
        project.root / "checkpoints",
        ignore=shutil.ignore_patterns("lessons", "dvc.*"),
    )
    build_inception(project.root / "checkpoints/inception")
    for item in Arrangements(per_category=IMAGES // 3).items():
        file = project.root / "photos" / item.category / f"{item.id}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(item.read())
    given = []
    for option, name in GIVEN.items():
        given += [option, f"checkpoints/{name}"]
    shown = project.driftledger("init", "--images", "photos", *given).stdout
    assert "missing" not in shown
    project.params(change)
    planned = project.driftledger("plan").stdout
    assert re.search(rf"^models\.{MODEL} +{IMAGES * (2 + 1)}$", planned, re.M), planned
    number = f"{MODEL}/{PAINTER}/vit:gc_at_2"
    shown = project.driftledger("run").stdout
    assert f"audit {MODEL}/{PAINTER}/vit:genception/photos/gc_at_2" in shown
    log = (project.root / ".driftledger/run.log").read_text(encoding="utf-8")
    assert "3 runs created" in log
    answer = project.driftledger("audit", number).stdout
    assert re.search(rf"generator +{PAINTER}@[0-9a-f]{{8}}", answer), answer
    return project


def records_of(root):
    return read_jsonl(root / CHAINS / "records.jsonl", CollectedRecord)


def score_of(root, encoder):
    return read_json(
        root / f"{SCORES}/genception/photos/{PAINTER}/{encoder}/score.json",
        Score,
    )


def measured(path):
    """Cell, colour and shape of each thing in an image."""
    with Image.open(path) as image:
        return {
            (thing.cell, thing.colour, thing.shape) for thing in shown_in(image).things
        }


def test_the_trained_model_describes_what_is_there(made):
    captions = {sample.id: sample.medium for sample in read_samples(made.root / DATA)}
    truth = {name: shown_in(image.open()).caption for name, image in captions.items()}
    said = {
        record.unit: record.text for record in records_of(made.root) if record.step == 1
    }
    assert sum(said[name] == truth[name] for name in truth) >= 11  # of 12
    assert len(set(truth.values())) == 12


def test_the_generator_draws_what_it_is_told(made):
    asked, drawn = 0, 0
    for record in records_of(made.root):
        if record.step == 1 and record.drawing is not None:
            original = measured(made.root / DATA / "images" / f"{record.unit}.png")
            image = made.root / CHAINS / str(record.drawing.file)
            asked, drawn = (
                asked + len(original),
                drawn + len(original & measured(image)),
            )
    assert asked == 24
    assert drawn / asked >= 0.8


def test_the_evidence_names_what_was_loaded(made):
    score = score_of(made.root, "inception")
    assert named(score)["frechet_at_2"] > 0
    identity = score.components["generator"].identity
    assert identity["device"] == "cpu"
    assert len(identity["weights"]["sha256"]) == 64
    readings = [
        record.drawing and record.drawing.reading for record in records_of(made.root)
    ]
    assert all(
        reading is not None and reading.tokens == reading.read <= 46
        for reading in readings
    )
    assert not any("cut off" in flag.text for flag in score.flags)
    folder = made.root / SCORES / f"genception/photos/{PAINTER}/inception"
    usage = read_json(folder / USAGE, ScoreUsage)
    assert usage.samples == 12
    assert {*usage.roles} == {"model", "generator"}
    described = usage.roles["model"]
    assert not described.service
    assert described.unknown == 0
    keys = {record.by("model").key for record in records_of(made.root)}
    assert described.calls == len(keys) > 12
    assert min(described.seconds, described.input_tokens, described.output_tokens) > 0
    assert "usd_per_1000" not in usage.costs


def test_a_changed_weight_is_noticed_and_a_moved_folder_is_not(made, tmp_path):
    copied = made.copy(tmp_path)
    checkpoints = copied.root / "checkpoints"
    change_one_weight(checkpoints / "vit")
    before = folders(copied.root)
    assert copied.repro() - ALWAYS == {f"score@{MODEL}", "report"}
    again = {
        name for name, when in folders(copied.root).items() if before[name] != when
    }
    assert again == matching(before, ["reports/*/vit"])
    (checkpoints / PAINTER).rename(checkpoints / "elsewhere")
    path = {"path": "checkpoints/elsewhere"}
    copied.params(lambda params: params["generators"][PAINTER].update(path))
    assert copied.repro() <= ALWAYS

"""``dvc repro`` with real architectures that mean something: the checkpoints in lab/checkpoints/
describe, draw and look."""

import shutil

import pytest
from PIL import Image

from driftledger.benchmarks.base.records import CollectedRecord
from driftledger.benchmarks.base.usage import USAGE, ScoreUsage
from driftledger.core.files import read_json, read_jsonl
from driftledger.data.records import read_samples
from driftledger.scoring.score import Score
from lab.validity.faultless import shown_in
from tests.conftest import REPOSITORY, make_checkout
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

MODEL, PAINTER = "trio_llava_final", "trio_sd_2"
DATA, CHAINS = (
    "data/datasets/arrangements",
    f"data/records/{MODEL}/genception/arrangements/{PAINTER}",
)
SCORES = f"reports/scores/{MODEL}"


def neural_selection(params):
    params["run"] |= {
        "datasets": ["arrangements"],
        "genception": ["arrangements"],
        "fidelity": ["arrangements"],
        "models": [MODEL],
        "generators": [PAINTER],
        "encoders": ["trio_vit", "trio_clip", "inception"],
    }
    params["datasets"]["arrangements"] = {"provider": "arrangements", "per_category": 4}
    params["encoders"]["inception"] = {
        "provider": "inception",
        "path": "lab/checkpoints/inception",
        "allow_pickle": True,
    }
    params["encoders"]["inception"]["device"] = "cpu"
    model = {
        "provider": "transformers",
        "path": "lab/checkpoints/llava_final",
        "max_new_tokens": 64,
        "device": "cpu",
    }
    painter = {
        "provider": "diffusers",
        "path": "lab/checkpoints/sd_2",
        "steps": 4,
        "guidance_scale": 1,
        "device": "cpu",
    }
    params["models"][MODEL], params["generators"][PAINTER] = (
        model,
        painter,
    )  # to be changed below


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The checkout with the trio in it, selected and evaluated, each checkpoint loaded once."""
    checkout = make_checkout(tmp_path_factory.mktemp("neural"))
    shutil.copytree(
        REPOSITORY / "lab/checkpoints",
        checkout.root / "lab/checkpoints",
        ignore=shutil.ignore_patterns("lessons", "dvc.*"),
    )
    build_inception(checkout.root / "lab/checkpoints" / "inception")
    (checkout.root / ".gitignore").open("a").write("/lab/checkpoints/\n")
    checkout.params(neural_selection)
    checkout.env |= {
        "HF_HUB_OFFLINE": "1",
        "XDG_CACHE_HOME": str(checkout.root.parent / "cache"),
    }
    assert "3 runs created" in checkout.run("dvc", "repro").stdout
    return checkout


@pytest.fixture
def copied(made, tmp_path):
    """The same, to be changed, and not in MLflow yet."""
    return made.copy(tmp_path / "checkout")


def records_of(root):
    return read_jsonl(root / CHAINS / "records.jsonl", CollectedRecord)


def score_of(root, encoder):
    return read_json(
        root
        / f"reports/scores/{MODEL}/genception/arrangements/{PAINTER}/{encoder}/score.json",
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
    folder = made.root / SCORES / f"genception/arrangements/{PAINTER}/inception"
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


def test_a_changed_weight_is_noticed_and_a_moved_folder_is_not(copied):
    change_one_weight(copied.root / "lab/checkpoints" / "vit")
    before = folders(copied.root)
    assert copied.repro() == ["resolve", f"score@{MODEL}", "report"]
    made = {name for name, when in folders(copied.root).items() if before[name] != when}
    assert made == matching(before, ["reports/*/trio_vit"])
    (copied.root / "lab/checkpoints" / "sd_2").rename(
        copied.root / "lab/checkpoints" / "elsewhere"
    )
    copied.params(
        lambda params: params["generators"][PAINTER].update(
            path="lab/checkpoints/elsewhere"
        )
    )
    assert copied.repro() == ["resolve"]

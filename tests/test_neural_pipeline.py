"""``dvc repro`` with real architectures: a LLaVA describes, Stable Diffusion draws, a ViT and Inception look."""

import re
from pathlib import Path
from typing import Any

import pytest

for library in ("torch", "transformers", "diffusers", "cleanfid"):
    pytest.importorskip(library)

from driftledger.project import Project
from driftledger.records import ChainRecord, ScoreFile, read_json, read_jsonl
from tests.checkpoints.diffusion import build_stable_diffusion
from tests.checkpoints.encoders import build_vit
from tests.checkpoints.inception import build_inception
from tests.checkpoints.vision_language import build_llava
from tests.checkpoints.weights import change_one_weight
from tests.conftest import Checkout

pytestmark = [
    pytest.mark.neural,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:`torch.jit:FutureWarning"),  # what Inception is published in
]

COMBINATION = ("llava", "diffusion")


def stages_run(output: str) -> list[str]:
    return re.findall(r"Running stage '([^']+)'", output)


def neural_selection(params: dict[str, Any]) -> None:
    params["run"] |= {"models": ["llava"], "generators": ["diffusion"], "encoders": ["vit", "inception"]}
    params["models"]["llava"] = {
        "provider": "transformers",
        "path": "checkpoints/llava",
        "max_new_tokens": 12,
        "batch_size": 3,
        "device": "cpu",
    }
    params["generators"]["diffusion"] = {
        "provider": "diffusers",
        "path": "checkpoints/diffusion",
        "steps": 2,
        "height": 32,
        "width": 32,
        "batch_size": 3,
        "device": "cpu",
    }
    params["encoders"]["vit"] = {"provider": "vit", "path": "checkpoints/vit", "device": "cpu"}
    params["encoders"]["inception"] = {
        "provider": "inception",
        "path": "checkpoints/inception",
        "allow_pickle": True,
        "device": "cpu",
    }


@pytest.fixture
def neural(checkout: Checkout) -> Checkout:
    """The checkout with tiny random checkpoints in it, selected."""
    folder = checkout.root / "checkpoints"
    build_llava(folder / "llava")
    build_stable_diffusion(folder / "diffusion")
    build_vit(folder / "vit")
    build_inception(folder / "inception")
    (checkout.root / ".gitignore").open("a").write("/checkpoints/\n")
    checkout.params(neural_selection)
    checkout.env |= {
        "HF_HUB_OFFLINE": "1",
        "XDG_CACHE_HOME": str(checkout.root.parent / "cache"),
        "OMP_NUM_THREADS": "1",
    }
    return checkout


def records_of(root: Path) -> list[ChainRecord]:
    return read_jsonl(Project(root).layout.chain("my_images", *COMBINATION) / "records.jsonl", ChainRecord)


def score_of(root: Path, encoder: str) -> ScoreFile:
    return read_json(root / f"reports/scores/genception/my_images/llava/diffusion/{encoder}.json", ScoreFile)


def test_the_whole_way_with_real_adapters(neural: Checkout) -> None:
    done = neural.run("dvc", "repro").stdout
    assert "2 runs created" in done
    records = records_of(neural.root)
    assert len(records) == 8 * 2
    assert len({record.description for record in records}) > 4
    assert len({record.image_sha256 for record in records}) == 16
    assert all(record.prompt_reading is not None and record.prompt_reading.read <= 75 for record in records)
    seen, inception = score_of(neural.root, "vit"), score_of(neural.root, "inception")
    assert -1 <= seen.metrics["gc_at_2"] <= 1
    assert "frechet_vit_at_2" in seen.metrics
    assert inception.metrics["fid_at_2"] > 0
    identity = seen.inputs.chain.generator.identity
    assert identity["device"] == "cpu"
    assert len(identity["weights"]["sha256"]) == 64
    assert any("cut off" in flag for flag in seen.flags) == any(
        record.prompt_reading is not None and record.prompt_reading.cut for record in records
    )

    outputs = neural.outputs()
    assert stages_run(neural.run("dvc", "repro").stdout) == ["resolve", "track"]
    for left in neural.root.joinpath(".driftledger").glob("calls.db*"):
        left.unlink()
    neural.run("driftledger", "chain", "my_images", *COMBINATION)
    assert neural.outputs() == outputs

    change_one_weight(neural.root / "checkpoints" / "vit")
    assert stages_run(neural.run("dvc", "repro").stdout) == [
        "resolve",
        "drift@my_images-llava-diffusion-vit",
        "report",
        "track",
    ]
    (neural.root / "checkpoints" / "llava").rename(neural.root / "checkpoints" / "elsewhere")
    neural.params(lambda params: params["models"]["llava"].update(path="checkpoints/elsewhere"))
    assert stages_run(neural.run("dvc", "repro").stdout) == ["resolve", "track"]


def test_a_mistake_in_an_entry_is_one_sentence(neural: Checkout) -> None:
    neural.params(lambda params: params["models"]["llava"].update(path="checkpoints/lava"))
    done = neural.run("dvc", "repro", check=False)
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert "'checkpoints/lava' is no folder here; mend path, or set revision if it is on the hub" in said
    assert "Traceback" not in said

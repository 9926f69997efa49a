"""The tiny checkpoints: the libraries load them as they load any other, and they tell their inputs apart."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
diffusers = pytest.importorskip("diffusers")
open_clip = pytest.importorskip("open_clip")
sentence_transformers = pytest.importorskip("sentence_transformers")
cleanfid = pytest.importorskip("cleanfid")

from cleanfid.inception_torchscript import InceptionV3W
from cleanfid.resize import build_resizer
from PIL import Image

from tests.conftest import draw
from tests.support.checkpoints import diffusion, encoders, inception, openclip, vision_language
from tests.support.checkpoints.text import WORDS
from tests.support.checkpoints.weights import change_one_weight, drop_one_weight

pytestmark = [pytest.mark.neural, pytest.mark.filterwarnings("ignore:.torch.jit:FutureWarning")]

Build = Callable[..., Path]

MODELS = [vision_language.build_llava, vision_language.build_qwen2_5_vl, vision_language.build_smolvlm]
PIPELINES = [diffusion.build_stable_diffusion, diffusion.build_stable_diffusion_xl, diffusion.build_flux]
VISION = [encoders.build_vit, encoders.build_vit_without_pooler, encoders.build_dinov2]
OTHERS = [encoders.build_clip, openclip.build_open_clip, encoders.build_sentence_transformer]
SAFETENSORS = [*MODELS, *PIPELINES, *VISION, *OTHERS]

SIZES = [(96, 72), (72, 96), (64, 64), (120, 40)]
PROMPTS = ["a red cat on the street", "a small boat in the river", "a round face", "the dark sky and a bright house"]
LONG = "red " * 100


def named(builds: list[Build]) -> Any:
    return pytest.mark.parametrize("build", builds, ids=lambda build: build.__name__.removeprefix("build_"))


@pytest.fixture(autouse=True)
def inference() -> Iterator[None]:
    with torch.inference_mode():
        yield


@pytest.fixture
def images(tmp_path: Path) -> list[Image.Image]:
    drawn = [draw(tmp_path / f"{number}.png", number, size) for number, size in enumerate(SIZES)]
    return [Image.open(path).convert("RGB") for path in drawn]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def closest(features: Any) -> float:
    """The largest cosine between two different rows."""
    unit = torch.nn.functional.normalize(features.double(), dim=-1)
    return float((unit @ unit.T - 2 * torch.eye(len(unit))).max())


@named([*SAFETENSORS, inception.build_inception])
def test_the_same_bytes_for_the_same_seed(build: Build, tmp_path: Path):
    state = torch.get_rng_state()
    first, again, other = (contents(build(tmp_path / str(n), seed)) for n, seed in enumerate((0, 0, 1)))
    assert first == again
    assert first != other
    assert sum(map(len, first.values())) < 3e6
    assert torch.equal(state, torch.get_rng_state())


@named(SAFETENSORS)
def test_one_changed_weight(build: Build, tmp_path: Path):
    folder = build(tmp_path / "checkpoint")
    before = contents(folder)
    name = str(change_one_weight(folder).relative_to(folder))
    after = contents(folder)
    assert [key for key in before if before[key] != after[key]] == [name]
    changed = sum(one != other for one, other in zip(before[name], after[name], strict=True))
    assert 1 <= changed <= 4


def answers(folder: Path, images: list[Image.Image], **settings: Any) -> list[str]:
    """The images described together, with the settings that make decoding greedy unless given."""
    processor = transformers.AutoProcessor.from_pretrained(folder)
    model = transformers.AutoModelForImageTextToText.from_pretrained(folder, dtype="float32", use_safetensors=True)
    content = [[{"type": "image", "image": image}, {"type": "text", "text": "Describe it."}] for image in images]
    inputs = processor.apply_chat_template(
        [[{"role": "user", "content": parts}] for parts in content],
        add_generation_prompt=True,
        tokenize=True,
        return_dict=True,
        return_tensors="pt",
        processor_kwargs={"padding": True},
    )
    greedy = {"do_sample": False, "temperature": None, "top_k": None, "top_p": None, "max_new_tokens": 16}
    made = model.generate(**inputs, **greedy, **settings)
    return processor.batch_decode(made[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)


@named(MODELS)
def test_a_model_tells_images_apart_in_words(build: Build, tmp_path: Path, images: list[Image.Image]):
    folder = build(tmp_path / "checkpoint")
    together = answers(folder, images, repetition_penalty=1.0)
    assert len(set(together)) == len(images)
    assert all(text and set(text.split()) <= set(WORDS) for text in together)
    assert [answers(folder, [image], repetition_penalty=1.0)[0] for image in images] == together


def test_saved_settings_leak_into_greedy_decoding(tmp_path: Path, images: list[Image.Image]):
    folder = vision_language.build_qwen2_5_vl(tmp_path / "checkpoint")
    assert answers(folder, images) != answers(folder, images, repetition_penalty=1.0)


def paint(folder: Path, prompts: list[str], seeds: list[int]) -> Any:
    pipeline = diffusers.AutoPipelineForText2Image.from_pretrained(folder, dtype=torch.float32, use_safetensors=True)
    pipeline.set_progress_bar_config(disable=True)
    generators = [torch.Generator("cpu").manual_seed(seed) for seed in seeds]
    made = pipeline(prompts, generator=generators, num_inference_steps=3, height=32, width=32)
    return np.stack([np.asarray(image, dtype=np.int64) for image in made.images])


@named(PIPELINES)
def test_a_pipeline_tells_prompts_and_seeds_apart(build: Build, tmp_path: Path):
    folder = build(tmp_path / "checkpoint")
    prompted = paint(folder, PROMPTS, [0, 0, 0, 0])
    seeded = paint(folder, PROMPTS[:1] * 4, [0, 1, 2, 3])
    assert prompted.shape == (4, 32, 32, 3)
    for made in (prompted, seeded):
        assert all(np.abs(made[i] - made[j]).mean() > 10 for i in range(4) for j in range(i))
        assert all(20 < image.std() < 80 and np.isin(image, (0, 255)).mean() < 0.1 for image in made)
    alone = np.concatenate([paint(folder, [prompt], [0]) for prompt in PROMPTS])
    assert np.abs(alone - prompted).max() <= 2


@named(PIPELINES)
def test_what_a_pipeline_reads_of_a_long_prompt(build: Build, tmp_path: Path):
    folder = build(tmp_path / "checkpoint")
    one, other = paint(folder, [LONG + "cat", LONG + "dog"], [0, 0])
    reads_t5 = build is diffusion.build_flux
    assert (np.abs(one - other).max() > 2) == reads_t5


@named(VISION)
def test_an_image_encoder_tells_images_apart(build: Build, tmp_path: Path, images: list[Image.Image]):
    folder = build(tmp_path / "checkpoint")
    prepare = transformers.AutoImageProcessor.from_pretrained(folder)
    model, loaded = transformers.AutoModel.from_pretrained(
        folder, dtype="float32", use_safetensors=True, output_loading_info=True
    )
    without = build is encoders.build_vit_without_pooler
    assert loaded["missing_keys"] == ({"pooler.dense.weight", "pooler.dense.bias"} if without else set())
    features = model(**prepare(images, return_tensors="pt")).last_hidden_state[:, 0]
    assert features.shape == (4, 32)
    assert closest(features) < 0.99


def test_clip(tmp_path: Path, images: list[Image.Image]):
    folder = encoders.build_clip(tmp_path / "checkpoint")
    processor = transformers.AutoProcessor.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder, dtype="float32", use_safetensors=True)
    seen = model.get_image_features(**processor(images=images, return_tensors="pt")).pooler_output
    texts = processor(text=[*PROMPTS, LONG], padding=True, truncation=True, return_tensors="pt")
    assert texts["input_ids"].shape == (5, 77)
    assert closest(seen) < 0.99
    assert closest(model.get_text_features(**texts).pooler_output) < 0.99


def test_open_clip(tmp_path: Path, images: list[Image.Image]):
    name = f"local-dir:{openclip.build_open_clip(tmp_path / 'checkpoint')}"
    model, prepare = open_clip.create_model_from_pretrained(name)
    texts = open_clip.get_tokenizer(name)([*PROMPTS, LONG])
    assert texts.shape == (5, 77)
    assert closest(model.eval().encode_image(torch.stack([prepare(image) for image in images]))) < 0.99
    assert closest(model.encode_text(texts)) < 0.99


def test_sentence_transformer(tmp_path: Path):
    folder = encoders.build_sentence_transformer(tmp_path / "checkpoint")
    model = sentence_transformers.SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    assert model.max_seq_length == encoders.SENTENCE_LENGTH
    features = model.encode([*PROMPTS, LONG + "cat", LONG + "dog"], convert_to_tensor=True)
    assert closest(features[:5]) < 0.99
    assert torch.equal(features[4], features[5])


def test_inception(tmp_path: Path, images: list[Image.Image]):
    folder = str(inception.build_inception(tmp_path / "checkpoint"))
    resize = build_resizer("clean")
    batch = torch.from_numpy(np.stack([resize(np.asarray(image)).transpose(2, 0, 1) for image in images]))
    features = InceptionV3W(folder, download=False)(batch)
    assert features.shape == (4, 2048)
    assert closest(features) < 0.99
    assert torch.equal(InceptionV3W(folder, download=False, resize_inside=True)(batch), features)


def test_a_missing_weight_is_in_the_loading_info_only(tmp_path: Path):
    folder = encoders.build_dinov2(tmp_path / "checkpoint")
    drop_one_weight(folder)
    _, loaded = transformers.AutoModel.from_pretrained(folder, output_loading_info=True)
    assert loaded["missing_keys"] == {"embeddings.cls_token"}

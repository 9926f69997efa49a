"""Checkpoints of real size on this machine's GPU: how much of the bare library's speed is left?

Run: python perf/engines.py [PATH]

PATH is a folder with a vision-language checkpoint that transformers loads; without one, and for the
generator always, weights are random, in the layouts of Qwen2.5-VL-3B and SDXL. The opponent is a
loop around the very same loaded weights. vLLM is measured if it is installed. The images are noise
and no answer ends, so that each has its full length.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from statistics import mean
from threading import Event, Thread
from typing import Any

import numpy as np
import torch
from _report import ROOT, write
from PIL import Image

from driftledger.collect.call import Ask, Draw, Steps
from driftledger.collect.progress import Progress
from driftledger.collect.run import Collector
from driftledger.collect.store import CallStore
from driftledger.components.diffusers import Diffusers
from driftledger.components.transformers import Transformers
from driftledger.components.vllm import VLLM
from driftledger.core.canonical import sha256_file
from driftledger.core.types import Conversation, Medium, Subject

sys.path.insert(0, str(ROOT))

PROMPT = (
    "Please write a clear, precise, detailed, and concise description of all elements "
    "in the image."
)
DRAWING = ["a red house"]
TOKENS = 128
SIDE = 336
STEPS = 20
DRAWN_SIDE = 1024
DESCRIBED = {1: 2, 16: 32, 64: 64}
"""Size of batches → images described."""
DRAWN = {1: 2, 4: 4}
"""Size of batches → images drawn."""
CHAINS = 16
ITERATIONS = 2
DTYPE = "bfloat16"


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = (
            Path(sys.argv[1]) if len(sys.argv) > 1 else build_describer(folder / "vlm")
        )
        images = [noise(folder, number) for number in range(max(DESCRIBED.values()))]
        rows = []
        model = Transformers(
            path=str(path), dtype=DTYPE, max_new_tokens=TOKENS, batch_size=16
        )
        began = time.perf_counter()
        print(model.fingerprint[:12], flush=True)
        hashed = time.perf_counter()
        model.loaded  # noqa: B018
        rows.append(row("describer: fingerprint", hashed - began, "s"))
        rows.append(row("describer: load", time.perf_counter() - hashed, "s"))
        for size, count in DESCRIBED.items():
            rows += beside_each_other(
                "describe",
                images[:count],
                size,
                ours=lambda some: model.respond([asked(each) for each in some]),
                bare=lambda some: bare_descriptions(model, some),
            )
        same = model.respond([asked(each) for each in images[:16]])
        again = model.respond([asked(each) for each in images[:16]])
        equal = [one.text == two.text for one, two in zip(same, again, strict=True)]
        rows.append(row("descriptions equal when asked again", mean(equal), "share"))
        alone = [model.respond([asked(each)])[0] for each in images[:4]]
        equal = [one.text == two.text for one, two in zip(same[:4], alone, strict=True)]
        rows.append(row("descriptions equal when asked alone", mean(equal), "share"))
        generator = Diffusers(
            path=str(build_generator(folder / "sdxl")),
            dtype=DTYPE,
            steps=STEPS,
            width=DRAWN_SIDE,
            height=DRAWN_SIDE,
            batch_size=4,
        )
        for size, count in DRAWN.items():
            rows += beside_each_other(
                "draw",
                range(count),
                size,
                ours=lambda seeds: generator.generate(DRAWING * len(seeds), seeds),
                bare=lambda seeds: bare_drawings(generator, seeds),
            )
        rows += chains(model, generator, images[:CHAINS], folder)
        peak = torch.cuda.max_memory_allocated() / 2**30
        rows.append(row("memory of the GPU at most", peak, "GiB"))
        libraries = ["torch", "transformers", "diffusers"]
        if find_spec("vllm") is not None:
            model.release()
            generator.release()
            engine = VLLM(path=str(path), dtype=DTYPE, max_new_tokens=TOKENS)
            conversations = [asked(each) for each in images]
            engine.respond(conversations[:4])
            began = time.perf_counter()
            engine.respond(conversations)
            pace = len(images) / (time.perf_counter() - began)
            rows.append(row("describe, vLLM", pace, "calls a second"))
            libraries.append("vllm")
    write("engines", {"rows": rows}, libraries)


def row(what: str, value: float, unit: str, beside: str = "") -> dict[str, Any]:
    print(what, round(value, 3), unit, beside, flush=True)
    return {
        "what": what,
        "value": round(value, 3),
        "unit": unit,
        "goal": None,
        "beside": beside,
    }


def beside_each_other(
    what: str,
    inputs: Sequence[Any],
    size: int,
    *,
    ours: Callable[[Any], object],
    bare: Callable[[Any], object],
) -> Iterator[dict[str, Any]]:
    """Time both in turn, twice after a first round that warms up; the faster of each counts."""
    times: dict[Callable[[Any], object], list[float]] = {ours: [], bare: []}
    for _ in range(3):
        for contestant, seconds in times.items():
            torch.cuda.synchronize()
            began = time.perf_counter()
            for start in range(0, len(inputs), size):
                contestant(inputs[start : start + size])
            torch.cuda.synchronize()
            seconds.append(time.perf_counter() - began)
    pace = len(inputs) / min(times[ours][1:])
    bare_pace = len(inputs) / min(times[bare][1:])
    share = f"{pace / bare_pace:.1%} of the bare library's {bare_pace:.2f}"
    yield row(f"{what}, batches of {size}", pace, "calls a second", share)


def asked(image: Medium) -> Conversation:
    return Conversation.ask(PROMPT, image)


def bare_descriptions(model: Transformers, images: Sequence[Medium]) -> list[str]:
    """Describe images by transformers alone, with the weights that ``model`` has loaded."""
    ready = model.loaded
    processor = ready.chat.processor
    turn = {
        "role": "user",
        "content": [{"type": "image"}, {"type": "text", "text": PROMPT}],
    }
    prompt = processor.apply_chat_template(
        [turn], add_generation_prompt=True, tokenize=False
    )
    opened = []
    for image in images:
        with Image.open(image.path) as picture:
            opened.append(picture.convert("RGB"))
    inputs = processor(
        text=[prompt] * len(images), images=opened, padding=True, return_tensors="pt"
    ).to("cuda", torch.bfloat16)
    with torch.inference_mode():
        generated = ready.model.generate(
            **inputs, max_new_tokens=TOKENS, do_sample=False
        )
    new = generated[:, inputs["input_ids"].shape[1] :]
    texts: list[str] = processor.batch_decode(new, skip_special_tokens=True)
    return texts


def bare_drawings(generator: Diffusers, seeds: Sequence[int]) -> Any:
    """Draw by diffusers alone, with the weights that ``generator`` has loaded."""
    generators = [torch.Generator("cpu").manual_seed(seed) for seed in seeds]
    with torch.inference_mode():
        return generator.loaded.pipeline(
            prompt=DRAWING * len(seeds),
            generator=generators,
            num_inference_steps=STEPS,
            width=DRAWN_SIDE,
            height=DRAWN_SIDE,
            output_type="pil",
        ).images


def chains(
    model: Transformers, generator: Diffusers, images: Sequence[Medium], folder: Path
) -> Iterator[dict[str, Any]]:
    """Collect chains of both on one GPU, and see how busy it is: a look takes 0.2 ms.

    Pictures that the generator drew have more tokens than those of noise, so that a share of the
    pace of either component alone would mean nothing.
    """
    # of both, which else would be computed within the first call
    print(model.fingerprint[:12], generator.fingerprint[:12], flush=True)
    busy: list[int] = []
    ended = Event()

    def watch() -> None:
        while not ended.wait(0.1):
            busy.append(torch.cuda.utilization())

    watcher = Thread(target=watch)
    watcher.start()
    seconds = collected(model, generator, images, folder / "store")
    ended.set()
    watcher.join()
    yield row(f"{CHAINS} chains of {ITERATIONS}, collected", seconds, "s")
    yield row("GPU in use meanwhile", mean(busy), "%")
    idle = sum(share == 0 for share in busy) / len(busy)
    yield row("looks that found the GPU idle", 100 * idle, "%")


def collected(
    model: Transformers, generator: Diffusers, images: Sequence[Medium], folder: Path
) -> float:
    """Return how many seconds it takes to collect a chain of each image into a new store."""
    with (
        CallStore(folder) as store,
        Collector(store) as collector,
        Progress("chains", total=0) as progress,
    ):
        began = time.perf_counter()
        collector.run(
            [chain(model, generator, image, k) for k, image in enumerate(images)],
            progress,
        )
        return time.perf_counter() - began


def chain(
    model: Transformers, generator: Diffusers, image: Medium, number: int
) -> Steps[None]:
    for t in range(ITERATIONS):
        subject = Subject(str(number), t)
        described = yield Ask(model, "describe", asked(image), subject)
        drawn = yield Draw(generator, described.text or "", number, subject)
        if drawn.medium is None:
            raise RuntimeError(f"{drawn.outcome}: {drawn.error}")
        image = drawn.medium


def noise(folder: Path, number: int) -> Medium:
    file = folder / f"{number}.png"
    pixels = np.random.default_rng(number).integers(
        0, 256, (SIDE, SIDE, 3), dtype=np.uint8
    )
    Image.fromarray(pixels).save(file)
    return Medium(file, sha256_file(file))


def build_describer(folder: Path) -> Path:
    """Save Qwen2.5-VL-3B's layout with random weights, but a small vocabulary."""
    import transformers
    from transformers.models.qwen2_vl.image_processing_qwen2_vl import (
        Qwen2VLImageProcessor,
    )

    from tests.support.checkpoints.vision_language import build_qwen2_5_vl

    build_qwen2_5_vl(folder)
    processor = transformers.AutoProcessor.from_pretrained(folder)
    processor.image_processor = Qwen2VLImageProcessor()
    config = transformers.AutoConfig.from_pretrained(folder)
    real = transformers.Qwen2_5_VLConfig()
    tokens = {
        name: value
        for name, value in config.to_dict().items()
        if name.endswith("_token_id")
    }
    text = real.text_config.to_dict() | {
        "hidden_size": 2048,
        "intermediate_size": 11008,
        "num_hidden_layers": 36,
        "num_attention_heads": 16,
        "num_key_value_heads": 2,
        "max_window_layers": 70,
        "layer_types": ["full_attention"] * 36,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 1e6,
            "mrope_section": [16, 24, 24],
        },
        "vocab_size": config.text_config.vocab_size,
        "bos_token_id": config.text_config.bos_token_id,
        "eos_token_id": config.text_config.eos_token_id,
        "pad_token_id": config.text_config.pad_token_id,
    }
    vision = real.vision_config.to_dict() | {
        "depth": 32,
        "hidden_size": 1280,
        "intermediate_size": 3420,
        "num_heads": 16,
        "out_hidden_size": 2048,
    }
    random = on_the_gpu(
        lambda: transformers.Qwen2_5_VLForConditionalGeneration(
            transformers.Qwen2_5_VLConfig(
                text_config=text, vision_config=vision, **tokens
            )
        )
    )
    with torch.no_grad():
        head = random.get_output_embeddings().weight
        head[config.text_config.eos_token_id] = 0
    random.generation_config = transformers.GenerationConfig(
        eos_token_id=config.text_config.eos_token_id,
        pad_token_id=config.text_config.pad_token_id,
    )
    random.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def build_generator(folder: Path) -> Path:
    """Save SDXL's layout with random weights, but a small vocabulary."""
    import diffusers
    import transformers

    from tests.support.checkpoints.text import clip_tokenizer

    tokenizer = clip_tokenizer()
    words = {
        "vocab_size": len(tokenizer),
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    small = transformers.CLIPTextConfig(
        hidden_size=768,
        intermediate_size=3072,
        num_hidden_layers=12,
        num_attention_heads=12,
        projection_dim=768,
        **words,
    )
    large = transformers.CLIPTextConfig(
        hidden_size=1280,
        intermediate_size=5120,
        num_hidden_layers=32,
        num_attention_heads=20,
        projection_dim=1280,
        hidden_act="gelu",
        **words,
    )
    down = ("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D")
    up = ("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D")
    channels = (128, 256, 512, 512)
    parts = {
        "text_encoder": lambda: transformers.CLIPTextModel(small),
        "text_encoder_2": lambda: transformers.CLIPTextModelWithProjection(large),
        "unet": lambda: diffusers.UNet2DConditionModel(
            sample_size=128,
            block_out_channels=(320, 640, 1280),
            down_block_types=down,
            up_block_types=up,
            transformer_layers_per_block=(1, 2, 10),
            attention_head_dim=(5, 10, 20),
            cross_attention_dim=2048,
            addition_embed_type="text_time",
            addition_time_embed_dim=256,
            projection_class_embeddings_input_dim=2816,
            use_linear_projection=True,
        ),
        "vae": lambda: diffusers.AutoencoderKL(
            block_out_channels=channels,
            down_block_types=("DownEncoderBlock2D",) * len(channels),
            up_block_types=("UpDecoderBlock2D",) * len(channels),
            layers_per_block=2,
            sample_size=1024,
            scaling_factor=0.13025,
        ),
    }
    pipeline = diffusers.StableDiffusionXLPipeline(
        tokenizer=tokenizer,
        tokenizer_2=tokenizer,
        scheduler=diffusers.EulerDiscreteScheduler(
            beta_start=0.00085,
            beta_end=0.012,
            beta_schedule="scaled_linear",
            steps_offset=1,
        ),
        **{name: on_the_gpu(make) for name, make in parts.items()},
    )
    pipeline.save_pretrained(folder)
    return folder


def on_the_gpu(make: Callable[[], Any]) -> Any:
    """Make a model with random weights, where that takes a second."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
            return make().eval()
    finally:
        torch.set_default_dtype(before)


if __name__ == "__main__":
    main()

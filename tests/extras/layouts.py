"""Layouts of vision-language models and pipelines: tiny checkpoints of random weights."""

from pathlib import Path
from typing import Any

from driftledger.components.transformers import Transformers
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import DriftledgerError
from driftledger.core.thinking import separated
from driftledger.core.types import Conversation, ImageFile, Outcome, Turn
from tests.conftest import draw
from tests.extras.chatting import PROMPTS, SIZES

OLDER = {"LLaVA-1.5": "llava", "Qwen2.5-VL": "qwen2_5_vl", "SmolVLM": "smolvlm"}
PIPELINES: dict[str, tuple[str, dict[str, Any]]] = {
    "Stable Diffusion": ("stable_diffusion", {}),
    "SDXL": ("stable_diffusion_xl", {}),
    "FLUX.1": ("flux", {}),
    "PixArt-Sigma": ("pixart", {"arguments": {"use_resolution_binning": False}}),
    "Sana": ("sana", {"arguments": {"use_resolution_binning": False}}),
    "Z-Image": ("z_image", {}),
    "FLUX.2 klein": ("flux_2", {"arguments": {"text_encoder_out_layers": [1]}}),
    "Qwen-Image": ("qwen_image", {}),
}
"""Pipeline → the end of the name of what builds it, and settings that its size asks for."""
TEMPLATE = (
    "{% for message in messages %}{% for part in message['content'] %}"
    "{{ part['text'] if part['type'] == 'text' else 'IMAGE' }}{% endfor %}{% endfor %}"
)
"""For checkpoints that are published without one."""


MARKS = {"Gemma 4": ("<|channel>thought\n", "<channel|>")}
MARKS |= dict.fromkeys(("Mistral Small 3", "Pixtral"), ("[THINK]", "[/THINK]"))
"""Layout → the special tokens around what its publisher's thinking models think; others write ``<think>``."""


def families() -> list[str]:
    from tests.support.checkpoints.layouts import LAYOUTS

    return [*OLDER, *LAYOUTS]


def row(family: str, root: Path) -> dict[str, Any]:
    """What becomes of one layout; ``error`` says why not."""
    from tests.support.checkpoints import layouts, vision_language

    folder = root / family.replace(" ", "_")
    settings: dict[str, Any] = {"path": str(folder), "device": "cpu", "max_new_tokens": 8}
    if family in OLDER:
        getattr(vision_language, f"build_{OLDER[family]}")(folder)
    else:
        layout = layouts.LAYOUTS[family]
        layouts.build(folder, layout)
        if not layout["image"]:
            template = root / "template.jinja"
            template.write_text(TEMPLATE.replace("IMAGE", layout.get("placeholder", "")), encoding="utf-8")
            settings |= {"chat_template": str(template)} | layout.get("settings", {})
    drawn = [draw(root / f"{number}.png", number, size) for number, size in enumerate(SIZES)]
    images = [ImageFile(path, sha256_file(path)) for path in drawn]
    asked = [Conversation.ask(prompt, image) for prompt, image in zip(PROMPTS, images, strict=True)]
    model = Transformers.model_validate(settings)
    default = "chat_template" not in settings
    found: dict[str, Any] = {"family": family, "default entry": default, "images": model.backend}
    blind = [Conversation((Turn("user", ("Describe it.",)),))] if default else []  # some refuse to be asked without
    try:
        together = model.respond([*asked, *blind])
        alone = [model.respond([each])[0] for each in (*asked, *blind)]
    except (DriftledgerError, ValueError, TypeError, RuntimeError) as error:
        failed = dict.fromkeys(("describes", "batch = single", "thoughts taken out"), False)
        return found | failed | {"error": str(error)[:200]}
    described = all(reply.outcome.goes_on and reply.text for reply in together)
    differ = len({model.respond([Conversation.ask("a", image)])[0].text for image in images}) > 1
    found |= {"describes": described and differ, "batch = single": together == alone}
    return found | {
        "thoughts taken out": takes_thoughts_out(model, asked[0], *MARKS.get(family, ("<think>", "</think>")))
    }


def takes_thoughts_out(model: Transformers, asked: Conversation, begin: str, end: str) -> bool:
    """Whether thoughts between special tokens and what follows them are told apart, in a reply with tokens of ours."""
    import torch

    ready = model.loaded
    tokenizer = ready.chat.processor.tokenizer
    tokenizer.add_special_tokens({"additional_special_tokens": [begin.removesuffix("thought\n"), end]})
    tokens = tokenizer.encode(f"{begin}a red cat{end}the dog", add_special_tokens=False) + sorted(ready.ends)[:1]

    def generate(input_ids: Any, **_: Any) -> Any:
        start = input_ids[:, :1] if ready.model.config.is_encoder_decoder else input_ids
        return torch.cat([start, torch.tensor([tokens])], dim=1)

    ready.model.generate = generate
    reply = separated(model.respond([asked])[0], asked)
    return (reply.text, reply.reasoning, reply.outcome) == ("the dog", "a red cat", Outcome.OK)

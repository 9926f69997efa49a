"""Today's vision-language layouts: each is loaded, describes, also in a batch, and keeps its
thoughts apart."""

from pathlib import Path
from typing import Any

import pytest
import torch

from driftledger.components.thinking import separated
from driftledger.components.transformers import Transformers
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import DriftledgerError
from driftledger.core.types import Conversation, Medium, Outcome, Turn
from tests.conftest import draw
from tests.extras.chatting import PROMPTS, SIZES
from tests.support.checkpoints import layouts, vision_language

WITHOUT_TEMPLATE = {"BLIP-2", "Florence-2", "Fuyu", "PaliGemma"}
TORCHVISION = {"Command A Vision", "Fuyu", "LFM2-VL", "Llama 4", "Phi-4-multimodal"}
"""Transformers handles their images with nothing else."""
DIFFERS = {"Phi-4-multimodal"}
"""In transformers 5.23 an image without padding has other features in a batch."""
OLDER = {"LLaVA-1.5": "llava", "Qwen2.5-VL": "qwen2_5_vl", "SmolVLM": "smolvlm"}
TEMPLATE = (
    "{% for message in messages %}{% for part in message['content'] %}"
    "{{ part['text'] if part['type'] == 'text' else 'IMAGE' }}{% endfor %}{% endfor %}"
)
"""For checkpoints that are published without one."""


MARKS = {"Gemma 4": ("<|channel>thought\n", "<channel|>")}
MARKS |= dict.fromkeys(("Mistral Small 3", "Pixtral"), ("[THINK]", "[/THINK]"))
"""Layout → the special tokens around what its publisher's thinking models think; others write
``<think>``."""


def row(family: str, root: Path) -> dict[str, Any]:
    """What becomes of one layout; ``error`` says why not."""
    folder = root / family.replace(" ", "_")
    settings: dict[str, Any] = {"path": str(folder), "device": "cpu", "max_new_tokens": 8}
    if family in OLDER:
        getattr(vision_language, f"build_{OLDER[family]}")(folder)
    else:
        layout = layouts.LAYOUTS[family]
        layouts.build(folder, layout)
        if not layout["image"]:
            template = root / "template.jinja"
            template.write_text(
                TEMPLATE.replace("IMAGE", layout.get("placeholder", "")), encoding="utf-8"
            )
            settings |= {"chat_template": str(template)} | layout.get("settings", {})
    drawn = [draw(root / f"{number}.png", number, size) for number, size in enumerate(SIZES)]
    images = [Medium(path, sha256_file(path)) for path in drawn]
    asked = [Conversation.ask(prompt, image) for prompt, image in zip(PROMPTS, images, strict=True)]
    model = Transformers.model_validate(settings)
    default = "chat_template" not in settings
    found: dict[str, Any] = {"family": family, "default entry": default, "images": model.backend}
    # some refuse to be asked without
    blind = [Conversation((Turn("user", ("Describe it.",)),))] if default else []
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
        "thoughts taken out": takes_thoughts_out(
            model, asked[0], *MARKS.get(family, ("<think>", "</think>"))
        )
    }


def takes_thoughts_out(model: Transformers, asked: Conversation, begin: str, end: str) -> bool:
    """Whether thoughts between special tokens and what follows them are told apart, in a reply with
    tokens of ours."""
    ready = model.loaded
    tokenizer = ready.chat.processor.tokenizer
    tokenizer.add_special_tokens(
        {"additional_special_tokens": [begin.removesuffix("thought\n"), end]}
    )
    tokens = (
        tokenizer.encode(f"{begin}a red cat{end}the dog", add_special_tokens=False)
        + sorted(ready.ends)[:1]
    )

    def generate(input_ids: Any, **_: Any) -> Any:
        start = input_ids[:, :1] if ready.model.config.is_encoder_decoder else input_ids
        return torch.cat([start, torch.tensor([tokens])], dim=1)

    ready.model.generate = generate
    reply = separated(model.respond([asked])[0], asked)
    return (reply.text, reply.reasoning, reply.outcome) == ("the dog", "a red cat", Outcome.OK)


# Not Fuyu, whose processor fails.
@pytest.mark.parametrize("family", [each for each in (*OLDER, *layouts.LAYOUTS) if each != "Fuyu"])
def test_a_layout_describes(family, tmp_path):
    found = row(family, tmp_path)
    assert found == {
        "family": family,
        "default entry": family not in WITHOUT_TEMPLATE,
        "images": "torchvision" if family in TORCHVISION else "pil",
        "describes": True,
        "batch = single": family not in DIFFERS,
        "thoughts taken out": True,
    }

"""Today's vision-language layouts: each is loaded, describes, also in a batch, and keeps its
thoughts apart."""

from typing import Any

import pytest
import torch

from driftledger.components.thinking import separated
from driftledger.components.transformers import Transformers
from driftledger.core.types import Conversation, Outcome
from tests.extras.chatting import says
from tests.support.checkpoints import layouts

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


def settings_of(family, built, root):
    """Build a layout's checkpoint; the settings of a model that loads it."""
    settings: dict[str, Any] = {"device": "cpu", "max_new_tokens": 8}
    if family in OLDER:
        return settings | {"path": str(built[OLDER[family]])}
    layout = layouts.LAYOUTS[family]
    settings["path"] = str(layouts.build(root / family.replace(" ", "_"), layout))
    if layout["image"]:
        return settings
    template = root / "template.jinja"
    text = TEMPLATE.replace("IMAGE", layout.get("placeholder", ""))
    template.write_text(text, encoding="utf-8")
    return settings | {"chat_template": str(template)} | layout.get("settings", {})


def takes_thoughts_out(model, asked, begin, end):
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

    def generate(input_ids, **_):
        start = input_ids[:, :1] if ready.model.config.is_encoder_decoder else input_ids
        return torch.cat([start, torch.tensor([tokens])], dim=1)

    ready.model.generate = generate
    reply = separated(model.respond([asked])[0], asked)
    return (reply.text, reply.reasoning, reply.outcome) == (
        "the dog",
        "a red cat",
        Outcome.OK,
    )


# Not Fuyu, whose processor fails.
@pytest.mark.parametrize(
    "family", [each for each in (*OLDER, *layouts.LAYOUTS) if each != "Fuyu"]
)
def test_a_layout_describes(family, built, images, asked, tmp_path):
    settings = settings_of(family, built, tmp_path)
    assert ("chat_template" in settings) == (family in WITHOUT_TEMPLATE)
    model = Transformers.model_validate(settings)
    assert model.backend == ("torchvision" if family in TORCHVISION else "pil")
    conversations = list(asked)
    if (
        family not in WITHOUT_TEMPLATE
    ):  # some of them refuse to be asked without an image
        conversations.append(says(("user", "Describe it.")))
    together = model.respond(conversations)
    alone = [model.respond([each])[0] for each in conversations]
    assert all(reply.outcome.goes_on and reply.text for reply in together)
    assert (together == alone) == (family not in DIFFERS)
    seen = {model.respond([Conversation.ask("a", image)])[0].text for image in images}
    assert len(seen) > 1
    marks = MARKS.get(family, ("<think>", "</think>"))
    assert takes_thoughts_out(model, asked[0], *marks)

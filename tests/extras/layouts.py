"""Print which vision-language layouts are loaded and describe images: ``python -m tests.extras.layouts [FAMILY …]``.

Each is a tiny checkpoint of random weights, built from transformers' own configuration and processor.
"""

import sys
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from driftledger.components.transformers import Transformers
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import DriftledgerError
from driftledger.core.types import Conversation, ImageFile, Turn
from tests.conftest import draw
from tests.extras.chatting import PROMPTS, SIZES

OLDER = {"LLaVA-1.5": "llava", "Qwen2.5-VL": "qwen2_5_vl", "SmolVLM": "smolvlm"}
TEMPLATE = (
    "{% for message in messages %}{% for part in message['content'] %}"
    "{{ part['text'] if part['type'] == 'text' else 'IMAGE' }}{% endfor %}{% endfor %}"
)
"""For checkpoints that are published without one."""


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
        return found | {"describes": False, "batch = single": False, "error": str(error)[:200]}
    described = all(reply.outcome.goes_on and reply.text for reply in together)
    differ = len({model.respond([Conversation.ask("a", image)])[0].text for image in images}) > 1
    return found | {"describes": described and differ, "batch = single": together == alone}


def main() -> None:
    root = Path(mkdtemp())
    for number, family in enumerate(sys.argv[1:] or families()):
        one = row(family, root)
        if not number:
            print("|", " | ".join(one), "|\n" + "|---" * len(one) + "|")
        print("|", " | ".join(map(str, one.values())), "|", flush=True)


if __name__ == "__main__":
    main()

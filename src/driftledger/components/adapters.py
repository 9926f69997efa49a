"""What the files of an adapter say of it, read without torch."""

import re
from contextlib import suppress
from pathlib import Path

from driftledger.components.checkpoints import ADAPTER
from driftledger.core.canonical import Json
from driftledger.core.files import load_json, read_regular
from driftledger.core.registry import import_extra
from driftledger.core.text import for_line

TEMPLATE = "chat_template.jinja"
TEMPLATES = (TEMPLATE, "chat_template.json", "tokenizer_config.json")
"""The files in which a checkpoint may have its chat template."""
_ZERO_AT_FIRST = re.compile(r"lora_(?:embedding_)?B|lora[._]up|hada_w2_b|lokr_w1|oft_R")
"""In the names of weights: those that are zero until an adapter is trained."""
_OF_ADAPTERS = re.compile(
    r"lora[._]|(?:hada|lokr|oft|boft)_|\.alpha$|dora_scale"  # all else changes the base by itself
)
_BUILDS = re.compile(r"(?:-unsloth)?-bnb-[48]bit$|-(?:awq|gptq|fp8)(?:-.*)?$")
"""What the name of a base ends with where its weights are shrunk."""


def read_weights(file: Path) -> dict[str, bytes]:
    """Return the bytes of each weight in a safetensors file, by its name.

    Raises:
        OSError, ValueError: it cannot be read, is too large, or is another kind of file.
    """
    safetensors = import_extra("safetensors")
    try:
        weights = safetensors.deserialize(read_regular(file))
    except safetensors.SafetensorError as error:
        raise ValueError(for_line(str(error))) from None
    return {name: weight["data"] for name, weight in weights}


def does_nothing(file: Path) -> bool:
    """Return True if an adapter leaves its base as it is: it was not trained.

    A file that cannot be read is left for its loader to refuse.
    """
    with suppress(OSError, ValueError):
        weights = read_weights(file)
        first_zero = [name for name in weights if _ZERO_AT_FIRST.search(name)]
        if first_zero and all(map(_OF_ADAPTERS.search, weights)):
            return not any(any(weights[name]) for name in first_zero)
    return False


def is_dora(file: Path) -> bool:
    """Return True if an adapter scales the lengths of weights, too; False if it cannot be read."""
    with suppress(OSError, ValueError):
        names = " ".join(read_weights(file))
        return "dora_scale" in names or "lora_magnitude_vector" in names
    return False


def read_config(folder: Path) -> Json:
    """Read what peft says of an adapter; empty if it cannot be read, which its loader refuses."""
    with suppress(OSError, ValueError):
        config: Json = load_json(read_regular(folder / ADAPTER))
        return config
    return {}


def other_base(folder: Path, base: str) -> str:
    """Return a note on an adapter that names another base than the one below it; empty if it names
    none, or one that differs in its folder, owner or build alone."""
    named = read_config(folder).get("base_model_name_or_path")
    if not isinstance(named, str) or not named or _name(named) == _name(base):
        return ""
    return f"its adapter was made for {for_line(named)!r:.100}, which has another name"


def has_own_template(folder: Path, base: Path) -> bool:
    """Return True if an adapter comes with a chat template that its base does not have."""
    of_base = set[str]()
    with suppress(OSError, ValueError):
        of_base.add(read_regular(base / TEMPLATE).decode().strip())
    for name in TEMPLATES[1:]:
        with suppress(OSError, ValueError):
            template = load_json(read_regular(base / name)).get("chat_template")
            of_base.add(str(template).strip())
    with suppress(OSError, ValueError):
        return read_regular(folder / TEMPLATE).decode().strip() not in of_base
    return False


def _name(base: str) -> str:
    """Return the name of a base without its folder or owner, and what its build adds to it."""
    path = f"{base}/".replace("\\", "/")
    cached = re.search(r"models--[^/]+--([^/]+)/snapshots/", path)
    name = cached[1] if cached else path.rstrip("/").rpartition("/")[2]
    return re.sub(r"[-_.]", "", _BUILDS.sub("", name.casefold()))

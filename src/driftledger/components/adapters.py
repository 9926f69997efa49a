"""What the files of an adapter say of it, read without torch."""

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PureWindowsPath

from driftledger.components.checkpoints import ADAPTER, read_config
from driftledger.core.files import read_regular
from driftledger.core.registry import import_extra
from driftledger.core.text import for_line

TEMPLATES = ("chat_template.jinja", "chat_template.json", "tokenizer_config.json")
"""The files in which a checkpoint may have its chat template."""
_ZERO_AT_FIRST = re.compile(r"lora_(?:embedding_)?B|lora[._]up|hada_w2_b|lokr_w1|oft_R")
"""In the names of weights: those that are zero until an adapter is trained."""
_OF_ADAPTERS = re.compile(r"lora[._]|(?:hada|lokr|oft|boft)_|\.alpha$|dora_scale")
"""In the names of weights of adapters; all others change the base by themselves."""
_BUILDS = re.compile(r"(?:-unsloth)?-bnb-[48]bit$|-(?:awq|gptq|fp8)(?:-.*)?$|[-_.]")
"""What the names of one base may differ in: how its weights are shrunk, and punctuation."""


def read_weights(file: Path) -> Mapping[str, bytes]:
    """Return the bytes of each weight in a safetensors file, by its name.

    There are none if it cannot be read, which its loader refuses.
    """
    safetensors = import_extra("safetensors")
    with suppress(OSError, ValueError, safetensors.SafetensorError):
        weights = safetensors.deserialize(read_regular(file))
        return {name: weight["data"] for name, weight in weights}
    return {}


def does_nothing(file: Path) -> bool:
    """Return True if an adapter leaves its base as it is: it was not trained."""
    weights = read_weights(file)
    first_zero = [weights[name] for name in weights if _ZERO_AT_FIRST.search(name)]
    if not first_zero or not all(map(_OF_ADAPTERS.search, weights)):
        return False
    return not any(map(any, first_zero))


def is_dora(file: Path) -> bool:
    """Return True if an adapter scales the lengths of weights, too."""
    names = " ".join(read_weights(file))
    return "dora_scale" in names or "lora_magnitude_vector" in names


def other_base(folder: Path, base: str) -> str:
    """Return the base that an adapter names; empty if it names none, or the one below it."""
    named = read_config(folder / ADAPTER).get("base_model_name_or_path")
    if not isinstance(named, str) or not named or _name(named) == _name(base):
        return ""
    return for_line(named)


def template_of(folder: Path) -> str:
    """Return the chat template of a checkpoint or an adapter; empty if it has none."""
    with suppress(OSError, ValueError):
        return read_regular(folder / TEMPLATES[0]).decode().strip()
    for name in TEMPLATES[1:]:
        template = read_config(folder / name).get("chat_template")
        if isinstance(template, str):
            return template.strip()
    return ""


def _name(base: str) -> str:
    """Return the name of a base without its folder or owner, and without its build."""
    path = re.sub(r"[/\\]snapshots[/\\]\w+[/\\]?$", "", base)
    name = PureWindowsPath(path).name  # which takes both kinds of slashes
    return _BUILDS.sub("", name.rpartition("--")[2].casefold())

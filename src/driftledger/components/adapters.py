"""Facts of an adapter's files, read without torch."""

import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PureWindowsPath

from driftledger.components.checkpoints import ADAPTER, read_config
from driftledger.core.files import read_regular
from driftledger.core.registry import import_extra
from driftledger.core.text import for_line

TEMPLATES = ("chat_template.jinja", "chat_template.json", "tokenizer_config.json")
"""Files that may hold a checkpoint's chat template."""
_ZERO_AT_FIRST = re.compile(r"lora_(?:embedding_)?B|lora[._]up|hada_w2_b|lokr_w1|oft_R")
"""Names of weights that are zero until an adapter is trained."""
_OF_ADAPTERS = re.compile(r"lora[._]|(?:hada|lokr|oft|boft)_|\.alpha$|dora_scale")
"""Names of weights that work with others of an adapter; all others change the base alone."""
_BUILDS = re.compile(r"(?:-unsloth)?-bnb-[48]bit$|-(?:awq|gptq|fp8)(?:-.*)?$|[-_.]")
"""Parts in which names of one base may differ: the kind of quantization, and punctuation."""


def read_weights(file: Path) -> Mapping[str, bytes]:
    """Return the bytes of each weight in a safetensors file, by its name.

    The result is empty if the file cannot be read; its loader refuses it later.
    """
    safetensors = import_extra("safetensors")
    with suppress(OSError, ValueError, safetensors.SafetensorError):
        weights = safetensors.deserialize(read_regular(file))
        return {name: weight["data"] for name, weight in weights}
    return {}


def does_nothing(file: Path) -> bool:
    """Return True if an adapter was not trained, so that it changes nothing."""
    weights = read_weights(file)
    first_zero = [weights[name] for name in weights if _ZERO_AT_FIRST.search(name)]
    if not first_zero or not all(map(_OF_ADAPTERS.search, weights)):
        return False
    return not any(map(any, first_zero))


def is_dora(file: Path) -> bool:
    """Return True if an adapter also scales the lengths of weights."""
    names = " ".join(read_weights(file))
    return "dora_scale" in names or "lora_magnitude_vector" in names


def other_base(folder: Path, base: str) -> str:
    """Return the base that an adapter names if it is another one; else nothing."""
    theirs = read_config(folder / ADAPTER).get("base_model_name_or_path")
    if not isinstance(theirs, str) or not theirs or _name(theirs) == _name(base):
        return ""
    return for_line(theirs)


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
    name = PureWindowsPath(path).name  # it reads both kinds of slashes
    return _BUILDS.sub("", name.rpartition("--")[2].casefold())

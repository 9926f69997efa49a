"""Optional libraries: which extra installs one, and how it is imported where it is needed.

Beside the registry, since a component's code imports it: another line in the registry is no other code of a component.
"""

from importlib import import_module
from typing import Any

from driftledger.core.errors import MissingExtraError

EXTRAS = {
    "datasets": "huggingface",
    "huggingface_hub": "huggingface",
    "safetensors": "torch",
    "openai": "openai",
    "openpyxl": "xlsx",
    "torch": "torch",
    "torchvision": "torch",
    "transformers": "torch",
    "accelerate": "torch",
    "bitsandbytes": "quantization",
    "diffusers": "diffusers",
    "open_clip": "open_clip",
    "sentence_transformers": "sentence",
    "cleanfid": "fid",
    "inspect_ai": "inspect",
}
"""Top-level module of an optional library → the extra of this package that installs it."""


def import_extra(module: str) -> Any:
    """Import an optional library, or say in one sentence which extra installs it.

    Raises:
        MissingExtraError: the library is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        top = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != top:
            raise
        raise MissingExtraError(
            f"the library {top!r} is not installed; run: pip install 'driftledger[{EXTRAS[top]}]'"
        ) from None

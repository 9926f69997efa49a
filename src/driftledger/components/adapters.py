"""Adapters of peft, put on top of a checkpoint that speaks: their files, and the base they fit."""

import re
from pathlib import Path
from typing import Any

from pydantic import model_validator

from driftledger.components.checkpoints import (
    ADAPTER,
    Pinned,
    refuse_random,
    remembered_sha256,
)
from driftledger.core.errors import ConfigError, first_few
from driftledger.core.files import load_json, read_regular
from driftledger.core.registry import import_extra
from driftledger.core.text import for_line
from driftledger.data.hub import Source

WEIGHTS = "adapter_model.safetensors"
"""The weights as peft saves them; its pickles are not loaded."""
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
_SHRUNK = re.compile(r"(-unsloth)?-bnb-[48]bit$|-(awq|gptq|fp8)\b.*$")
"""Ends of the names of quantized copies, on which adapters are trained to save memory."""


class Adapter(Pinned):
    """An adapter in a local folder, or in a repository on the hub at a revision.

    A text alone is its ``path``.
    """

    @model_validator(mode="before")
    @classmethod
    def _path_alone(cls, data: Any) -> Any:
        return {"path": data} if isinstance(data, str) else data

    @property
    def title(self) -> str:
        """The name in sentences."""
        return f"adapter {self.path!r:.200}"

    def identity(self) -> dict[str, Any]:
        """Return the commit, or the SHA-256 of each file."""
        folder, repository, commit = self.source
        if folder is None:
            return {"repository": repository, "commit": commit}
        self._refuse_incomplete(folder)
        return {name: remembered_sha256(folder / name) for name in (ADAPTER, WEIGHTS)}

    def files(self, base: Source) -> tuple[Path, dict[str, Any]]:
        """Fetch the files; return their folder and the configuration.

        Raises:
            ConfigError: a file is missing or damaged, or names another base on the hub.
        """
        folder = self.source.local([ADAPTER, WEIGHTS])
        self._refuse_incomplete(folder)
        try:
            config = dict(load_json(read_regular(folder / ADAPTER)))
        except (OSError, TypeError, ValueError) as error:
            raise ConfigError(
                f"{ADAPTER} of {self.title} is damaged: {for_line(str(error)):.200}; fetch it again"
            ) from None
        made_for = str(config.get("base_model_name_or_path"))
        is_other = (
            base.repository is not None
            and _HUB_ID.fullmatch(made_for) is not None
            and _base_name(made_for) != _base_name(base.repository)
        )
        if is_other:
            raise ConfigError(
                f"{ADAPTER} of {self.title} names the base {made_for!r:.200}, and path is "
                f"{base.repository!r:.200}; set path to the base it was trained on"
            )
        return folder, config

    def apply(self, model: Any, base: Source) -> None:
        """Put the adapter on a model of transformers.

        Raises:
            ConfigError: it has too few, too many or other weights than the model takes.
        """
        import_extra("peft")
        folder, _ = self.files(base)
        damaged = import_extra("safetensors").SafetensorError
        try:
            report = model.load_adapter(
                str(folder), use_safetensors=True, ignore_mismatched_sizes=True
            )
            refuse_random(vars(report))
            if unused := sorted(report.unexpected_keys):
                raise ValueError(f"the base has no place for {first_few(unused)}")
        except (ValueError, LookupError, TypeError, OSError, damaged) as error:
            raise self.unfit(base, error) from None

    def unfit(self, base: Source, error: Exception) -> ConfigError:
        """Return the error about weights that a base does not take."""
        return ConfigError(
            f"{WEIGHTS} of {self.title} does not fit {base.location!r:.200}: "
            f"{for_line(str(error)):.300}"
        )

    def _refuse_incomplete(self, folder: Path) -> None:
        for name in (ADAPTER, WEIGHTS):
            if not (folder / name).is_file():
                raise ConfigError(
                    f"{self.title} has no {name}; save it with peft's save_pretrained"
                )


def _base_name(repository: str) -> str:
    """Return a checkpoint's name without its owner and without what says how it was quantized.

    >>> _base_name("unsloth/Qwen2-VL-7B-Instruct-unsloth-bnb-4bit")
    'qwen2-vl-7b-instruct'
    """
    return _SHRUNK.sub("", repository.rpartition("/")[2].lower())

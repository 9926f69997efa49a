"""Sentence embeddings: how near two texts are, without an image."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from driftledger.components.base import Encoder
from driftledger.components.checkpoints.component import REPORTING, CheckpointComponent, quietly
from driftledger.components.checkpoints.source import Source
from driftledger.components.encoders.towers import as_features, forward_pass, local_folder, refuse_random, well_formed
from driftledger.core.errors import ConfigError
from driftledger.core.registry import import_extra
from driftledger.core.types import Float32, PromptUsage

_FILES = ("*.json", "*.txt", "*.model", "*.safetensors")
_PICKLED = "pytorch_model.bin"


class Sentence(CheckpointComponent, Encoder):
    """A model of sentence-transformers: texts only; prompted, pooled and normalised as the model says.

    Texts are plain text: a special token spelled out in one is read as the characters it is spelled with. What is
    past the model's limit is not read; :meth:`read_texts` tells.
    """

    provider: ClassVar[str] = "sentence"
    version: ClassVar[str] = "1"
    libraries: ClassVar[tuple[str, ...]] = ("torch", "transformers", "tokenizers", "sentence-transformers")
    extra: ClassVar[str] = "sentence"

    def load(self, source: Source) -> Any:
        library = import_extra("sentence_transformers")
        arguments = self.weight_arguments
        code = arguments.pop("trust_remote_code")
        del arguments["revision"]  # of the hub; what is loaded is a folder
        patterns = [*_FILES, *(["*.py"] if code else []), *([f"*{_PICKLED}"] if self.allow_pickle else [])]
        with quietly():
            folder = local_folder(source, patterns)
            self._check_files(folder)
            model = library.SentenceTransformer(
                str(folder),
                device=self.torch_device,
                trust_remote_code=code,
                local_files_only=True,
                model_kwargs=arguments | {"ignore_mismatched_sizes": True},
                processor_kwargs={"split_special_tokens": True},
            )
            _check_weights(model, folder, arguments)
            return model.eval()

    def encode_texts(self, texts: Sequence[str]) -> Float32:
        model = self.loaded
        with forward_pass(self.path, texts):
            return as_features(
                model.encode(
                    well_formed(texts), batch_size=max(1, len(texts)), show_progress_bar=False, convert_to_tensor=True
                )
            )

    def read_texts(self, texts: Sequence[str]) -> list[PromptUsage]:
        added = self._length("", cut=False)
        return [
            PromptUsage(self._length(text, cut=False) - added, self._length(text, cut=True) - added)
            for text in well_formed(texts)
        ]

    def _length(self, text: str, cut: bool) -> int:
        """Of the input that the model is given, with its special tokens and its prompt."""
        model = self.loaded
        prompt = model.prompts[model.default_prompt_name] if model.default_prompt_name else None
        with quietly():
            given = model.preprocess([text], prompt=prompt, processing_kwargs={"text": {"truncation": cut}})
        return len(given["input_ids"][0])

    def _check_files(self, folder: Path) -> None:
        """sentence-transformers would pool what says nothing of pooling, and take a pickle where there is no more."""
        if not (folder / "modules.json").is_file():
            raise ConfigError(f"{self.path!r:.200} holds no modules.json; give a checkpoint of sentence-transformers")
        for file in sorted(folder.rglob(_PICKLED)):
            if not self.allow_pickle and not any(file.parent.glob("model*.safetensors")):
                raise ConfigError(
                    f"{self.path!r:.200} would be loaded from {file.relative_to(folder).as_posix()!r:.100}, which can "
                    "run code; save it as model.safetensors, or set allow_pickle if you trust it"
                )


def _check_weights(model: Any, folder: Path, arguments: dict[str, Any]) -> None:
    """Ask transformers what it found, which sentence-transformers does not pass on; without loading it again."""
    network = model.transformers_model
    if network is None or not hasattr(model.tokenizer, "split_special_tokens"):
        raise ValueError("its first module is no transformer with a tokenizer of transformers")
    first = json.loads((folder / "modules.json").read_text(encoding="utf-8"))[0]["path"]
    _, report = type(network).from_pretrained(
        folder / first, config=network.config, device_map="meta", **REPORTING, **arguments
    )
    refuse_random(report, unused="pooler")

"""What a pipeline's text encoders read of a prompt, and prompts that cannot command its tokenizers.

A description is untrusted text. One that holds ``<|endoftext|>`` or ``</s>`` would be read as if it ended there, since
tokenizers take what looks like their control tokens for the tokens themselves.
"""

from collections.abc import Iterator
from inspect import signature
from typing import Any, NamedTuple

from driftledger.core.registry import import_extra
from driftledger.core.types import PromptUsage

_ROUNDS = 8
"""One is enough for all but tokens that overlap; hostile text must not keep a run busy for ever."""


class TextTower(NamedTuple):
    """A tokenizer, and how many of a prompt's own tokens the text encoder behind it is given."""

    tokenizer: Any
    limit: int


class PromptReader:
    """The tokenizers of a loaded pipeline."""

    def __init__(self, pipeline: Any) -> None:
        base = import_extra("transformers").PreTrainedTokenizerBase
        parts = [getattr(part, "tokenizer", part) for part in pipeline.components.values()]
        self.tokenizers = [part for part in parts if isinstance(part, base)]
        towers = None if hasattr(pipeline, "_text_preprocessing") else _towers(pipeline)
        self.tower = max(towers, key=lambda tower: tower.limit) if towers else None
        """The one that reads the most; the first of equals. None where a pipeline rewrites prompts before it reads
        them (PixArt, Sana), or reads them by other means than CLIP and T5."""

    def reading(self, prompt: str) -> PromptUsage | None:
        """Tokens of the prompt itself, without those that a tokenizer puts around it, and how many of them are read.

        One tower stands for all, the same for every prompt: in FLUX and SD3, T5's, while CLIP reads the first 75.
        """
        if self.tower is None:
            return None
        tokens = len(self.tower.tokenizer(prompt, add_special_tokens=False).input_ids)
        return PromptUsage(tokens, min(tokens, self.tower.limit))

    def harmless(self, prompt: str) -> str:
        """The prompt with a space inside whatever a tokenizer would take for a control token: ``< /s>``; a lone
        surrogate, which no tokenizer takes, becomes a question mark.

        A tokenizer that is not backed by the Rust library does not say where it found one, and is not asked.
        """
        prompt = prompt.encode("utf-8", "replace").decode()
        for tokenizer in self.tokenizers:
            if tokenizer.is_fast:
                prompt = _broken_up(prompt, tokenizer)
        return prompt


def _towers(pipeline: Any) -> list[TextTower] | None:
    """CLIP's and T5's towers, or None where there are others, whose limits are not known here."""
    transformers = import_extra("transformers")
    asked = signature(pipeline.__call__).parameters.get("max_sequence_length")
    found = []
    for name, tokenizer in pipeline.components.items():
        encoder = name.replace("tokenizer", "text_encoder")
        if encoder == name or tokenizer is None or getattr(pipeline, encoder, None) is None:
            continue
        if isinstance(tokenizer, transformers.CLIPTokenizer):
            length = tokenizer.model_max_length
        elif isinstance(tokenizer, transformers.T5Tokenizer) and asked is not None:
            length = asked.default
        else:
            return None
        found.append(TextTower(tokenizer, length - tokenizer.num_special_tokens_to_add()))
    return found


def _broken_up(prompt: str, tokenizer: Any) -> str:
    for _ in range(_ROUNDS):
        spots = sorted(set(_control_tokens(prompt, tokenizer)), reverse=True)
        if not spots:
            break
        for spot in spots:
            prompt = f"{prompt[:spot]} {prompt[spot:]}"
    return prompt


def _control_tokens(prompt: str, tokenizer: Any) -> Iterator[int]:
    """The position after the first character of each. By tokens and not by characters, since a tokenizer may
    normalise: T5's reads a full-width ``＜/s＞`` as its end too."""
    unknown = {tokenizer.unk_token_id} - {tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id}
    control = set(tokenizer.all_special_ids) - unknown
    read = tokenizer(prompt, add_special_tokens=False, return_offsets_mapping=True)
    for number, (start, end) in zip(read.input_ids, read.offset_mapping, strict=True):
        said = prompt[start:end].lstrip()
        if number in control and len(said.rstrip()) > 1:  # SDXL's second tokenizer pads with "!"
            yield end - len(said) + 1

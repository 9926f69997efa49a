"""The prompt of a diffusers pipeline, as its tokenizers read it.

A description is untrusted text. Tokenizers take what looks like their control tokens for the tokens
themselves, so one that holds ``<|endoftext|>`` or ``</s>`` would be read as if it ended there.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import SequenceMatcher
from typing import Any

from driftledger.core.registry import import_extra
from driftledger.core.types import PromptUsage


def _spelled(token: str) -> str:
    """Return a pattern for a token, also in full-width letters, which T5 reads as plain ones."""
    pattern = ""
    for letter in token:
        plain = re.escape(letter)
        if "!" <= letter <= "~":
            plain = f"[{plain}{chr(ord(letter) + 0xFEE0)}]"
        pattern += plain
    return pattern


class PromptReader:
    """The tokenizers of a loaded pipeline, and how much of a prompt its text encoders read."""

    def __init__(self, pipeline: Any, limit: int | None) -> None:
        """Find the tokenizers and their control tokens.

        Args:
            limit: the most tokens of a prompt that the pipeline keeps, if it has such a setting.
        """
        base = import_extra("transformers").PreTrainedTokenizerBase
        self.limit = limit
        self.preprocess = getattr(pipeline, "_text_preprocessing", None)
        """How a pipeline rewrites prompts before it reads them (PixArt, Sana)."""
        parts = {}
        for name, part in pipeline.components.items():
            parts[name] = getattr(part, "tokenizer", part)
        self.towers: list[tuple[Any, Any]] = []
        tokens: set[str] = set()
        for name, tokenizer in parts.items():
            if not isinstance(tokenizer, base):
                continue
            tokens.update(map(str.strip, tokenizer.all_special_tokens))
            encoder = parts.get(name.replace("tokenizer", "text_encoder"))
            if isinstance(encoder, import_extra("transformers").PreTrainedModel):
                self.towers.append((tokenizer, encoder))
        longest_first = sorted(tokens, key=len, reverse=True)
        # SDXL's second tokenizer pads with "!".
        spelled = [_spelled(token) for token in longest_first if token[1:]]
        self.control = re.compile("|".join(spelled) or "(?!)", re.IGNORECASE)

    @contextmanager
    def listening(self) -> Iterator[list[list[list[int]]]]:
        """Collect the rows of tokens, templates included, that each tower's encoder receives."""
        rows: list[list[list[int]]] = [[] for _ in self.towers]
        hooks = []
        for (_, encoder), received in zip(self.towers, rows, strict=True):

            def listen(
                _: Any, inputs: Any, received: list[list[int]] = received
            ) -> None:
                tokens = inputs[0]
                received.extend(tokens.reshape(-1, tokens.shape[-1]).tolist())

            size = encoder.get_input_embeddings().num_embeddings
            # T5 looks tokens up in another module, which has the same weights
            for module in encoder.modules():
                if getattr(module, "num_embeddings", None) == size:
                    hooks.append(module.register_forward_pre_hook(listen))
        try:
            yield rows
        finally:
            for hook in hooks:
                hook.remove()

    def reading(self, prompt: str, rows: list[list[list[int]]]) -> PromptUsage | None:
        """Count the tokens of the prompt itself, and those that the encoders received.

        Of several towers, the one counts that received most: T5 in FLUX and SD3, whose CLIP reads
        the first 75.
        """
        if self.preprocess is not None:
            [prompt] = self.preprocess(prompt, clean_caption=False)
        readings = []
        for (tokenizer, _), received in zip(self.towers, rows, strict=True):
            tokens = tokenizer(
                prompt.strip(), add_special_tokens=False, verbose=False
            ).input_ids
            if received:
                read = max(_begun(tokens, row) for row in received)
                if self.limit is not None:
                    read = min(read, self.limit)
                readings.append(PromptUsage(len(tokens), read))
        return max(readings, key=lambda reading: reading.read, default=None)


def _begun(tokens: list[int], row: list[int]) -> int:
    """Count how many of the first ``tokens`` a row holds together.

    The first few may have merged with what precedes them in the row.

    >>> _begun([1, 2, 3], [9, 1, 2, 8]), _begun([1, 2, 3, 4], [7, 3, 4]), _begun([1], [2])
    (2, 4, 0)
    """
    blocks = SequenceMatcher(None, tokens, row, autojunk=False).get_matching_blocks()
    return max(
        (block.a + block.size for block in blocks if block.size and block.a < 8),
        default=0,
    )

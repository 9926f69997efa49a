"""Tokenizers that have an entry for every word of a known vocabulary, and spell all others."""

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import CLIPTokenizer, PreTrainedTokenizerFast

_SPACE = "Ġ"
_WORD_SCORE, _BYTE_SCORE = -1.0, -10.0
"""Log-probabilities: a word is always likelier than its bytes."""
_BYTES = tuple(sorted(pre_tokenizers.ByteLevel.alphabet()))


def chat_tokenizer(
    words: Iterable[str], end: str, special: Sequence[str], length: int
) -> PreTrainedTokenizerFast:
    """Each of ``words`` behind a space is one token, and every byte of anything else; padded on the
    left."""
    entries = [(_SPACE + word, _WORD_SCORE) for word in words]
    backend = Tokenizer(
        models.Unigram([*((byte, _BYTE_SCORE) for byte in _BYTES), *entries])
    )
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        eos_token=end,
        pad_token=end,
        extra_special_tokens=list(special),
        padding_side="left",
        model_max_length=length,
    )


def caption_tokenizer(words: Iterable[str], length: int) -> CLIPTokenizer:
    """CLIP's tokenizer, in which each of ``words`` is one token; padding comes first in it, and the
    end last.

    Raises:
        ValueError: no order of merges found makes each word one token.
    """
    ordered = list(words)
    for _ in ordered:
        tokenizer = _clip(ordered, length)
        split = [word for word in ordered if len(tokenizer.tokenize(word)) > 1]
        if not split:
            return tokenizer
        ordered = split + [word for word in ordered if word not in split]
    raise ValueError(f"each order of merges splits some word, such as {split[0]!r}")


def _clip(words: Sequence[str], length: int) -> CLIPTokenizer:
    """Merges of the first words come first."""
    merges = merges_of([*word[:-1], word[-1] + "</w>"] for word in words)
    alphabet = [*_BYTES, *(byte + "</w>" for byte in _BYTES)]
    entries = [
        "<|padding|>",
        *alphabet,
        *map("".join, merges),
        "<|startoftext|>",
        "<|endoftext|>",
    ]
    ids = {entry: number for number, entry in enumerate(dict.fromkeys(entries))}
    return CLIPTokenizer(ids, merges, model_max_length=length, pad_token="<|padding|>")


def merges_of(words: Iterable[Sequence[str]]) -> list[tuple[str, str]]:
    """The merges that build each word from its symbols, from left to right."""
    merges: dict[tuple[str, str], None] = {}
    for symbols in words:
        for built, longer in pairwise(accumulate(symbols)):
            merges[built, longer.removeprefix(built)] = None
    return list(merges)

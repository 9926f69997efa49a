"""Tokenizers of a few hundred entries, with whole English words among them."""

from collections.abc import Iterable

from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    BertTokenizer,
    CLIPTokenizer,
    PreTrainedTokenizerFast,
    T5Tokenizer,
)

from lab.trio.tokens import merges_of
from tests.support.checkpoints.weights import PARTS

WORDS: tuple[str, ...] = tuple(PARTS["words"]["entries"])
"""What each tokenizer has an entry for."""

SPACE = "Ġ"
BYTES = tuple(sorted(pre_tokenizers.ByteLevel.alphabet()))
CLIP_LENGTH = 77


def chat_tokenizer(
    end: str, special: Iterable[str], length: int = 4096
) -> PreTrainedTokenizerFast:
    """Byte-level BPE, padded on the left; ``end`` ends a text and pads it."""
    merges = merges_of([SPACE, *word] for word in WORDS)
    backend = Tokenizer(models.BPE(_ids([*BYTES, *map("".join, merges)]), merges))
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


def spoken(tokenizer: PreTrainedTokenizerFast) -> list[int]:
    """The entries that are whole words, and the end."""
    return tokenizer.convert_tokens_to_ids(
        [*(SPACE + word for word in WORDS), tokenizer.eos_token]
    )


def clip_tokenizer() -> CLIPTokenizer:
    """CLIP's tokenizer: lower-cased, ``</w>`` at the end of a word, cut at 77 tokens, special
    tokens last."""
    merges = merges_of([*word[:-1], word[-1] + "</w>"] for word in WORDS)
    entries = [
        *BYTES,
        *(byte + "</w>" for byte in BYTES),
        *map("".join, merges),
        "<|startoftext|>",
        "<|endoftext|>",
    ]
    return CLIPTokenizer(_ids(entries), merges, model_max_length=CLIP_LENGTH)


def t5_tokenizer(length: int = 512) -> T5Tokenizer:
    """T5's tokenizer: words and printable characters, each with a space before it or without."""
    characters = [chr(code) for code in range(33, 127)]
    pieces = [*("▁" + word for word in WORDS), "▁", *characters]
    scored = [
        (piece, -float(rank)) for rank, piece in enumerate(dict.fromkeys(pieces), 1)
    ]
    vocabulary = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), *scored]
    return T5Tokenizer(vocab=vocabulary, extra_ids=0, model_max_length=length)


def bert_tokenizer(length: int) -> BertTokenizer:
    """BERT's tokenizer: lower-cased words and printable characters."""
    characters = [chr(code) for code in range(33, 127)]
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    entries = [
        *special,
        *characters,
        *("##" + character for character in characters),
        *WORDS,
    ]
    return BertTokenizer(_ids(entries), model_max_length=length)


def _ids(entries: Iterable[str]) -> dict[str, int]:
    return {entry: number for number, entry in enumerate(dict.fromkeys(entries))}

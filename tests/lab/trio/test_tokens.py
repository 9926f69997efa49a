"""Tokenizers: a word of the vocabulary is one token, and nothing else is lost either."""

from functools import cache
from itertools import combinations, product
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

for library in ("torch", "transformers", "diffusers", "open_clip"):
    pytest.importorskip(library)

from transformers import AutoTokenizer, CLIPTokenizer, PreTrainedTokenizerFast

from driftledger_demo.datasets.arrangements.grammar import GROUNDS, INKS, PLACES, SHAPES, SIZES, Arrangement, Thing
from lab.trio import train
from lab.trio.lessons import Lessons, Prompts, words_of_captions
from lab.trio.settings import choice_prompt, ways_to_ask, ways_to_tell
from lab.trio.tokens import caption_tokenizer, chat_tokenizer
from tests.support.params import default_settings

pytestmark = pytest.mark.neural

SETTINGS = default_settings()
WORDS = ("A", "Red", "a", "blue", "large", "red", "ring", "small")


@cache
def chat() -> PreTrainedTokenizerFast:
    return chat_tokenizer(WORDS, "</s>", ["<image>", "<s>"], 64)


@cache
def captions() -> CLIPTokenizer:
    return train._tokenizer(SETTINGS)


@cache
def longest_caption() -> str:
    things = [
        max((Thing(cell, *kind) for kind in product(SIZES, INKS, SHAPES)), key=lambda thing: length(thing.words))
        for cell in range(len(PLACES))
    ]
    some = [Arrangement(ground, three) for ground in GROUNDS for three in combinations(things, 3)]
    return max((one.caption for one in some), key=length)


def length(text: str) -> int:
    return len(captions()(text).input_ids)


# --- of the describer -------------------------------------------------------------------------------------------------


def test_every_word_of_the_lessons_is_one_token_behind_a_space() -> None:
    words = Lessons(Prompts(ways_to_ask(SETTINGS), choice_prompt(SETTINGS)), 20).words
    tokenizer = chat_tokenizer(words, "</s>", ["<image>"], 64)
    assert len(words) > 300
    assert [word for word in words if len(tokenizer.tokenize(f" {word}")) != 1] == []
    assert len({tokenizer.encode(f" {word}")[0] for word in words}) == len(words)


@given(
    st.text() | st.lists(st.sampled_from([*WORDS, " ", "\n", "<image>", "</s>", "<s>", "é", "\U0001f600"])).map("".join)
)
@example("Two\nlines\r\n\tand a tab, \u2028 \x00 and  spaces ")
@example("<image> is what a hostile caption says</s> USER: <image>\n")
@example("\U0001f468\u200d\U0001f469\u200d\U0001f467 a red ring")
def test_any_text_comes_back(text: str) -> None:
    assert chat().decode(chat().encode(text)) == text


@given(st.text())
def test_unknown_text_is_spelled_in_bytes(text: str) -> None:
    spelled = [token for token in chat().tokenize(text) if token not in chat().all_special_tokens]
    assert "<unk>" not in spelled
    assert len(spelled) <= len(text.encode())


def test_the_longer_word_and_the_whole_word_win() -> None:
    assert chat().tokenize(" red ring red-ring ringred") == [
        *("Ġred", "Ġring", "Ġred", "-", *"ring"),
        *("Ġring", *"red"),
    ]


def test_padding_is_on_the_left_and_is_the_end() -> None:
    tokenizer = chat()
    [short, long] = tokenizer([" red", " a red ring"], padding=True).input_ids
    assert short == [tokenizer.eos_token_id] * 2 + tokenizer.encode(" red")
    assert tokenizer.decode(long) == " a red ring"
    assert tokenizer.model_max_length == 64


def test_the_chat_tokenizer_is_the_same_when_it_is_loaded(tmp_path: Path) -> None:
    chat().save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    text = " a large red ring\n<image> 7é"
    assert loaded.encode(text) == chat().encode(text)
    assert (loaded.eos_token, loaded.pad_token, loaded.padding_side) == ("</s>", "</s>", "left")


# --- of captions ------------------------------------------------------------------------------------------------------


def test_every_word_of_a_caption_is_one_token() -> None:
    words = {word.lower() for word in words_of_captions()}
    assert [word for word in words if len(captions().tokenize(word)) != 1] == []


def test_the_longest_caption_in_the_longest_prompt_is_read_whole() -> None:
    asked = [prompt.replace("{description}", longest_caption()) for prompt in ways_to_tell(SETTINGS)]
    assert train.CAPTION_LENGTH - 4 <= max(map(length, asked)) <= train.CAPTION_LENGTH == captions().model_max_length


def test_padding_is_none_of_the_tokens_of_a_caption() -> None:
    tokenizer = captions()
    [ids] = tokenizer([longest_caption()], padding="max_length").input_ids
    told = ids[: length(longest_caption())]
    assert (told[0], told[-1]) == (tokenizer.bos_token_id, tokenizer.eos_token_id)
    assert tokenizer.eos_token_id == len(tokenizer) - 1 == max(ids)  # CLIP's text encoders may look for the largest
    assert set(ids[len(told) :]) == {tokenizer.pad_token_id} == {0}
    assert not {tokenizer.pad_token_id, tokenizer.unk_token_id} & set(told[:-1])


def test_the_caption_tokenizer_is_the_same_when_it_is_loaded(tmp_path: Path) -> None:
    captions().save_pretrained(tmp_path)
    assert AutoTokenizer.from_pretrained(tmp_path)(longest_caption()) == captions()(longest_caption())


def test_merges_are_put_into_an_order_in_which_no_word_splits_another() -> None:
    tokenizer = caption_tokenizer(["ab", "aab", "aaab"], 8)  # "ab" first would leave "a" over
    assert [tokenizer.tokenize(word) for word in ("ab", "aab", "aaab")] == [["ab</w>"], ["aab</w>"], ["aaab</w>"]]


def test_words_that_no_order_of_merges_keeps_whole() -> None:
    with pytest.raises(ValueError, match="each order of merges splits some word, such as 'abaa'"):
        caption_tokenizer(["abaa", "babb"], 8)

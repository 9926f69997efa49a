"""What a model thinks before it answers is no part of the answer."""

from types import SimpleNamespace

import pytest

from driftledger.components.thinking import decoded, separated
from driftledger.core.types import Conversation, Outcome, Result, Turn
from tests.support.cases import cases, each_case


@each_case(cases(__file__, "thinking"))
def test_thoughts_are_told_from_the_answer(case):
    begun = (Turn("assistant", (case["prefix"],)),) if "prefix" in case else ()
    reply = Result(
        case["reply"],
        Outcome(case.get("outcome", "ok")),
        reasoning=case.get("reasoning"),
    )
    read = separated(reply, Conversation((Turn("user", ("Describe it.",)), *begun)))
    assert [read.outcome, read.text, read.reasoning or ""] == case["reads"]
    assert (read.error is not None) == (
        not read.text and read.outcome in ("empty", "truncated")
    )


class Tokenizer:
    """Words as tokens; those in angle or square brackets are special."""

    words = (
        "</s>",
        "<think>",
        "</think>",
        "[THINK]",
        "<|channel>",
        "<channel|>",
        "<|image|>",
        "A",
        "car",
        "thought",
    )

    @property
    def added_tokens_decoder(self):
        return {
            n: SimpleNamespace(content=word, special=not word.isalpha())
            for n, word in enumerate(self.words)
        }

    def decode(self, tokens, skip_special_tokens):
        shown = (self.words[token] for token in tokens)
        return " ".join(
            word for word in shown if word.isalpha() or not skip_special_tokens
        )


@pytest.mark.parametrize(
    ("prompt", "tokens", "text"),
    [
        ("", "A car </s>", "A car"),
        ("", "<think> A </think> car <|image|> </s>", "<think> A </think> car"),
        (
            "",
            "<|channel> thought A <channel|> car </s>",
            "<|channel> thought A <channel|> car",
        ),
        ("A <|image|> <think>", "A </think> car </s>", "<think>A </think> car"),
        ("A <|image|> [THINK]", "A car", "[THINK]A car"),
        ("<think> A </think>", "car </s>", "car"),
    ],
)
def test_marks_that_are_special_tokens_stay(prompt, tokens, text):
    numbers = [
        [Tokenizer.words.index(word) for word in each.split()]
        for each in (tokens, prompt)
    ]
    assert decoded(Tokenizer(), *numbers) == text

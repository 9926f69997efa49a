"""What a model thinks before it answers is no part of the answer."""

from types import SimpleNamespace

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


@each_case(cases(__file__, "tokenized"))
def test_marks_that_are_special_tokens_stay(case):
    tokens, prompt = (
        [Tokenizer.words.index(word) for word in case[name].split()]
        for name in ("reply", "prompt")
    )
    assert decoded(Tokenizer(), tokens, prompt) == case["reads"]

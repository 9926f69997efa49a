"""What a model thinks before it answers is no part of the answer."""

from types import SimpleNamespace

from driftledger.components.thinking import decoded, separated
from driftledger.core.types import Conversation, Outcome, Result, Turn
from tests.support.cases import cases, each_case


@each_case(cases(__file__, "thinking"))
def test_thoughts_are_told_from_the_answer(case):
    turns = [Turn("user", ("Describe it.",))]
    if "prefix" in case:
        turns.append(Turn("assistant", (case["prefix"],)))
    outcome = Outcome(case.get("outcome", "ok"))
    reply = Result(case["reply"], outcome, reasoning=case.get("reasoning"))
    read = separated(reply, Conversation(tuple(turns)))
    assert [read.outcome, read.text, read.reasoning or ""] == case["reads"]
    assert (read.error is not None) == (
        not read.text and read.outcome in ("empty", "truncated")
    )


WORDS = [
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
]


class Tokenizer:
    """Words as tokens; those in angle or square brackets are special."""

    @property
    def added_tokens_decoder(self):
        tokens = {}
        for number, word in enumerate(WORDS):
            special = not word.isalpha()
            tokens[number] = SimpleNamespace(content=word, special=special)
        return tokens

    def decode(self, tokens, skip_special_tokens):
        words = [WORDS[token] for token in tokens]
        if skip_special_tokens:
            words = filter(str.isalpha, words)
        return " ".join(words)


@each_case(cases(__file__, "tokenized"))
def test_marks_that_are_special_tokens_stay(case):
    reply = [*map(WORDS.index, case["reply"].split())]
    prompt = [*map(WORDS.index, case["prompt"].split())]
    assert decoded(Tokenizer(), reply, prompt) == case["reads"]

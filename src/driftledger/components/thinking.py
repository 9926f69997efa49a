"""Separate a model's reasoning from its answer.

Reasoning is neither a description nor an answer, so :func:`separated` takes it out of every reply
before the reply is used. Some chat templates put the opening mark into the prompt, so that a reply
has only the closing one. Reasoning that meets the length limit has no closing mark.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from driftledger.core.types import Conversation, Outcome, Result

_WORDS = (
    r"((mm|seed|antml):)?(think(:opensource)?|thinking|thoughts?|reasoning|reason|reflection"
    r"|analysis|scratchpad)"
)
_BEGINS = re.compile(
    # Qwen, GLM, MiniMax; Kimi; Magistral; Solar, Cohere
    rf"<{_WORDS}>|◁think▷|\[think\]|<\|(think|thinking|begin_of_thought|start_thinking)\|>"
    r"|<\|channel\|>\s*(analysis|commentary|thought)[^<]{0,80}(<\|message\|>)?"  # gpt-oss
    # Gemma 4; MedGemma
    r"|<\|channel>(?!\s*final)(\s*(thought|thinking|analysis)\b)?|<unused94>(\s*thought\b)?"
    r"|\A\s*here are my reasoning steps:",  # Apriel
    re.IGNORECASE,
)
_ENDS = re.compile(
    rf"</{_WORDS}>|◁/think▷|\[/think\]|<\|/(think|thinking)\|>|</\|think(ing)?\|>"
    r"|<\|(end_of_thought|end_thinking|think_end|answer|content)\|>"
    r"|<\|channel\|>\s*final[^<]{0,80}<\|message\|>"
    r"|<channel\|>|<unused95>|\[begin final response\]",
    re.IGNORECASE,
)
_AROUND_THE_ANSWER = re.compile(
    r"<\|(end|return|im_end)\|>|</?(answer|response)>|<\|(start|end)_(response|text|of_solution)\|>"
    r"|<\|begin_of_solution\|>|\[end final response\]",
    re.IGNORECASE,
)
"""Marks around an answer in the formats above."""
_PIECE = re.compile(r"<\|(channel|message|start|end)\|>", re.IGNORECASE)
"""Tokens of gpt-oss that form a mark together."""


def without_thinking(text: str, *, ended: bool = False) -> tuple[str, str, bool]:
    """Return the text outside of reasoning, the reasoning, and if it all ended.

    Args:
        ended: whether the reply ended by itself. Then an opening mark that comes after other words
            and is not closed is a part of the text.

    >>> without_thinking("<think>A seems right</think>C")
    ('C', 'A seems right', True)
    >>> without_thinking("A seems right</think>C")
    ('C', 'A seems right', True)
    >>> without_thinking("<think>A seems right")
    ('', 'A seems right', False)
    >>> without_thinking("The sign says <think> in red.", ended=True)
    ('The sign says <think> in red.', '', True)
    """
    outside = list[str]()
    inside = []
    position = 0
    opened = 0
    thinking = False
    marks = [(*mark.span(), False) for mark in _ENDS.finditer(text)]
    marks += [(*mark.span(), True) for mark in _BEGINS.finditer(text)]
    if not marks:
        return text, "", True
    for start, end, begins in sorted(marks):
        if not begins:
            inside += (
                [text[position:start]] if thinking else [*outside, text[position:start]]
            )
            outside = outside if thinking else []
            thinking = False
            position = end
        elif not thinking:
            outside.append(text[position:start])
            thinking = True
            opened = start
            position = end
    if thinking and ended and any(map(str.strip, outside)):
        outside[-1] += text[opened:]
        position = len(text)
        thinking = False
    (inside if thinking else outside).append(text[position:])
    answer = "\n".join(filter(None, map(str.strip, outside)))
    thoughts = "\n".join(filter(None, map(str.strip, inside)))
    return _AROUND_THE_ANSWER.sub("", answer).strip(), thoughts, not thinking


def separated(reply: Result, conversation: Conversation) -> Result:
    """Return ``reply`` with its reasoning apart, and the outcome that follows.

    A reply that was cut inside its reasoning is ``truncated``, and a reply of reasoning alone is
    ``empty``; neither has a text. A text without marks keeps its bytes.
    """
    prefix = conversation.prefix
    text = reply.text or ""
    outcome = reply.outcome
    error = reply.error
    answer, thoughts, finished = without_thinking(
        text.removeprefix(prefix), ended=outcome is Outcome.OK
    )
    if thoughts or answer != text.removeprefix(prefix):
        text = conversation.whole(answer) if answer and finished else ""
    reasoning = "\n".join(part for part in (reply.reasoning, thoughts) if part) or None
    if outcome.goes_on and not text.removeprefix(prefix).strip():
        if outcome is Outcome.OK and finished:
            outcome = Outcome.EMPTY
            why = "holds reasoning and no answer" if reasoning else "is empty"
        else:
            outcome = Outcome.TRUNCATED
            why = (
                f"was cut {'inside its reasoning' if reasoning else 'before it began'}"
            )
        text = ""
        error = error or f"the reply {why}"
    return replace(reply, text=text, outcome=outcome, error=error, reasoning=reasoning)


def decoded(tokenizer: Any, tokens: Sequence[int], prompt: Sequence[int]) -> str:
    """Decode a reply; of its special tokens, keep only the marks of reasoning.

    Args:
        tokenizer: a tokenizer of transformers.
        prompt: the tokens before the reply. If they end with an opening mark, it is put before the
            reply.
    """
    special = {}
    for number, token in tokenizer.added_tokens_decoder.items():
        if token.special:
            special[number] = any(
                marks.fullmatch(token.content) for marks in (_BEGINS, _ENDS, _PIECE)
            )

    def with_marks(part: Sequence[int]) -> str:
        kept = [token for token in part if special.get(token, True)]
        return str(tokenizer.decode(kept, skip_special_tokens=False))

    end = with_marks([*prompt][-16:]).rstrip()
    begun = next(
        (mark[0] for mark in _BEGINS.finditer(end) if mark.end() == len(end)), ""
    )
    if any(special.get(token) for token in tokens):
        return begun + with_marks(tokens)
    return begun + str(tokenizer.decode(tokens, skip_special_tokens=True))

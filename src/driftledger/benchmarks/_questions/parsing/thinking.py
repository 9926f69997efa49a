"""Reasoning is not the answer: a model that thinks aloud weighs options that it does not choose.

Models mark their reasoning in several ways; some templates put the opening mark into the prompt, so that the reply
holds only the closing one; and reasoning that met the length limit never ends.
"""

import re
from typing import NamedTuple

_NAMES = r"(?:think|thinking|thought|thoughts|reasoning|reason|reflection|analysis|scratchpad|seed:think)"
_OPEN = (
    rf"<{_NAMES}>",
    r"◁think▷",  # Kimi
    r"\[THINK\]",  # Magistral
    r"<\|begin_of_thought\|>",
    r"<\|channel\|>(?:analysis|commentary)[^<]{0,80}<\|message\|>",  # gpt-oss
)
_CLOSE = (
    rf"</{_NAMES}>",
    r"◁/think▷",
    r"\[/THINK\]",
    r"<\|end_of_thought\|>",
    r"<\|channel\|>final[^<]{0,80}<\|message\|>",
)
_MARK = re.compile(rf"(?P<open>{'|'.join(_OPEN)})|(?P<close>{'|'.join(_CLOSE)})", re.IGNORECASE)


class Spoken(NamedTuple):
    """What was said outside of reasoning; if ``finished`` is false, reasoning began that never ended, and is in it."""

    text: str
    finished: bool


def without_thinking(text: str) -> Spoken:
    """Take the reasoning out of a reply.

    >>> without_thinking("<think>A seems right</think>C")
    Spoken(text='C', finished=True)
    >>> without_thinking("A seems right</think>C")
    Spoken(text='C', finished=True)
    >>> without_thinking("<think>A seems right")
    Spoken(text='A seems right', finished=False)
    """
    said: list[str] = []
    position, thinking = 0, False
    for mark in _MARK.finditer(text):
        if mark["close"]:
            if not thinking:
                said.clear()
            thinking, position = False, mark.end()
        elif not thinking:
            said.append(text[position : mark.start()])
            thinking, position = True, mark.end()
    if thinking:
        return Spoken(text[position:], finished=False)
    return Spoken("\n".join([*said, text[position:]]).strip("\n"), finished=True)

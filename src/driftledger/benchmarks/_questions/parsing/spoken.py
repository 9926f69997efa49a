"""What of a reply may be an answer: no error that arrives as text, and no reasoning.

A wrapper may return an exception's message in the place of a reply, which may name any letter or number. A model that
thinks aloud weighs options that it does not choose: some templates put the opening mark into the prompt, so that the
reply holds only the closing one, and reasoning that met the length limit never ends.
"""

import re
from typing import NamedTuple

_STATUS = (
    r"bad request|unauthorized|payment required|forbidden|not found|method not allowed|request timeout|conflict|gone"
    r"|payload too large|content too large|request entity too large|unprocessable entity|unprocessable content"
    r"|too many requests|internal server error|not implemented|bad gateway|service (?:temporarily )?unavailable"
    r"|gateway time-?out|client error|server error"
)
_AT_THE_START = (
    r"error code:? ?[0-9]{3}\b",
    rf"(?:http(?:/[0-9.]{{1,3}})?(?: error| status)?:? ?)?[45][0-9]{{2}}:? ?(?:{_STATUS})\b",
    r"(?:too many requests|internal server error|bad (?:gateway|request)|service unavailable|gateway timeout)\b",
    r"http(?: error| status)?:? ?[45][0-9]{2}\b",
    r"[\w.]{0,80}(?:error|exception)(?: ?\([^()\n]{0,80}\))? ?:",
    r"(?-i:[\w.]{0,80}[a-z](?:Error|Exception|Timeout)\b)",
    r"(?:api |network |connection |request |server |model |read |connect )(?:error|failed|failure|timeout|refused|reset"
    r"|aborted|closed|timed out|overloaded)\b",
    r"(?:an?|the following) (?:unexpected |internal |unknown |api )?(?:error|exception) (?:has )?occurred\b",
    r"(?:the )?(?:request|operation|connection) (?:has )?(?:timed out|failed|was (?:refused|aborted|rejected|reset))\b",
    r"rate.?limit(?:ed| (?:exceeded|reached|error))\b",
    r"you(?:'ve| have)? exceeded your (?:current )?quota\b",
    r"(?:incorrect|invalid|missing|no) api.?key\b",
    r"(?:this |the )?(?:model|server|engine)(?: is| is currently)? (?:overloaded|unavailable|at capacity)\b",
    r"(?:cuda|torch\.cuda|hip|mps)\b[^\n]{0,40}out of memory\b",
    r"failed to obtain answer via api\b",
    r"https?connectionpool\(",
    r"upstream (?:connect error|request timeout)\b",
    r"max retries exceeded\b",
    r"[\[{]{1,2}\s{0,4}[\"'](?:error|errors|detail|fault)[\"']\s{0,4}:",
    r"\{\s{0,4}[\"'](?:object|type|status)[\"']\s{0,4}:\s{0,4}[\"']error",
    r"(?:<!doctype|<html|<\?xml)\b",
)
_ANYWHERE = (r"traceback \(most recent call last\)", r"\n\s{0,8}at [\w.$<>]{1,80}\([\w.]{1,80}:[0-9]{1,6}\)")
_START = re.compile(rf"\s*(?:{'|'.join(_AT_THE_START)})", re.IGNORECASE)
_WITHIN = re.compile("|".join(_ANYWHERE), re.IGNORECASE)


def is_error(text: str) -> bool:
    """Whether ``text`` is the message of an error of HTTP, an SDK or a program, and no reply.

    >>> is_error("Error code: 429 - {'error': {'message': 'Rate limit reached for A'}}")
    True
    >>> is_error("B. Error bars are shown.")
    False
    """
    return bool(_START.match(text) or _WITHIN.search(text))


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

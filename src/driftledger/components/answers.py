"""Rules for reading a service's answer: errors, waits, spelling.

An error is looked up in ``errors.toml``, also one inside HTTP 200. Nothing here asks a service.
"""

import math
import re
import time
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from driftledger.core.files import load_json
from driftledger.core.media import image_in
from driftledger.core.strict import Strict
from driftledger.core.types import Outcome

A = TypeVar("A")

_UNSAFE = (
    r"moderat|guardrail|censor|nsfw|toxic|profanity|harmful|unsafe|(?<!case.)sensitive"
    r"|prohibited[ _]content|safety(?![ _](identifier|settings))"
)
"""Words about content, in errors and in finish reasons."""
FINISH_REASONS = {
    Outcome.OK: r"|(finish_?reason[_.])?(stop(ped|_token|_sequence)?|end_(of_)?turn|end_?of_?text"
    r"|eos(_token)?|completed?|finished|done|null|none)",
    Outcome.FILTERED: rf".*({_UNSAFE}|filter|recitation|block_?list|blocked|prohibited|spii"
    r"|policy).*",
    Outcome.REFUSED: r".*(refus|declin).*",
    Outcome.TRUNCATED: r"(.*_)?length"
    r"|.*(max_(new_|output_|completion_)?(token|reached|output|length)|truncat"
    r"|(token|output)_(limit|budget)|max_output|context_(window|length)).*|incomplete",
}
"""Outcome → its finish reasons, in lower case.

An answer with another reason is complete, unless the reason is in :data:`MAY_PASS`.
"""
MAY_PASS = re.compile(
    r"network|resource|(over|un)load|(?<![a-z])(time|rate(?![a-z]))|(?<!no_)error|fail|abort"
    "|cancel|interrupt|paus|disconnect|partial"
)
"""Finish reasons that may pass: the answer is half, and the call is tried again."""


class ErrorRule(Strict):
    """A rule of ``errors.toml``: how an error is recognised, and how the call ends."""

    example: tuple[int, str]
    status: str = ".*"
    words: tuple[str, ...] = ()
    setting: bool = False
    end: Literal["filtered", "refused", "later", "another day", "never"]
    advice: str = ""
    flags: tuple[Literal["busy", "billed", "full", "gone", "of_input"], ...] = ()


_TABLE = Path(__file__).with_name("errors.toml").read_text(encoding="utf-8")
_ROWS = tomllib.loads(_TABLE.replace("{unsafe}", _UNSAFE))["rules"]
RULES = tuple(map(ErrorRule.model_validate, _ROWS))


class Trouble(NamedTuple):
    """An error in the words of a service."""

    status: int
    message: str
    param: str
    """The field of the request that the error is about; often empty."""
    text: str
    """Field, message and body, in which a rule's words are looked for."""
    is_error: bool
    """Whether the body names an error, known or not, or is not a JSON object."""

    def rule(self, names_setting: bool) -> ErrorRule:
        """Return the first rule that matches; the last one matches everything."""
        for rule in RULES:
            if rule.setting and not names_setting:
                continue
            if not re.fullmatch(rule.status, str(self.status)):
                continue
            if re.search("|".join(rule.words), self.text, re.IGNORECASE):
                break
        return rule


_NOT_SO = re.compile(r'"[^"]*"\s*:\s*\[?\s*(false|null|0)\b')
"""A JSON name whose value denies it: ``"nsfw": false``."""
_MOST_SEARCHED = 2**16
"""Characters of an error that are searched, at most."""


def trouble_in(status: int, text: str) -> Trouble:
    """Read the error in an answer, or in the reason why none came (status 0)."""
    body: Any = None
    with suppress(ValueError):
        body = load_json(text.encode(), strict=False)
    outer = field(body, dict) or field(body, dict, 0) or {}  # Gemini's is in a list
    inner = field(outer, dict, "error") or outer
    messages = [field(inner, str, name) for name in ("message", "detail", "error")]
    message = next(filter(None, messages), text)
    for name, value in facts(body):
        is_error_code = re.fullmatch("[45][0-9][0-9]", str(value))
        if (
            status in range(200, 300)
            and re.search("code|status", name)
            and is_error_code
        ):
            status = int(value)
    param = str(inner.get("param") or "")
    words = _NOT_SO.sub("", f"{param} {message} {text}"[:_MOST_SEARCHED])
    errors = [outer.get(name) for name in ("error", "base_resp", "message", "detail")]
    is_error = status != 200 or not outer or any(value for _, value in facts(errors))
    return Trouble(status, message, param, words.lstrip(), is_error)


def facts(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each text, number, boolean and null in JSON, with its name."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from facts(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from facts(item, name)
    else:
        yield name, value


_UNITS = {"": 1, "ms": 0.001, "milli": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_AMOUNT = r"(\d+\.?\d*)\s*(ms|milli|[smhd]|)[a-z]*\s*"
_WAIT = re.compile(
    r'(?:retry|try again|available|wait|ratelimit-reset)[_ -]?(?:in|after|delay|for|)"?[: ]+"?'
    r"((?:\d+\.?\d*\s*(?:ms|[smhd])[a-z]*\s*)+|\d+(?![\d.:/-]))",
    re.IGNORECASE,
)
"""A wait in an error: Google's ``retryDelay``, or ``try again in 7m12s``."""


def retry_after(
    headers: Mapping[str, str], text: str = "", status: int = 429
) -> float | None:
    """Return the seconds that a service asks to wait; None if it does not ask.

    Args:
        headers: with names in lower case.
        text: the answer's body.
    """
    waits = [headers.get("retry-after-ms", "") + "ms", headers.get("retry-after", "")]
    waits += _WAIT.findall(text)
    for name, value in headers.items():
        left = headers.get(name.replace("reset", "remaining"), "0")
        if status == 429 and re.search("ratelimit.*reset", name) and left == "0":
            waits.append(value)
    return next(filter(None, map(_seconds, waits)), None)


def _seconds(text: str) -> float | None:
    """Read a wait: seconds, ``6m0s``, a date, or seconds or milliseconds since 1970."""
    seconds = 0.0
    if re.fullmatch(f"(?:{_AMOUNT})+", text):
        for number, unit in re.findall(_AMOUNT, text):
            seconds += float(number) * _UNITS[unit]
        if seconds > 1e12:
            seconds /= 1000
        if seconds > 1e9:
            seconds -= time.time()
    with suppress(ValueError, TypeError):
        seconds = parsedate_to_datetime(text).timestamp() - time.time()
    return seconds if 0 < seconds < math.inf else None


def field(answer: Any, kind: type[A], *path: str | int) -> A | None:
    """Return the value at a path of an answer; None if it is not of this kind.

    So an odd value somewhere costs no answer that is paid for.
    """
    for step in path:
        if isinstance(answer, dict):
            answer = answer.get(step)
        elif isinstance(answer, list) and step == 0 and answer:
            answer = answer[0]
        else:
            return None
    return answer if type(answer) is kind else None


_FLAG = re.compile(
    "((has|is|was|contains)_?)?(nsfw|unsafe)(_?(concepts?|content|image))?(_?(detected|flagged))?"
    "=(true|1)"
    "|((is|was|content|image|output|request)_?)?(moderated|filtered|blocked|censored|flagged)"
    "=(true|1)"
    "|((is|was|content|image)_?)?(safe|allowed)=(false|0)"
    r"|(respects?|respected|pass(es|ed)?)_?(moderation|safety)\w*=(false|0)"
    r"|(moderation|safety)(_?check)?_?(passed|ok)=(false|0)"
    rf"|\w*(reason|status|state)\w*=({FINISH_REASONS[Outcome.FILTERED]})"
)
"""A name and a value that mark a drawn image as filtered."""


def flag_of(answer: Any) -> str | None:
    """Return what marks an image as filtered, e.g. ``nsfw: true``; else None."""
    for name, value in facts(answer):
        small = re.sub("(?<=[a-z])(?=[A-Z])", "_", name)
        if _FLAG.fullmatch(f"{small}={value}".lower()):
            return f"{name}: {value}".lower()
    return None


_NO_REFUSAL = re.compile(
    r"://|\.(png|jpe?g|webp)\b|.{4000}"
    r"|\A(pending|queued?|(in_?)?progress|processing|running|start(ed|ing)|submitted|created)\Z",
    re.IGNORECASE | re.DOTALL,
)
"""An image's address, a text as long as an image, or the state of a job that draws one."""


def is_withheld(item: Any) -> bool:
    """Return True if an item has no image, and nothing that may lead to one.

    It is empty then, or holds a refusal in a few words. With another protocol, it holds the image
    under another name, its address, or the state of a job.
    """
    texts = [str(value) for _, value in facts(item)]
    return not any(_NO_REFUSAL.search(text) or image_in(text) for text in texts)

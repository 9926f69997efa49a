"""The rules for reading a service's answer: errors, waits, usage, flags and spelling.

An error is looked up in :data:`RULES`, whatever the status it comes with. Nothing here asks a service.
"""

import base64
import math
import re
import time
import zlib
from collections.abc import Container, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal, TypeVar
from urllib.parse import unquote

from driftledger.core.files import load_json
from driftledger.core.types import Outcome, Usage

A = TypeVar("A")

_UNSAFE = (
    r"moderat|guardrail|censor|nsfw|toxic|profanity|harmful|unsafe|(?<!case.)sensitive"
    r"|prohibited[ _]content|safety(?![ _](identifier|settings))"
)
"""Words about content, in errors and in the reasons of an end."""
_FILTER = (
    rf"{_UNSAFE}|(content|prompt)[ _-]*"
    r"(filter|management|polic(y|ies)|violation|check|audit|exists risk)"
    r"|responsible ?ai|data_?inspection|inappropriate|high risk|risk control|敏感|不安全"
    r"|blockreason|flagged (as|by)"
    r"|(prompt|input|request|response|output|image|content)\b.{0,20}\b(flagged|violat|withheld)"
    r"|(prompt|response|output|image)\b.{0,20}\bblocked"
)
"""OpenAI, Azure, LiteLLM, OpenRouter, Anthropic, Gemini, DashScope, Zhipu, DeepSeek, Moonshot,
MiniMax, Volcengine, StepFun, xAI, Together, Stability, Black Forest Labs."""
_CREDIT = (
    r"insufficient[_ ](quota|balance|credit|fund)|billing_(hard|not)|account_deactivated"
    r"|(balance|credits?) (is |are )?(too low|exhausted|used up)|exhausted balance"
    r"|(out of|all available) credits|spending limit|enable billing|arrearage|overdue"
    r"|exceeded[ _](your )?(current|monthly)[\w ]*(quota|credit)|欠费|余额不足"
)
_STREAM = (
    r"\A(:.*\s+)?(event: ?\S+\s+)?data: ?\{|only supports? stream|stream(ing)? mode|streaming is required"
    r"|must be streamed|\bstream\b.{0,20} (must|has to|should) be|enable the stream"
)
_BLIND = (
    r"(image|vision|multi-?modal)( inputs?| content|s)? (is|are) not (supported|enabled|allowed)"
    r"|(not|n't) support (the )?(images?|vision|multi-?modal)\b(?! (formats?|types?|sizes?|larger))"
    r"|(support|required for) image inputs?|image_url is only supported|variant .image_url"
    r"|not a (multi-?modal|vision) model|at most 0 image|content must be a string|mmproj"
)
"""llama.cpp, Ollama, vLLM, OpenAI, OpenRouter, DeepSeek, Groq."""
_TOO_LONG = r"context|too (long|many)|(input|prompt)\W.{0,30}(token|length)"
_BUSY = r"rate[_ -]?limit|too many requests|resource_?exhausted|overloaded|throttl"

FINISH_REASONS = {
    Outcome.OK: r"|(finish_?reason[_.])?(stop(ped|_token|_sequence)?|end_(of_)?turn|end_?of_?text"
    r"|eos(_token)?|completed?|finished|done)",
    Outcome.FILTERED: rf".*({_UNSAFE}|filter|recitation|block_?list|blocked|prohibited|spii"
    r"|policy).*",
    Outcome.REFUSED: r".*(refus|declin).*",
    Outcome.TRUNCATED: r"(.*_)?length|.*(max_(new_|output_|completion_)?(token|reached|output|length)"
    r"|truncat|(token|output)_(limit|budget)|max_output|context_(window|length)).*|incomplete",
}
"""Outcome → why an answer with it ended, in lower case. After any other reason the call is tried
again."""
MAY_PASS = re.compile("network|resource|load|time|rate|error|fail|abort|cancel|interrupt")
"""In the reason of an end that has to do with one moment; after others, the call is tried only
once more."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A kind of error: how it is recognised, and what becomes of the call."""

    example: tuple[int, str]
    """Status and body of one error that this rule is the first to match."""
    status: Container[int]
    """HTTP's; 0 where no answer came. An error inside HTTP 200 has the status that it names."""
    words: str = ""
    """In the error's codes or message."""
    names_setting: bool = False
    """Whether it has to name a setting of the component."""
    end: Literal["filtered", "refused", "later", "never"]
    """``never``: no call gets past it, and the run ends. ``refused``: this call has failed.
    ``later``: it is tried again."""
    advice: str = ""
    """What to change where every call ends like this; empty where it is about one input or one
    moment. The words in braces are filled in by the component."""
    busy: bool = False
    """Whether the service has too many calls at once."""
    billed: bool = False
    """Whether the service may have done the work."""
    gone: bool = False
    """Whether no server is there."""


_ANY = range(1000)
_KEY = "{key}"
_QUOTA = "check the account's quota and credit{account}"
_MODEL = "check `model: {model}`{address} in params.yaml"
_NO_STREAM = "answers in a stream are not read, and no setting changes that: choose another model"

RULES = (
    Rule(
        example=(401, '{"error": {"message": "Incorrect API key provided."}}'),
        status={401},
        end="never",
        advice=_KEY,
    ),
    Rule(
        example=(400, '[{"error": {"code": 400, "details": [{"reason": "API_KEY_INVALID"}]}}]'),
        status=_ANY,
        words="invalid_?api_?key|api_key_invalid|incorrect api key|authentication_error",
        end="never",
        advice=_KEY,
    ),
    Rule(
        example=(0, "ImportError: Using SOCKS proxy, but the 'socksio' package is not installed."),
        status=_ANY,
        words="socksio",
        end="never",
        advice="{proxy} names a SOCKS proxy: run `pip install socksio`, or unset {proxy},",
    ),
    Rule(
        example=(0, "ProxyError: 403 Forbidden"),
        status={0},
        words="ProxyError|proxy URL",
        end="never",
        advice="correct the proxy in {proxy}, or unset it,",
    ),
    Rule(
        example=(407, "<h1>Proxy Authentication Required</h1>"),
        status={407},
        end="never",
        advice="put user and password into the proxy's address in {proxy}, or unset it,",
    ),
    Rule(
        example=(0, "ConnectError: [SSL: CERTIFICATE_VERIFY_FAILED] self-signed certificate"),
        status=_ANY,
        words="certificate_verify_failed",
        end="never",
        advice="correct base_url, or name the certificate of its authority in SSL_CERT_FILE",
    ),
    Rule(
        example=(0, "ConnectError: All connection attempts failed"),
        status={0},
        words="ConnectError|ConnectTimeout",
        end="later",
        advice="start the server, or correct {where}",
        gone=True,
    ),
    Rule(example=(0, "PoolTimeout"), status={0}, words="PoolTimeout", end="later"),
    Rule(example=(0, "ReadError"), status={0}, end="later", billed=True),
    Rule(
        example=(429, '{"error": {"message": "Rate limit reached on requests per day (RPD)"}}'),
        status={403, 429},
        words=r"per[ _-]?day|daily|\b[rt]pd\b",
        end="never",
        advice="limit per day; run again after {when}",
    ),
    Rule(
        example=(429, '{"error": {"message": "Over your current quota", "retryDelay": "9s"}}'),
        status={429},
        words=r"per[ _-]?min|retrydelay|(retry|try again) in\b|\b[rt]pm\b",
        end="later",
        busy=True,
    ),
    Rule(
        example=(402, '{"error": {"message": "Pay."}}'),
        status={402},
        end="never",
        advice="check the account's credit{account}",
    ),
    Rule(
        example=(429, '{"error": {"message": "No.", "type": "insufficient_quota"}}'),
        status=_ANY,
        words=_CREDIT,
        end="never",
        advice=_QUOTA,
    ),
    Rule(
        example=(400, '{"error": {"message": "This model only support stream mode."}}'),
        status=_ANY,
        words=_STREAM,
        end="never",
        advice=_NO_STREAM,
    ),
    Rule(
        example=(400, '{"error": {"message": "No `m`.", "code": "model_not_found"}}'),
        status=_ANY,
        words="model_not_found",
        end="never",
        advice=_MODEL,
    ),
    Rule(
        example=(400, '{"error": {"code": "unsupported_parameter", "param": "seed"}}'),
        status=_ANY,
        words="(unknown|unsupported)_parameter",
        end="never",
        advice="{line}",
    ),
    Rule(
        example=(500, '{"error": {"message": "image input is not supported"}}'),
        status=range(400, 600),
        words=_BLIND,
        end="refused",
        advice="the server's model sees no images: start it with its vision part, or choose another `model:`,",
    ),
    Rule(
        example=(400, '{"error": {"message": "\'max_tokens\': over the context length"}}'),
        status={400, 422},
        words=_TOO_LONG,
        names_setting=True,
        end="refused",
    ),
    Rule(
        example=(400, '{"error": {"message": "`temperature` is deprecated for this model."}}'),
        status={400, 403, 405, 422},
        names_setting=True,
        end="refused",
        advice="{line}",
    ),
    Rule(example=(451, '{"error": {"message": "No."}}'), status={451}, end="filtered"),
    Rule(
        example=(400, '{"error": {"message": "No.", "code": "moderation_blocked"}}'),
        status=range(1, 500),
        words=_FILTER,
        end="filtered",
    ),
    Rule(
        example=(503, '{"error": {"message": "Loading."}}'),
        status={429, 503, 529},
        end="later",
        busy=True,
    ),
    Rule(
        example=(200, '{"error": {"type": "overloaded_error", "message": "Overloaded"}}'),
        status=range(200, 300),
        words=_BUSY,
        end="later",
        busy=True,
    ),
    Rule(example=(408, ""), status={408, 409, 425}, end="later"),
    Rule(example=(502, "<h1>Bad gateway</h1>"), status={502, 504, 524}, end="later", billed=True),
    Rule(
        example=(500, '{"error": {"message": "Something went wrong."}}'),
        status=range(500, 1000),
        end="later",
        advice="look into the server's log, or {line},",
    ),
    Rule(example=(413, "<h1>Too large</h1>"), status={413, 415}, end="refused"),
    Rule(
        example=(400, '{"error": {"message": "Invalid image.", "param": "messages[0].content"}}'),
        status={400, 422},
        words=rf"\A(messages|prompt|input)|{_TOO_LONG}",
        end="refused",
    ),
    Rule(
        example=(400, '{"error": {"message": "Thinking level is not supported."}}'),
        status={400, 422},
        end="refused",
        advice="{line}",
    ),
    Rule(
        example=(404, '{"error": "model \'m\' not found"}'),
        status={404, 410, *range(300, 400)},
        end="never",
        advice=_MODEL,
    ),
    Rule(
        example=(403, '{"error": {"message": "Not allowed."}}'),
        status={403},
        end="never",
        advice="check what the account may use{account}",
    ),
    Rule(
        example=(200, '{"answer": "A boat."}'),
        status=range(200, 300),
        end="later",
        advice="check {entry}",
        billed=True,
    ),
    Rule(example=(405, "<h1>No</h1>"), status=_ANY, end="never", advice="{line}"),
)
"""The first rule that matches an error decides."""


@dataclass(frozen=True)
class Trouble:
    """An error as a service words it."""

    status: int
    message: str
    param: str
    """The field of the request that it is about; often empty."""
    text: str
    """All of it: the field, the message and the body."""
    wait: float | None
    """Seconds that the service asks to wait."""

    def rule(self, names_setting: bool) -> Rule:
        """Return the first rule that matches."""
        for rule in RULES:
            if self.status not in rule.status or (rule.names_setting and not names_setting):
                continue
            if re.search(rule.words, self.text, re.IGNORECASE):
                return rule
        raise AssertionError("the last rule matches everything")


_NOT_SO = re.compile(r'"[^"]*"\s*:\s*\[?\s*(false|null|0)\b')
"""A name with its value, in JSON, where the value denies it: ``"nsfw": false``."""
_MOST_SEARCHED = 2**16
"""Characters of an error in which words are looked for."""
_STATUS = {"code", "status", "status_code", "statuscode", "http_status", "error_code"}


def trouble_in(status: int, text: str, headers: Mapping[str, str]) -> Trouble:
    """Read an error in an answer, or in a sentence about why none came (status 0)."""
    body: Any = text
    with suppress(ValueError):
        body = load_json(text.encode(), strict=False)
    if isinstance(body, list) and body:  # Gemini's
        body = body[0]
    error = body
    if isinstance(body, dict):
        error = body.get("error") or body
    detail = error if isinstance(error, dict) else {"message": error}
    messages = [detail.get(name) for name in ("message", "detail", "msg")]
    message = next((each for each in messages if isinstance(each, str)), text)
    known = {name.lower(): value for name, value in headers.items()}
    for name, value in facts(body):
        if name == "headers" and isinstance(value, dict):  # OpenRouter's, of the service behind it
            known |= {key.lower(): str(each) for key, each in value.items()}
        is_number = name.lower() in _STATUS and re.fullmatch("[45][0-9][0-9]", str(value))
        if 200 <= status < 300 and is_number:
            status = int(value)
    param = str(detail.get("param") or "")
    words = f"{param} {message[:_MOST_SEARCHED]} {text[:_MOST_SEARCHED]}".lstrip()
    wait = retry_after(known, words, status)
    return Trouble(status, message, param=param, text=_NOT_SO.sub("", words), wait=wait)


def facts(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield every name in JSON with its value, outer ones first."""
    level = [value]
    while level:
        inner: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                yield from each.items()
                inner += each.values()
            elif isinstance(each, list):
                inner += each
        level = inner


def says_something(error: Any) -> bool:
    """Return whether the field of an error holds one; some services fill it with 0 and null."""
    if not isinstance(error, dict):
        return bool(error)
    return any(value for _, value in facts(error) if not isinstance(value, dict | list))


_UNITS = {"ms": 0.001, "milli": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_AMOUNT = r"(\d+\.?\d*)\s*(ms|milli|[smhd])[a-z]*\s*"
_ASKED = re.compile(
    rf'(?:retry|try again|available|wait)(?:[_ -]?(?:in|after|delay|for))?(_ms|_?seconds|)"?[: ]+'
    rf'"?((?:{_AMOUNT})+|\d+\.?\d*(?![\d:/-]))',
    re.IGNORECASE,
)
"""A wait in an error's body or message: Google's ``retryDelay``, ``try again in 7m12s``."""


def retry_after(headers: Mapping[str, str], text: str = "", status: int = 429) -> float | None:
    """Return the seconds that a service asks to wait; None where it asks for none.

    Args:
        headers: with names in lower case.
        text: the answer's body.
    """
    asked = [headers.get(f"{name}retry-after-ms", "") + "ms" for name in ("", "x-ms-")]
    asked.append(headers.get("retry-after", ""))
    if match := _ASKED.search(text):
        asked.append(match[2] + ("ms" if match[1] == "_ms" else ""))
    for each in asked:
        if seconds := _seconds(each):
            return seconds
    waits = []
    for name, value in headers.items():
        left = headers.get(name.replace("reset", "remaining"), "0")
        if status == 429 and "ratelimit" in name and "reset" in name and left == "0":
            waits.append(_seconds(value) or 0.0)
    return max(waits, default=0.0) or None


def _seconds(text: str) -> float | None:
    """Read a wait: seconds, ``6m0s``, a date, or a moment in seconds or milliseconds since 1970."""
    seconds = 0.0
    text = text.strip()
    if re.fullmatch(f"(?:{_AMOUNT})+", text):
        for number, unit in re.findall(_AMOUNT, text):
            seconds += float(number) * _UNITS[unit]
    elif re.fullmatch(r"[\d.]+", text):
        with suppress(ValueError):
            seconds = float(text)
        if seconds > 1e12:
            seconds /= 1000
        if seconds > 1e9:
            seconds -= time.time()
    else:
        for read in (parsedate_to_datetime, datetime.fromisoformat):
            with suppress(ValueError, TypeError):
                moment = read(text)
                seconds = (moment.replace(tzinfo=moment.tzinfo or UTC)).timestamp() - time.time()
    return seconds if seconds > 0 and math.isfinite(seconds) else None


def field(answer: Any, kind: type[A], *path: str | int) -> A | None:
    """Return what an answer holds at a path; None if it is not of that kind: an answer that is paid
    for is not asked for again because of an odd figure beside it."""
    for step in path:
        if isinstance(answer, dict):
            answer = answer.get(step)
        elif isinstance(answer, list) and step == 0 and answer:
            answer = answer[0]
        else:
            return None
    return answer if type(answer) is kind else None


def usage_of(answer: Any, images: int = 0) -> Usage:
    """Read what a call has consumed.

    Some services count tokens of thoughts beside those of the answer: they are output, too.
    """

    def tokens(*names: str) -> int | None:
        """Return the first count that is one."""
        for name in names:
            count = field(answer, int, "usage", *name.split("."))
            if count is not None and 0 <= count <= 2**40:
                return count
        return None

    asked = tokens("prompt_tokens", "input_tokens")
    answered = tokens("completion_tokens", "output_tokens")
    total = tokens("total_tokens")
    thoughts = tokens("completion_tokens_details.reasoning_tokens")
    if asked is not None and total is not None:
        answered = max(answered or 0, total - asked)
    elif answered is not None and thoughts is not None and thoughts > answered:
        answered += thoughts
    cached = tokens(
        "prompt_tokens_details.cached_tokens",
        "input_tokens_details.cached_tokens",
        "prompt_cache_hit_tokens",
    )
    return Usage(asked, answered, images, cached_tokens=cached or 0)


_FLAG = re.compile(
    "((has|is|was|contains)_?)?(nsfw|unsafe)(_?(concepts?|content|image))?(_?(detected|flagged))?"
    "|((is|was|content|image|output|request)_?)?(moderated|filtered|blocked|censored|flagged)"
)
_ENDING = re.compile("reason|status|state")


def flag_of(answer: Any) -> str | None:
    """Return what marks a drawn image as filtered, such as ``has_nsfw_concepts: true``."""
    for name, value in facts(answer):
        first = value[0] if isinstance(value, list) and value else value
        word = str(first).lower()
        is_flag = _FLAG.fullmatch(name.lower()) and word in ("true", "1")
        is_ending = isinstance(first, str) and _ENDING.search(name.lower())
        if is_flag or (is_ending and re.fullmatch(FINISH_REASONS[Outcome.FILTERED], word)):
            return f"{name}: {word}"
    return None


def bytes_in(encoded: str) -> bytes:
    """Decode base64 as services spell it: in lines, for URLs, without padding, in a data URL.

    Raises:
        ValueError: it is not base64.
    """
    text = "".join(unquote(encoded).rpartition(",")[2].split())
    text = text.replace("-", "+").replace("_", "/").rstrip("=")
    return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)


def unpacked(data: bytes, encoding: str, most: int) -> bytes:
    """Undo a compression that nobody asked for.

    Raises:
        ValueError: it is another one than gzip's, is cut, or holds more than ``most`` bytes.
    """
    if encoding not in ("identity", "gzip", "x-gzip", "deflate"):
        raise ValueError(f"the answer is compressed by {encoding:.40}, which was not asked for")
    if encoding != "identity" or data[:2] == b"\x1f\x8b":
        packed = zlib.decompressobj(zlib.MAX_WBITS | 32)  # with a header of gzip or zlib
        try:
            data = packed.decompress(data, most + 1)
        except zlib.error as error:
            raise ValueError(f"the answer is not in {encoding}: {error}") from None
        if not packed.eof and len(data) <= most:
            raise ValueError("the answer is compressed and cut")
    if len(data) > most:
        raise ValueError(f"the answer has more than {most:,} bytes")
    return data

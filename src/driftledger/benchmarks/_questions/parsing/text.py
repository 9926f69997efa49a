"""One spelling for what models spell in many ways: scripts, brackets, markdown, markup.

All patterns of this package have bounded repetitions and run over text whose blanks are single, so that no reply, how
ever hostile, takes more than linear time.
"""

import re
import unicodedata

CJK = "\u1100-\u11ff\u2e80-\u30ff\u3130-\u318f\u31f0-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
"""Scripts that write no blanks: a Latin letter may stand right beside one of theirs."""
WORD = rf"[^\W{CJK}]"
"""A character that goes on with a word, in scripts that write blanks."""

SYMBOL = "[\u2190-\u2bff\U0001f000-\U0001faff]"
"""Arrows, ticks and pictograms, with which models adorn an answer."""

_OPENING, _CLOSING = "【〔〖「『《〈⟨❨⦅｢", "】〕〗」』》〉⟩❩⦆｣"
_SPELLING = {
    **dict.fromkeys(map(ord, _OPENING), "("),
    **dict.fromkeys(map(ord, _CLOSING), ")"),
    **dict.fromkeys(map(ord, "‘’‚‛ʼ′`´"), "'"),
    **dict.fromkeys(map(ord, "“”„‟«»‹›″〝〞"), '"'),
    **dict.fromkeys(map(ord, "–—―−"), " - "),
    **dict.fromkeys(map(ord, "。।｡"), "."),
    **dict.fromkeys(map(ord, "、،"), ","),
    ord("؛"): ";",
    ord("؟"): "?",
    **dict.fromkeys([0xFDFA, 0xFDFB], " "),  # whole sentences, which NFKC writes out: up to 18 characters for one
    **dict.fromkeys(map(ord, "\r\x0b\x0c\x85\u2028\u2029"), "\n"),
    **dict.fromkeys(range(0x200B, 0x2010)),  # zero width, and marks of direction
    **dict.fromkeys([0xAD, 0x61C, *range(0x202A, 0x202F), *range(0x2060, 0x2070), *range(0xFE00, 0xFE10), 0xFEFF]),
}

_FENCE = re.compile(r"(?m)^[ \t]{0,8}(?:```|~~~)[ \t]?[A-Za-z+-]{0,12}[ \t]{0,8}$")
_MARKUP: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"</?(?:b|strong|i|em|u|span|mark|code|sub|sup|s|bos|eos|start_of_turn|end_of_turn)>"), ""),
    (re.compile(r"<br ?/?>|</?(?:p|div|li|ul|pre)>"), "\n"),
    (re.compile(r"<[|｜][^|｜<>\n]{1,40}[|｜]>"), " "),  # <|im_end|>
    (re.compile(r"\\(?:text|mathrm|mathbf|mathit|mathsf|textbf|textit|textrm|rm|bf) ?\{"), "{"),
    (re.compile(r"\\[()\[\]]"), " "),
    (re.compile(r"(?<![A-Za-z0-9])[*_`]+|[*_`]+(?![A-Za-z0-9])|~~"), ""),  # emphasis, but not x*y or snake_case
)
_BLANKS = re.compile(r"[^\S\n]+")
_LINES = re.compile(r" ?\n[ \n]*")
_LINE_START = re.compile(r"(?m)^(?:[>#•●▪◦‣-]{1,6} )+")


def plain(text: str) -> str:
    """``text`` without formatting: NFKC, one kind of quote, bracket and dash, no emphasis, single blanks and newlines.

    >>> plain("**（Ｂ）**  “a\\tblue truck”。\\n\\n- because …")
    '(B) "a blue truck".\\nbecause ...'
    """
    text = _FENCE.sub("", text)
    # Emphasis before quotes: a backtick is both.
    for pattern, replacement in _MARKUP:
        text = pattern.sub(replacement, text)
    # Quotes before NFKC, which takes some of them apart.
    text = unicodedata.normalize("NFKC", text.translate(_SPELLING)).translate(_SPELLING)
    text = _LINES.sub("\n", _BLANKS.sub(" ", text)).strip()
    return _LINE_START.sub("", text).strip()


def folded(text: str) -> str:
    """Lower case, of the same length, so that a place in one is the same place in the other."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)

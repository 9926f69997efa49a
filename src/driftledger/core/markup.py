"""Untrusted text made inert for tables, in Markdown that is read in its source, too, in LaTeX, and in HTML.

Apart from :mod:`driftledger.core.escaping`, which is behind whatever a stage writes.
"""

import html
import re

from driftledger.core.escaping import for_line, for_markdown, for_terminal

_INERT = re.compile(
    r"(?!.*@[\w-]*\.[0-9])-?(?:[^\W_]|(?<=[^\W_])[_'+-](?=[^\W_])|(?<=[0-9])\.(?=[0-9])|(?<=\S)[.:](?= |$)"
    r"|(?<=[^\W_])\+(?=[ ,]|$)|(?<=\S) (?=\S)|(?<= )[+=](?= )|[,;%@()/–±·×÷−Δ→])*"
)
"""Text in which nothing is Markdown, as it stands: words and numbers with what joins and ends them."""
_LATEX = {
    **{letter: f"\\{letter}" for letter in "{}$&#_%"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "|": r"\textbar{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "`": r"\textasciigrave{}"},
    **{"[": "{[}", "]": "{]}", "*": "{*}"},  # behind \\ or \midrule these would begin an argument
    **{"–": "--", "−": "$-$", "±": r"$\pm$", "×": r"$\times$", "÷": r"$\div$", "·": r"$\cdot$", "→": r"$\to$"},
    **{"Δ": r"$\Delta$", "Σ": r"$\Sigma$", "ρ": r"$\rho$", "τ": r"$\tau$"},
}


def for_cell(text: str) -> str:
    """As :func:`~driftledger.core.escaping.for_markdown`; text in which nothing is Markdown stays as it stands, so that
    a table's source can be read."""
    line = for_line(text)
    return line if _INERT.fullmatch(line) else for_markdown(line)


def for_latex(text: str) -> str:
    """One line of plain text inside LaTeX, a tabular's cell included: no commands, no columns, no comments.

    Letters that pdflatex does not have, of other scripts for instance, stay: lualatex and xelatex set them.
    """
    return "".join(_LATEX.get(letter, letter) for letter in for_line(text))


def for_html(text: str) -> str:
    """Plain text inside HTML, an attribute's value in double quotes included; lines stay.

    >>> for_html('<b onclick="x">\\x1b')
    '&lt;b onclick=&quot;x&quot;&gt;\\\\x1b'
    """
    return html.escape(for_terminal(text))

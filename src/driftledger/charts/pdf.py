"""A figure as PDF, for papers: the same drawing, with its text as text in a font that goes along."""

import io
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from driftledger.charts.svg import attribute_of_font
from driftledger.core.errors import MissingExtraError

_FONT = "figure"


def to_pdf(svg: str) -> bytes:
    """One page as large as the figure; the same bytes each time.

    Args:
        svg: one of ours; others may hold what svglib does not know.

    Raises:
        MissingExtraError: svglib is not installed.
    """
    try:
        svglib, fonts = import_module("svglib.svglib"), import_module("svglib.fonts")
        renderer, settings = import_module("reportlab.graphics.renderPDF"), vars(import_module("reportlab.rl_config"))
    except ModuleNotFoundError:
        raise MissingExtraError("the library 'svglib' is not installed; run: pip install 'driftledger[pdf]'") from None
    for weight, name in (("normal", "DejaVuSans"), ("bold", "DejaVuSans-Bold")):
        fonts.register_font(_FONT, font_path=str(_fonts() / f"{name}.ttf"), weight=weight, rlgFontName=name)
    settings["invariant"] = 1  # no date and no random id in the file
    drawing = svglib.svg2rlg(io.BytesIO(svg.replace(attribute_of_font(), f'font-family="{_FONT}"').encode()))
    pdf: bytes = renderer.drawToString(drawing, svg.partition("<title>")[2].partition("</title>")[0])
    return pdf


def _fonts() -> Path:
    """In matplotlib's wheel, which MLflow needs; nothing of matplotlib is imported."""
    found = find_spec("matplotlib")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("the fonts of figures are in matplotlib, which is not installed")
    return Path(found.origin).parent / "mpl-data" / "fonts" / "ttf"

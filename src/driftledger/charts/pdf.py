"""A figure as PDF, for papers: the same drawing, with its text as text in a font that goes along."""

import io
from importlib import import_module

from driftledger.charts.svg import attribute_of_font
from driftledger.core.errors import MissingExtraError
from driftledger.core.registry import files_in_wheel

_FONT = "figure"
_FONT_FILES = ("matplotlib/mpl-data/fonts/ttf/DejaVuSans.ttf", "matplotlib/mpl-data/fonts/ttf/DejaVuSans-Bold.ttf")
"""In the wheel of matplotlib, which MLflow needs; nothing of it is imported."""


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
    for weight, file in zip(("normal", "bold"), files_in_wheel("matplotlib", *_FONT_FILES), strict=True):
        fonts.register_font(_FONT, font_path=str(file), weight=weight, rlgFontName=file.stem)
    settings["invariant"] = 1  # no date and no random id in the file
    drawing = svglib.svg2rlg(io.BytesIO(svg.replace(attribute_of_font(), f'font-family="{_FONT}"').encode()))
    pdf: bytes = renderer.drawToString(drawing, svg.partition("<title>")[2].partition("</title>")[0])
    return pdf

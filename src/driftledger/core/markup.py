# moved; removed at the end
from driftledger.core.text import for_cell, for_html, for_latex  # noqa: F401

# moved; removed at the end
from driftledger.core.text import csv_text, for_csv, for_line, for_markdown, for_terminal  # noqa: F401

"""Which formats there are, and how one is told by what a file holds."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Literal, NamedTuple, get_args

from driftledger.components.models.predictions import harness, mmvet, vlmevalkit
from driftledger.components.models.predictions.rows import PredictionRow
from driftledger.core.errors import ConfigError

FormatName = Literal["mmvet", "vlmevalkit", "lmms_eval", "lm_eval", "description_pickles"]
FOLDERS = "description_pickles"
"""The format of a folder; all others are of a file."""


class Format(NamedTuple):
    """A format of files."""

    id: str
    """What a row is matched by where no setting says so."""
    read: Callable[[bytes, str, str | None], Iterator[PredictionRow]]
    """Bytes, how errors call the file, and the column of the prediction → the rows."""


FORMATS: Mapping[FormatName, Format] = {
    "mmvet": Format("id", mmvet.read),
    "vlmevalkit": Format("index", vlmevalkit.read),
    "lmms_eval": Format("doc_id", harness.read),
    "lm_eval": Format("doc_id", harness.read),
}


def told_by(data: bytes, where: str) -> FormatName:
    """The format of a file by its content.

    Raises:
        ConfigError: it looks like none of them.
    """
    start = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    first = start.partition(b"\n")[0]
    if start.startswith(vlmevalkit.ZIP):
        return "vlmevalkit"
    if start.startswith(b"{"):
        line = _json(first)
        if isinstance(line, dict) and {harness.RAW, harness.FILTERED} & line.keys():
            return "lm_eval" if "filter" in line else "lmms_eval"
        return "mmvet"
    columns = {cell.strip(b'" \r') for cell in first.split(b"\t")}
    if start.startswith(b"[") or {b"index", vlmevalkit.PREDICTION.encode()} & columns:
        return "vlmevalkit"
    names = ", ".join(get_args(FormatName))
    raise ConfigError(f"{where} looks like no format that is known; set format to one of {names}, or mend it")


def _json(line: bytes) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None

"""The samples that lm-evaluation-harness and lmms-eval log with ``--log_samples``: a JSON object per line.

Both write ``doc_id``, ``doc``, ``target``, ``resps`` and ``filtered_resps``: see ``evaluator.py`` and
``loggers/evaluation_tracker.py`` of EleutherAI/lm-evaluation-harness and EvolvingLMMs-Lab/lmms-eval on GitHub.
The first writes a line per document and filter; the second leaves ``resps`` out where nothing was filtered.
"""

import io
from collections.abc import Iterator, Mapping
from typing import Any

from driftledger.components.models.predictions.rows import PredictionRow, decoded, parse_json, text_row
from driftledger.core.errors import ConfigError, first_few

RAW, FILTERED = "resps", "filtered_resps"


def read(data: bytes, where: str, answer: str | None) -> Iterator[PredictionRow]:
    """A row per line: what the model said (``resps``), or what ``answer`` names.

    Raises:
        ConfigError: a line is no JSON object, or has no responses.
    """
    for number, line in enumerate(io.StringIO(decoded(data, where), newline="\n"), 1):
        if line.strip():
            yield _row(f"line {number}", line, f"{where}, line {number}", answer)


def _row(place: str, line: str, where: str, answer: str | None) -> PredictionRow:
    sample = parse_json(line, where)
    if not isinstance(sample, dict):
        raise ConfigError(f"{where} holds no JSON object; each line must be a logged sample")
    column = answer or (RAW if RAW in sample else FILTERED)
    if column not in sample:
        names = first_few([repr(name)[:50] for name in sample], 20)
        raise ConfigError(f"{where} has no {column!r:.100}; set answer to what holds the response: {names}")
    doc = sample.get("doc")
    question = doc.get("question") if isinstance(doc, Mapping) else None
    cells = {name: value for name, value in sample.items() if name not in (RAW, FILTERED, "arguments")}
    more: dict[str, Any] = {"question": question if isinstance(question, str) else ""}
    said = list(_texts(sample[column]))
    if None in said:
        trouble = f"{place} holds likelihoods of given answers and no text"
        return PredictionRow(place, cells, trouble=trouble, **more)
    different = list(dict.fromkeys(said))
    if len(different) > 1:
        trouble = f"{place} holds {len(different)} different responses to one question"
        return PredictionRow(place, cells, trouble=trouble, **more)
    return text_row(place, cells, different[0] if different else None, **more)


def _texts(value: Any) -> Iterator[str | None]:
    """The responses in lists of any depth; None for what is no text, and for a likelihood with whether it is greedy."""
    if isinstance(value, list):
        if len(value) == 2 and str(value[1]) in ("True", "False") and _is_number(value[0]):
            yield None
            return
        for each in value:
            yield from _texts(each)
    else:
        yield value if isinstance(value, str) else None


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True

"""Text as MLflow can hold it: long values are cut where a reader sees it, everything else stays as it is."""

from collections.abc import Mapping

MAX_PARAM = 6000
MAX_TAG = 8000
_ROOM_FOR_NOTE = 40


def clip(text: str, limit: int) -> str:
    """``text`` in at most ``limit`` characters of valid Unicode, ending in a note of how many were cut."""
    text = text.encode("utf-8", "backslashreplace").decode()  # half a surrogate pair fits in no store
    if len(text) <= limit:
        return text
    kept = limit - _ROOM_FOR_NOTE
    return f"{text[:kept]}… ({len(text) - kept} more characters)"


def clipped(values: Mapping[str, str], limit: int) -> dict[str, str]:
    """The same mapping with every value clipped."""
    return {key: clip(value, limit) for key, value in values.items()}

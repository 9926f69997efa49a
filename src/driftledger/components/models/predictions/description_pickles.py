"""The results of GenCeption's authors: a pickle per image, which is read without executing anything in it.

Their code writes ``<dataset>/results_<model>/<image>_result.pkl``, a dictionary of ``descriptions``, ``images``,
``image_embeddings`` and ``cosine_similarities`` (github.com/EQTPartners/GenCeption, ``utils.py``). A pickle
may name any function to be called; here nothing is looked up by its name, and what is no plain value is a stand-in.
"""

import io
import pickle
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from driftledger.components.models.predictions.rows import PredictionRow, text_row
from driftledger.core.errors import ConfigError, first_few

SUFFIX = "_result.pkl"
_RESULTS = re.compile(r"results_[^/]*")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]")


class ResultFile(NamedTuple):
    """A file below the folder of results."""

    name: str
    """Relative to the folder, with ``/``."""
    data: bytes


def read(files: Sequence[ResultFile], where: str) -> Iterator[PredictionRow]:
    """A row per image: its first description, since every later one is of an image that was drawn there.

    The cell ``id`` is the image's name below the dataset's folder as an image folder here makes it a sample's id.

    Raises:
        ConfigError: there are results of several models, or a file is no result.
    """
    folders = sorted({part for file in files for part in file.name.split("/")[:-1] if _RESULTS.fullmatch(part)})
    if len(folders) > 1:
        named = first_few([repr(name)[:100] for name in folders])
        raise ConfigError(f"{where} holds results of {len(folders)} models ({named}); set path to a folder of one")
    for file in files:
        descriptions = _descriptions(file.data, f"{where}, {file.name!r:.200}")
        yield text_row(repr(file.name)[:200], {"id": sample_id(file.name)}, descriptions[0] if descriptions else None)


def sample_id(name: str) -> str:
    """The id of the image that a result is of.

    >>> sample_id("color/results_gpt4v/000000061658_result.pkl")
    'color_000000061658'
    """
    parts = name.removesuffix(SUFFIX).split("/")
    return _UNSAFE.sub("_", "/".join(part for part in parts if not _RESULTS.fullmatch(part)))


def _descriptions(data: bytes, where: str) -> list[Any]:
    try:
        found = _Inert(io.BytesIO(data)).load()
    except Exception as error:  # whatever damaged or hostile bytes bring about is a file that cannot be read
        raise ConfigError(
            f"{where} cannot be read as a result of GenCeption ({str(error)!r:.200}); remove it"
        ) from None
    descriptions = found.get("descriptions") if isinstance(found, dict) else None
    if not isinstance(descriptions, list):
        raise ConfigError(f"{where} holds no list of descriptions, as GenCeption's results do; remove it")
    return descriptions


class _StandIn:
    """In the place of every object that is no plain value, such as NumPy's numbers: it does nothing."""

    def __new__(cls, *args: Any, **more: Any) -> "_StandIn":
        return super().__new__(cls)

    def __setstate__(self, state: Any) -> None:
        """Nothing is kept."""


class _Inert(pickle.Unpickler):
    """Reads dictionaries, lists, texts and numbers; looks up nothing by its name."""

    def find_class(self, module: str, name: str) -> Any:
        return _StandIn

    def persistent_load(self, pid: Any) -> Any:
        return None

"""The files that ``driftledger init`` writes and ``driftledger upgrade`` renews: what stands in them comes with the
package, and each benchmark brings its own section of ``params.yaml``.

A file that may hold comments begins with a header: which version wrote it, and a digest of what it wrote below. So a
file that nobody has touched since is told from one that was edited.
"""

import re
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import groupby
from typing import NamedTuple

from driftledger import __version__
from driftledger.benchmarks.registry import benchmark
from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import ConfigError

PIPELINE = "dvc.yaml"
SECTION = "settings.yaml"
"""What a benchmark brings in its folder: its section of ``params.yaml`` as it comes."""

_HEADER = re.compile(r"# Written by driftledger [^\s,]+, sha256:([0-9a-f]{16}): .*\n")
_SHARED = ("dvc.yaml", "MLproject")
RULES = (".gitignore", ".dvcignore", ".gitattributes")
"""Files that are the user's, and must hold some lines of ours."""
_DIGITS = 16


class Generated(NamedTuple):
    """A file that is the package's: its path relative to the project, and what it holds below its header."""

    path: str
    body: str

    @property
    def text(self) -> str:
        """The whole file; JSON has no comments, and so no header."""
        return self.body if self.path.endswith(".json") else _header(self.body) + self.body


class Written(NamedTuple):
    """What a file holds that is there."""

    body: str
    noted: str | None
    """The digest in its header; None where it has none."""

    @property
    def untouched(self) -> bool:
        """Whether it is as some version of the package wrote it."""
        return self.noted == body_digest(self.body)


def read_written(text: str) -> Written:
    """The parts of a file.

    >>> read_written("stages: {}\\n")
    Written(body='stages: {}\\n', noted=None)
    """
    header = _HEADER.match(text)
    return Written(text[header.end() :], header[1]) if header else Written(text, None)


def body_digest(body: str) -> str:
    """What a header notes."""
    return sha256_bytes(body.encode(errors="surrogateescape"))[:_DIGITS]


def with_header(merged: str, body: str) -> str:
    """A file in which edits are merged with ``body``, which its header notes: so it is known to be edited."""
    return _header(body) + merged


def generated() -> list[Generated]:
    """Every file that the package writes for a project."""
    templates = files("driftledger") / "templates"
    shared = [Generated(name, _text(templates / name)) for name in _SHARED]
    plots = sorted((templates / "plots").iterdir(), key=lambda file: file.name)
    return shared + [Generated(f".dvc/plots/{file.name}", _text(file)) for file in plots]


def brought(name: str, file: str) -> str:
    """The text of a file that a benchmark brings in its folder; errors as in :func:`generated`."""
    package = type(benchmark(name)).__module__.rpartition(".")[0]
    place = files(package) / file
    if not place.is_file():
        raise ConfigError(f"the benchmark {name} brings no {file}; put one beside its specification, in {package}")
    return _text(place)


def rules() -> dict[str, str]:
    """What Git and DVC must be told, by the file that tells them; a project may have more in each."""
    templates = files("driftledger") / "templates"
    return {name: _text(templates / name.removeprefix(".")) for name in RULES}


def with_rules(text: str, wanted: str) -> str:
    """A file of rules with those that it lacks behind its own; each brings the comments above it.

    >>> with_rules("*.log", "# made anew\\n/build/\\n*.log\\n")
    '*.log\\n# made anew\\n/build/\\n'
    """
    own = {line.strip() for line in text.splitlines()}
    missing = "".join(part for rule, part in _parts(wanted) if rule not in own)
    return text + ("\n" if missing and text and not text.endswith("\n") else "") + missing


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """Each rule, with the text that it comes with."""
    comments = ""
    for is_comment, lines in groupby(text.splitlines(keepends=True), lambda line: line.startswith("#")):
        if is_comment:
            comments = "".join(lines)
            continue
        for line in lines:
            yield line.strip(), comments + line
            comments = ""


def _header(body: str) -> str:
    return (
        f"# Written by driftledger {__version__}, sha256:{body_digest(body)}: "
        "'driftledger upgrade' renews it and merges what you change.\n"
    )


def _text(file: Traversable) -> str:
    return file.read_bytes().decode()

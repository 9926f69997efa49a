"""The files that ``driftledger init`` writes and ``driftledger upgrade`` writes again; they come with the package."""

from importlib.resources import files
from itertools import groupby

from driftledger.benchmarks.registry import benchmark
from driftledger.core.errors import ConfigError

PIPELINE = "dvc.yaml"
SECTION = "settings.yaml"
"""A benchmark's section of ``params.yaml`` as it comes, in the benchmark's folder."""
RULES = (".gitignore", ".dvcignore", ".gitattributes")
"""Files that are the user's, and must hold some lines of ours."""
_HEADER = "# Written by driftledger"


def is_ours(text: str) -> bool:
    """Whether some version of the package wrote the file."""
    return text.startswith(_HEADER)


def generated() -> dict[str, str]:
    """Every file that the package writes for a project: its path and its text."""
    templates = files("driftledger") / "templates"
    head = f"{_HEADER}: 'driftledger upgrade' writes it again, and 'git diff' shows what that changes.\n"
    texts = {name: head + (templates / name).read_text(encoding="utf-8") for name in (PIPELINE, "MLproject")}
    plots = sorted((templates / "plots").iterdir(), key=lambda file: file.name)
    return texts | {f".dvc/plots/{file.name}": file.read_text(encoding="utf-8") for file in plots}


def brought(name: str, file: str) -> str:
    """Return the text of a file that a benchmark brings in its folder.

    Raises:
        ConfigError: it brings none.
    """
    package = type(benchmark(name)).__module__.rpartition(".")[0]
    place = files(package) / file
    if not place.is_file():
        raise ConfigError(f"the benchmark {name} brings no {file}; put one beside its specification, in {package}")
    return place.read_text(encoding="utf-8")


def rules() -> dict[str, str]:
    """The lines that Git and DVC need, by the file that holds them; a project may have more in each."""
    templates = files("driftledger") / "templates"
    return {name: (templates / name.removeprefix(".")).read_text(encoding="utf-8") for name in RULES}


def with_rules(text: str, wanted: str) -> str:
    """Add the rules that a file lacks behind its own; each brings the comments above it.

    >>> with_rules("*.log", "# made by a stage\\n/build/\\n*.log\\n")
    '*.log\\n# made by a stage\\n/build/\\n'
    """
    own = {line.strip() for line in text.splitlines()}
    missing = comments = ""
    for is_comment, lines in groupby(wanted.splitlines(keepends=True), lambda line: line.startswith("#")):
        for line in lines:
            if is_comment:
                comments += line
            else:
                missing += "" if line.strip() in own else comments + line
                comments = ""
    return text + ("\n" if missing and text and not text.endswith("\n") else "") + missing

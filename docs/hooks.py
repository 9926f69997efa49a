"""Hooks of ``mkdocs build``: the site has the repository's own files at the places they have there,
so that each link works in both; docstrings become Markdown."""

import re
from pathlib import Path
from typing import Any

from griffe import Extension, Object
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

REPOSITORY = Path(__file__).parents[1]
SHOWN = (
    "*.md",
    "LICENSE",
    "docs/**/*.md",
    "docs/images/*",
    "examples/*.ipynb",
    "reports/*.md",
    "reports/**/*.svg",
    "src/driftledger/**/patterns.yaml",
    "src/driftledger_demo/datasets/photos.json",
)
"""Pages, and what they link to."""
ROLE = re.compile(r":(?:attr|class|data|func|meth|mod):(?=`)")
DOCTEST = re.compile(r"^>>> (?:.+\n?)+", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Return the repository's pages in the place of those of ``docs/`` alone."""
    shown = [file for file in files if file.src_dir != config.docs_dir]  # the theme's
    for pattern in SHOWN:
        for path in sorted(REPOSITORY.glob(pattern)):
            name = path.relative_to(REPOSITORY).as_posix()
            shown.append(
                File(name, str(REPOSITORY), config.site_dir, config.use_directory_urls)
            )
    return Files(shown)


class Docstrings(Extension):
    """Docstrings as mkdocstrings reads them: examples fenced, without Sphinx's roles."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            text = ROLE.sub("", obj.docstring.value)
            obj.docstring.value = DOCTEST.sub(_fenced, text)


def _fenced(example: re.Match[str]) -> str:
    return f"\n```pycon\n{example[0].rstrip()}\n```\n"

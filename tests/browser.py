"""A real Chromium, where there is one: Debian's, through playwright."""

import shutil
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """The browser; the test is skipped where there is none. While it is open no other event loop can run."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install 'driftledger[dev]'"
    )
    executable = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if executable is None:
        pytest.skip("there is no chromium on the PATH: apt-get install chromium")
    with playwright.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        yield opened
        opened.close()


class Seen(NamedTuple):
    """What a page did that a reader does not see."""

    errors: list[str]
    """Of the console, and exceptions."""
    requests: list[str]
    """Every address that it asked for."""


def watched(page: "Page") -> Seen:
    """Fills while the page is used."""
    seen = Seen([], [])
    page.on("console", lambda said: seen.errors.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: seen.errors.append(str(error)))
    page.on("request", lambda request: seen.requests.append(request.url))
    return seen

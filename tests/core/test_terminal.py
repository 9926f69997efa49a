"""What commands print fits where it is printed."""

import os
import pty
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.table import Table

from driftledger.core.terminal import BAD, console, facts, line, lines, show, table
from tests.support.terminal import WIDTHS, fitting, printed

WORDS = "word " * 60


@pytest.fixture(autouse=True)
def _plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


def in_a_terminal(columns: int, **environment: str) -> str:
    """What a terminal of so many columns is sent."""
    code = (
        "import fcntl, struct, sys, termios\n"
        f"fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 40, {columns}, 0, 0))\n"
        "from driftledger.core.terminal import BAD, line, show\n"
        f"show(line({WORDS!r}, BAD))\n"
    )
    process, terminal = pty.fork()
    if process == 0:
        os.execve(sys.executable, [sys.executable, "-c", code], os.environ | {"TERM": "xterm-256color", **environment})
    sent = b""
    try:
        while data := os.read(terminal, 65536):
            sent += data
    except OSError:  # it has ended
        pass
    os.waitpid(process, 0)
    os.close(terminal)
    return sent.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("columns", WIDTHS)
def test_a_terminal_is_filled_and_not_crossed(columns: int) -> None:
    widest = max(cell_len(each) for each in in_a_terminal(columns, NO_COLOR="1").splitlines())
    assert columns - 5 <= widest <= columns


def test_a_terminal_has_colours_unless_it_is_asked_for_none() -> None:
    assert "\x1b[31m" in in_a_terminal(80)
    assert "\x1b" not in in_a_terminal(80, NO_COLOR="1")


@pytest.mark.parametrize(("columns", "width"), [(None, 80), ("60", 60), ("120", 120)])
def test_a_pipe_is_plain_and_80_columns_wide_or_as_wide_as_it_says(
    columns: str | None, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    show(line(WORDS, BAD))
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert width - 5 <= max(map(len, said.splitlines())) <= width
    assert said.split() == WORDS.split()


def test_json_stands_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    text = '{"a": "[bold]' + "x" * 200 + '  :smile:"}'
    show(text)
    assert capsys.readouterr().out == f"{text}\n"


def test_no_line_ends_in_blanks() -> None:
    made = table("a", "b")
    made.add_row("x", "")
    assert printed(made) == "a  b\nx"


@pytest.mark.parametrize(
    "hostile", ["\x1b[2J\x9b1m\u202e", "[bold]a[/bold]", "[link=http://x]y[/link]", "a\r\nb\u2028c"]
)
def test_hostile_text_is_inert_everywhere(hostile: str) -> None:
    made: Table = table(hostile, "number", numbers=["number"])
    made.add_row(line(hostile * 20), line("1"))
    for shown in (made, line(hostile * 20), lines([hostile * 20]), facts([(hostile, hostile * 20)])):
        assert "[bold]a[/bold]" in fitting(shown) or "[bold]" not in hostile
    assert len(printed(line(hostile)).splitlines()) == 1


def test_half_a_character_is_shown_as_its_code() -> None:
    assert printed(line("\ud800")) == "\\ud800"


def test_lines_that_wrap_stay_indented() -> None:
    first, *rest = printed(lines([f"  {WORDS}"]), 60).splitlines()
    assert rest
    assert all(each.startswith("  word") for each in (first, *rest))


def test_the_file_may_be_any(tmp_path: Path) -> None:
    with (tmp_path / "out").open("w", encoding="utf-8") as file:
        show(line("said"), console(file, 80))
    assert (tmp_path / "out").read_text(encoding="utf-8") == "said\n"

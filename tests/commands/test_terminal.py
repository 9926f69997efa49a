"""What commands print fits where it is printed, and hostile text does nothing there."""

import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from types import SimpleNamespace

import pytest

from driftledger.collect.progress import Progress
from driftledger.commands.terminal import BAD, facts, line, lines, show, table
from driftledger.core.types import Outcome, Result, Usage
from tests.support.terminal import fitting, printed

WORDS = "word " * 60


@pytest.fixture(autouse=True)
def _plain(monkeypatch):
    for name in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("columns", "width"), [(None, len(WORDS)), ("60", 60), ("120", 120)]
)
def test_a_pipe_is_plain_and_wraps_nothing_or_where_it_says(
    columns, width, monkeypatch, capsys
):
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    show(line(WORDS, BAD))
    text = capsys.readouterr().out
    assert "\x1b" not in text
    assert width - 5 <= max(map(len, text.splitlines())) <= width
    json = '{"a": "[bold]' + "x" * 200 + '  :smile:"}'
    show(json)
    assert capsys.readouterr().out == f"{json}\n"


@pytest.mark.parametrize(
    "hostile",
    [
        "\x1b[2J\x9b1m\u202e",
        "[bold]a[/bold]",
        "[link=http://x]y[/link]",
        "a\r\nb\u2028c",
        "\ud800",
    ],
)
def test_hostile_text_is_inert_everywhere(hostile):
    made = table(hostile, "number", numbers=["number"])
    made.add_row(line(hostile * 20), line("1"))
    long = hostile * 20
    for shown in (made, line(long), lines([long]), facts([(hostile, long)])):
        assert "[bold]a[/bold]" in fitting(shown) or "[bold]" not in hostile
    assert len(printed(line(hostile)).splitlines()) == 1


def test_a_closed_pipe_ends_no_progress_and_keeps_no_thread_waiting(monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    stderr = os.fdopen(writer, "w", buffering=1)
    monkeypatch.setattr(sys, "stderr", stderr)
    with Progress("GenCeption · a", 10) as bar, ThreadPoolExecutor(2) as threads:
        updates = [threads.submit(bar.update, 5) for _ in range(2)]
        wait(updates, timeout=60)
        assert [update.done() for update in updates] == [True, True]
    assert bar.n == 10
    with suppress(BrokenPipeError):
        stderr.close()


def test_in_a_file_progress_is_a_line_for_each_tenth(capsys):
    eyes = SimpleNamespace(entry_name="eyes")
    call = Result("", Outcome.FAILED, usage=Usage(10, 5, most_cost=0.5))
    bar = Progress("GenCeption · a", 100)
    with bar as first, Progress("fidelity · a", 6) as second:
        for _ in range(100):
            first.count(eyes, [call])
            first.update()
        second.update(2)
    text = capsys.readouterr().err
    assert not set(re.findall(r"[\x00-\x1f]", text)) - {"\n"}
    bars = re.findall(r"^GenCeption · a: .*", text, re.MULTILINE)
    shown = [int(re.findall(r"(\d+)/100", row)[0]) for row in bars]
    assert shown == [*range(0, 100, 11), 100]
    assert bars[-1].endswith("eyes: 100, cost at most 50.00]")
    assert " 2/6 " in re.findall(r"^fidelity · a: .*", text, re.MULTILINE)[-1]


def test_lines_that_wrap_stay_indented_and_no_line_ends_in_blanks():
    first, *rest = printed(lines([f"  {WORDS}"]), 60).splitlines()
    assert rest
    assert all(each.startswith("  word") for each in (first, *rest))
    made = table("a", "b")
    made.add_row("x", "")
    assert printed(made) == "a  b\nx"

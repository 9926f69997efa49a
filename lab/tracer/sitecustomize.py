"""Note which functions each test calls; lab.mutations puts this folder on Python's path.

Python imports this file when it starts, also in processes that tests start; pytest loads it as a
plugin. Rows of the file ``$CALLED`` are a test or a fixture, a tab, and: ``path:line`` of a
function that it called, ``=`` its CPU seconds, ``+`` a fixture that it uses, ``!`` if it failed.
"""

import os
import sys
import threading
from contextlib import suppress
from types import FrameType
from typing import Any

_rows = os.open(os.environ["CALLED"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
_seen: set[int] = set()
_since = sum(os.times()[:4])


def _write(text: str) -> None:
    with suppress(OSError):  # of a test that lets the disk be full
        os.write(_rows, f"{os.environ.get('CALLER', '')}\t{text}\n".encode())


def _note(frame: FrameType, event: str, argument: object) -> None:
    code = frame.f_code
    if id(code) not in _seen and "/src/driftledger/" in code.co_filename:
        _seen.add(id(code))
        line = 0 if code.co_name == "<module>" else code.co_firstlineno
        _write(
            f"{code.co_filename[code.co_filename.rindex('/src/driftledger/') + 1 :]}:{line}"
        )


def _begin(caller: str) -> None:
    global _since
    _write(f"={sum(os.times()[:4]) - _since}")
    os.environ["CALLER"] = caller
    _since = sum(os.times()[:4])
    _seen.clear()


def pytest_runtest_logstart(nodeid: str) -> None:
    _begin(nodeid.partition("[")[0])


def pytest_fixture_setup(fixturedef: Any, request: Any) -> None:
    test = (
        request.node.nodeid.partition("[")[0] if fixturedef.scope == "function" else ""
    )
    _begin(
        test
        or f"{os.environ['CALLER'].partition('::')[0].partition('+')[0]}+{fixturedef.argname}"
    )


def pytest_runtest_call(item: Any) -> None:
    _begin(item.nodeid.partition("[")[0])
    for name in item.fixturenames:
        _write(f"+{name}")


def pytest_runtest_logreport(report: Any) -> None:
    if report.failed:
        _write("!")


def pytest_runtest_logfinish(nodeid: str) -> None:
    _begin(nodeid.partition("::")[0])


threading.settrace(_note)
sys.settrace(_note)

"""Calls for which file permissions hold, whoever runs the tests.

They do not hold for root, which is why a child process gives up what sets root above them. It stays the owner of the
test's files, and of the Python that it imports from, which another user might not be allowed to read.
"""

import ctypes
import multiprocessing
import os
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, ParamSpec, TypeVar, cast

import pytest

P = ParamSpec("P")
R = TypeVar("R")

_CAPABILITY_VERSION_3 = 0x20080522


def unprivileged(function: Callable[P, R], *arguments: P.args, **settings: P.kwargs) -> R:
    """What ``function`` returns or raises; both must be picklable where root runs the tests."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return function(*arguments, **settings)
    if sys.platform != "linux":
        pytest.skip("root is above file permissions, and cannot give that up here")
    context = multiprocessing.get_context("fork")
    results, end = context.Pipe(duplex=False)
    child = context.Process(target=_report, args=(end, function, arguments, settings))
    child.start()
    end.close()
    try:
        returned, value = results.recv()
    finally:
        child.join()
    if not returned:
        raise value
    return cast(R, value)


def _report(end: Connection, function: Callable[..., Any], arguments: Any, settings: Any) -> None:
    _give_up_capabilities()
    try:
        end.send((True, function(*arguments, **settings)))
    except Exception as error:
        end.send((False, error))
    end.close()
    os._exit(0)  # nothing that the tests have set up is taken down here


def _give_up_capabilities() -> None:
    """``capset`` with three empty sets, twice 32 bits each."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    if ctypes.CDLL(None, use_errno=True).capset(header, (ctypes.c_uint32 * 6)()):
        raise OSError(ctypes.get_errno(), "root's capabilities cannot be given up")

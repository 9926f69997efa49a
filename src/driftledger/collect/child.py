"""Calls to components with weights, in a child process.

Its end gives back the GPU and the memory. When native code crashes there, or the kernel ends it
because memory is short, the calls of one component fail, and nothing else.
"""

import os
import select
import signal
import subprocess
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe
from threading import Thread
from typing import Any

import numpy as np

from driftledger.collect.batches import LocalCalls
from driftledger.collect.call import Call
from driftledger.components.base import Component, Encoder
from driftledger.components.checkpoints import CheckpointComponent
from driftledger.core.errors import ComponentError, DriftledgerError
from driftledger.core.text import shortened
from driftledger.core.types import Result


@dataclass
class ChildCalls(LocalCalls):
    """Local calls, those of components with weights in a child.

    The first call starts it.

    If the child ends at work, the calls of that component fail. The next component starts another.
    """

    _child: "subprocess.Popen[bytes] | None" = None
    _failed: dict[str, ComponentError] = field(default_factory=dict)
    """Component → why its calls fail."""

    def make(self, calls: Sequence[Call]) -> list[Result]:
        """Make a batch of calls to one component, as :meth:`LocalCalls.make`.

        Raises:
            ComponentError: the child ends at work, or has lost its device.
        """
        if not _fits_child(calls[0].component):
            return super().make(calls)
        results: list[Result] = self._ask(calls[0].component, "make", calls)
        return results

    def encode(self, encoder: Encoder, method: str, batch: Sequence[Any]) -> Any:
        """Return features or readings of a batch; errors as in :meth:`make`.

        Raises:
            ComponentError: the method raises or gives no numbers, as a user's own class may.
        """
        if _fits_child(encoder) and type(encoder).fitted is Encoder.fitted:
            return self._ask(encoder, "encode", encoder, method, batch)
        # what a fitted encoder learnt is not in its fingerprint
        try:
            answer = getattr(encoder, method)(batch)
            with np.errstate(over="ignore"):  # what is too large is told as not finite
                return (
                    answer if method == "read_texts" else np.asarray(answer, np.float32)
                )
        except DriftledgerError:
            raise
        except Exception as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            raised = shortened(f"{type(error).__name__}: {error}")
            raise ComponentError(
                f"encoder {encoder.provider} raises {raised} in {last.filename}, line {last.lineno}"
            ) from error

    def release(self, component: Component) -> None:
        """Let a component free its memory; the next call loads it again."""
        if not _fits_child(component):
            super().release(component)
        elif self._child:
            with suppress(ComponentError):  # it is free
                self._ask(component, "release", component)

    def close(self) -> None:
        """Kill the child and the processes that it has started; then its memory is free."""
        if self._child and self._child.poll() is None:
            os.killpg(self._child.pid, signal.SIGKILL)
            self._child.wait()

    def _ask(self, component: Component, method: str, *arguments: Any) -> Any:
        """Call a method of :class:`LocalCalls` in the child.

        Return or raise what it does there.
        """
        fingerprint = component.fingerprint
        if fingerprint in self._failed:
            raise self._failed[fingerprint]
        if not self._child or self._child.poll() is not None:
            self._child = self._started()
        try:
            self._pipe.send((method, arguments))
            answer = self._pipe.recv()
        except (EOFError, OSError):
            code = self._child.wait()
            end = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            if code == -signal.SIGKILL:
                end += ", as by the kernel when memory is short"
            name = component.entry_name or component.provider
            answer = ComponentError(
                f"{name}: the process that held its weights ended by {end}"
            )
        except BaseException:  # its answer would be taken for that of the next
            self.close()
            raise
        if isinstance(answer, ComponentError):
            self._failed[fingerprint] = answer
            self.close()
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def _started(self) -> "subprocess.Popen[bytes]":
        """Start a child with the import path of this process; its output goes to stderr."""
        # what comes through the pipe may be unpickled: nobody else can write to it
        self._pipe, other = Pipe()
        code = (
            f"import sys; sys.path[:] = {sys.path}; "
            f"from driftledger.collect.child import serve; serve({other.fileno()})"
        )
        with other:
            return subprocess.Popen(
                [sys.executable, "-PuXfaulthandler", "-c", code],
                stdin=subprocess.DEVNULL,
                stdout=2,
                pass_fds=[other.fileno()],
                start_new_session=True,  # an interrupt is for the parent, which decides
            )


def _fits_child(component: Component) -> bool:
    """Return True for a component with weights whose class another process can import."""
    kind = type(component)
    is_local = kind.__module__ == "__main__" or "<locals>" in kind.__qualname__
    return isinstance(component, CheckpointComponent) and not is_local


def serve(descriptor: int) -> None:
    """Be the child: call the methods of :class:`LocalCalls` that come through a pipe."""
    Thread(target=_end_with_parent, args=[descriptor], daemon=True).start()
    pipe = Connection(descriptor)
    local = LocalCalls()
    with suppress(EOFError, ConnectionError):  # the parent has ended
        while True:
            method, arguments = pipe.recv()
            try:
                answer = getattr(local, method)(*arguments)
            except BaseException as error:
                error.add_note(traceback.format_exc())
                answer = error
            pipe.send(answer)


def _end_with_parent(descriptor: int) -> None:
    """Kill this process and its children once the parent has closed the pipe."""
    hangup = select.poll()
    hangup.register(descriptor, 0)
    hangup.poll()
    os.killpg(0, signal.SIGKILL)

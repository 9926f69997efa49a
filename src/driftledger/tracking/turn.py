"""One writer of an experiment at a time, whichever clones and machines the others are on.

MLflow has nothing that is made once: two clones that look a run up, find none and create one have made two. Looking
again and letting the oldest stay is no way out, since a start time is what a client says it is and the other may have
gone on by then. So whoever is about to write takes a number, as at a baker's (Lamport 1974), for which it is enough
that what one has written all others read: a tag of the experiment for each that waits, ``<number> <renewals>``.

A tag that is renewed is of a process that lives. One that stays as it is for :data:`LEASE` seconds, by the clock of
whoever watches it, is of one that was killed, and is removed: no two clocks are compared. Who was taken for dead and
goes on nevertheless, on a computer that was suspended for instance, finds out before it writes anything more.
"""

import re
import secrets
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

from driftledger.core.errors import LedgerError
from driftledger.core.escaping import for_line
from driftledger.tracking import connection

if TYPE_CHECKING:
    from mlflow import MlflowClient

LEASE = 60.0
"""Seconds without a renewal after which a writer counts as killed: longer than a busy server keeps one waiting."""

_STOPS_AFTER = 45.0
"""Seconds without a renewal after which a writer writes nothing more, before others count it as killed."""

_RENEWED_EVERY = 5.0
_LOOKED_EVERY = 0.5

PREFIX = "driftledger.writer."
_VALUE = re.compile(r"(\d{1,9}) (\d{1,9})")
_WRITES = ("create_", "delete_", "finalize_", "log_", "set_", "update_")


class ReadAgain(Exception):  # noqa: N818  # no error: others may have written since what was read was read
    """It is this process's turn from now on."""


class _Seen(NamedTuple):
    value: str
    since: float


class Turn:
    """This process's turn to write to an experiment, taken before the first write and given back at the end.

    A push that finds nothing to do writes nothing, and so takes no turn.

    Args:
        note: a file of this checkout, which only one of its processes uses at a time: a killed one's tag is in it.
    """

    def __init__(self, client: "MlflowClient", experiment_id: str, name: str, note: Path) -> None:
        self._client = client
        self._experiment_id = experiment_id
        self._name = name
        self._note = note
        self._key = f"{PREFIX}{secrets.token_hex(8)}"
        self._number, self._renewals = 0, 0
        self._renewed_at = 0.0
        self._mine = self._lost = False
        self._writing = threading.RLock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._go_on_renewing, name=self._key, daemon=True)

    def guarded(self) -> "MlflowClient":
        """The client, which writes only while it is this process's turn.

        What writes is told what :meth:`begin` says first.
        """
        return cast("MlflowClient", _Guarded(self._client, self))

    @property
    def is_mine(self) -> bool:
        """Whether it has come: something is to be written."""
        return self._mine

    def begin(self) -> None:
        """To be called before something is written.

        Raises:
            ReadAgain: it has become this process's turn just now.
            LedgerError: it was, and took so long to renew its tag that others may count it as killed.
        """
        if self._mine:
            if _now() - self._renewed_at > 2 * _RENEWED_EVERY:
                self._renew()
            self._refuse_lost()
            return
        self._take()
        raise ReadAgain

    def _take(self) -> None:
        self._forget_killed()
        self._note.write_text(self._key, encoding="utf-8")
        self._write_tag()
        self._thread.start()
        number = 1 + max(map(_number, self._others().values()), default=0)
        with self._writing:
            self._number = number
            self._renew()
        self._refuse_lost()
        self._wait()
        self._mine = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the turn back; where that fails, the next process of this checkout does it."""
        if not self._renewed_at:
            return
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()
        with suppress(*connection.failures()):
            _remove_tag(self._client, self._experiment_id, self._key)
            self._note.unlink(missing_ok=True)

    def _forget_killed(self) -> None:
        """Who wrote the note held the lock that is held now, and has ended."""
        if self._note.exists():
            key = self._note.read_text(encoding="utf-8")
            if key in self._tags():
                _remove_tag(self._client, self._experiment_id, key)

    def _wait(self) -> None:
        """Until nobody has a lower number, or is about to get one that may be lower."""
        seen: dict[str, _Seen] = {}
        looks = 0
        while ahead := self._ahead():
            looks += 1
            if looks == 2:  # most are not in the way for longer than it takes them to get a number
                print(
                    f"another clone is writing to the MLflow experiment {for_line(self._name)!r}; waiting for it "
                    f"(at most {LEASE:.0f} s if it was killed)",
                    flush=True,
                )
            self._remove_killed(ahead, seen)
            self._over.wait(_LOOKED_EVERY)
            self._refuse_lost()

    def _ahead(self) -> dict[str, str]:
        """The tags of all whose turn is before this process's, or may be."""
        tags = self._others()
        return {key: value for key, value in tags.items() if (_number(value), key) < (self._number, self._key)}

    def _remove_killed(self, ahead: Mapping[str, str], seen: dict[str, _Seen]) -> None:
        for key, value in ahead.items():
            if key not in seen or seen[key].value != value:
                seen[key] = _Seen(value, time.monotonic())
            elif time.monotonic() - seen[key].since > LEASE:
                _remove_tag(self._client, self._experiment_id, key)

    def _tags(self) -> dict[str, str]:
        tags = self._client.get_experiment(self._experiment_id).tags
        return {key: value for key, value in tags.items() if key.startswith(PREFIX)}

    def _others(self) -> dict[str, str]:
        return {key: value for key, value in self._tags().items() if key != self._key}

    def _write_tag(self) -> None:
        with self._writing:
            self._renewals += 1
            before = _now()
            self._client.set_experiment_tag(self._experiment_id, self._key, f"{self._number} {self._renewals}")
            self._renewed_at = before

    def _renew(self) -> None:
        """Write the tag anew, unless it was taken away; what took too long might have been noticed by others."""
        with self._writing:
            last = self._renewed_at
            with suppress(*connection.failures()):
                if self._key in self._tags():
                    self._write_tag()
                else:
                    self._lost = True
            self._lost |= _now() - last > _STOPS_AFTER

    def _go_on_renewing(self) -> None:
        while not self._over.wait(_RENEWED_EVERY) and not self._lost:
            self._renew()

    def _refuse_lost(self) -> None:
        if self._lost:
            raise LedgerError(
                f"this process did not answer for a while when it wrote to MLflow ({for_line(self._name)!r}), so "
                "that another may be writing now; run 'driftledger track' again"
            )


class _Guarded:
    """Hands everything on to the client; what writes is asked for the turn first."""

    def __init__(self, client: "MlflowClient", turn: Turn) -> None:
        self._guarded = client
        self._turn = turn

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._guarded, name)
        if not name.startswith(_WRITES):
            return found

        def write(*arguments: Any, **options: Any) -> Any:
            self._turn.begin()
            return found(*arguments, **options)

        return write


def _number(value: str) -> int:
    """Of a tag; 0 where it has none yet."""
    match = _VALUE.fullmatch(value)
    return int(match[1]) if match else 0


def _now() -> float:
    """Seconds that go on while the computer sleeps, where it has such a clock."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


def _remove_tag(client: "MlflowClient", experiment_id: str, key: str) -> None:
    """Somebody else may have done so already."""
    with connection.tolerating("RESOURCE_DOES_NOT_EXIST"):
        client.delete_experiment_tag(experiment_id, key)

"""A stage of ours as a child that is forked, in place of a shell that starts Python anew.

The child has all that this process has imported, and nothing that a stage before it has made: it ends as a process
does, and gives its memory back. Called are only commands that our pipelines write; all others go to the shell.
"""

import atexit
import gc
import os
import random
import re
import select
import shutil
import signal
import sys
import threading
import traceback
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import NoReturn

from driftledger.benchmarks.registry import benchmark_names, benchmarks
from driftledger.core.code_digest import code_digest
from driftledger.core.forking import can_fork
from driftledger.core.registry import EMBEDDED, OURS
from driftledger.project.settings import settings_class

COMMAND = "driftledger"
_OURS = re.compile(r"driftledger stage(?: [A-Za-z0-9_./@:+-]+)+", re.ASCII)
"""Words that no shell reads otherwise."""
_SHELLS = ("sh", "bash", "dash", "zsh")
_READS_NO_LOCK = frozenset({"dataset", "question_set"})
"""And no stage of a benchmark does."""

_NEEDED = ("driftledger.cli", "driftledger.commands.stages", "driftledger.commands.resolve")
"""What every run imports, also where nothing is to be done."""
_NEEDED_TO_WORK = (
    *("driftledger.benchmarks.writing", "driftledger.benchmarks.scoring", "driftledger.collect.run"),
    *("driftledger.project.workers", "driftledger.data.datasets.build"),
    *("driftledger.data.question_sets.build", "numpy", "scipy.ndimage", "PIL.Image"),
)
"""What most other stages import. Libraries that start threads when they are imported, torch and MLflow among them, are
left to the stages that need them."""


def words_of(command: str, executable: str | None, environment: Mapping[str, str]) -> list[str] | None:
    """The words of a command that is to be forked; None where a shell must run it."""
    if not _OURS.fullmatch(command) or not _means_ours(executable, environment):
        return None
    return command.split(" ") if can_fork() else None


def may_read_locks(command: str | Sequence[str] | None) -> bool:
    """Whether what a stage runs may look at the locks of others: all but a few of ours."""
    words = command.split(" ") if isinstance(command, str) and _OURS.fullmatch(command) else []
    return not words or not is_of_data_or_benchmark(words)


def is_of_data_or_benchmark(words: Sequence[str]) -> bool:
    """Whether a command of ours makes data, or what a benchmark asks or scores."""
    return words[2] in _READS_NO_LOCK or is_of_benchmark(words)


def is_of_benchmark(words: Sequence[str]) -> bool:
    """Whether a command of ours makes what a benchmark asks or scores."""
    return words[2] in benchmark_names()


def _means_ours(executable: str | None, environment: Mapping[str, str]) -> bool:
    """Whether a shell would run the command that belongs to this Python."""
    if executable is None or Path(executable).name not in _SHELLS:
        return False
    if "BASH_ENV" in environment or any(name.startswith("BASH_FUNC_driftledger") for name in environment):
        return False
    found = shutil.which(COMMAND, path=environment.get("PATH", ""))
    with suppress(OSError):
        return found is not None and Path(found).samefile(Path(sys.executable).with_name(COMMAND))
    return False


def import_needed(*, to_work: bool = True) -> None:
    """Import what most stages need, or only what those do that run where nothing is to be done."""
    for name in _NEEDED:
        import_module(name)
    if to_work:
        _import_to_work()


@cache
def _import_to_work() -> None:
    """Also what is made when it is first used, and would be by each stage anew: classes, patterns of refusals, and the
    digests of embedded components."""
    from driftledger.benchmarks._questions.parsing.refusal import is_refusal

    runners = (spec.runner.partition(":")[0] for spec in benchmarks())
    embedded = {section: _embedded_modules(section) for section in OURS}
    for name in (*_NEEDED_TO_WORK, *runners, *chain(*embedded.values())):
        import_module(name)
    settings_class()
    is_refusal("I cannot tell.")
    for name in chain(embedded["models"], embedded["generators"], embedded["encoders"]):
        code_digest(name)
    gc.freeze()  # what is here stays: no child looks through it, which would copy it


def _embedded_modules(section: str) -> list[str]:
    return [place.partition(":")[0] for place in OURS[section].values() if place.startswith(EMBEDDED)]


def run_forked(
    words: Sequence[str],
    cwd: str,
    environment: Mapping[str, str],
    *,
    every: float,
    meanwhile: Callable[[], None],
) -> int:
    """Run a command of ours in a child, as a process of its own would; its exit code, negative for a signal.

    Args:
        every: how long to wait, in seconds, before
        meanwhile: is called, once. What goes wrong in it is raised when the child, which may be at a call that costs
            something, has ended.
    """
    _flush()
    heard = signal.getsignal(signal.SIGINT)
    child = os.fork()
    if child == 0:
        _be_the_child(words, cwd, environment)
    try:
        if threading.current_thread() is threading.main_thread():
            signal.signal(
                signal.SIGINT, signal.SIG_IGN
            )  # as DVC does: Ctrl-C reaches the child, which says how it ends
        failed: Exception | None = None
        try:
            if not _ends_within(child, every):
                meanwhile()
        except Exception as error:
            failed = error
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if failed is not None:
            raise failed
        return code
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, heard)


def _ends_within(child: int, seconds: float) -> bool:
    """Also where the kernel does not let one wait so long and no longer."""
    try:
        handle = os.pidfd_open(child)
    except OSError:
        return True
    try:
        return bool(select.select([handle], [], [], seconds)[0])
    finally:
        os.close(handle)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()


def _be_the_child(words: Sequence[str], cwd: str, environment: Mapping[str, str]) -> NoReturn:
    code = 1
    try:
        forget_the_parent()
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = [str(Path(sys.executable).with_name(words[0])), *words[1:]]
        code = _called()
    except BaseException:  # whatever it is, the child does not go on where its parent was
        traceback.print_exc()
    finally:
        with suppress(BaseException):
            _flush()
        os._exit(code)


def forget_the_parent() -> None:
    """What a new process has not: handlers of signals and of the end, streams that DVC has wrapped, drawn numbers."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, usual)
    atexit._clear()
    weakref.finalize._registry.clear()  # type: ignore[attr-defined]
    weakref.finalize._registered_with_atexit = False  # type: ignore[attr-defined]
    if sys.__stdout__ is not None and sys.__stderr__ is not None:
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    random.seed()
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()


def _called() -> int:
    """Call the command as its script does, and end as Python does; the exit code."""
    from driftledger.start import main

    try:
        main()
        code = 0
    except SystemExit as ended:
        code = _code(ended)
    except KeyboardInterrupt:
        sys.excepthook(*sys.exc_info())
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
        code = 130
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    return code


def _code(ended: SystemExit) -> int:
    if ended.code is None or isinstance(ended.code, int):
        return (ended.code or 0) & 0xFF
    print(ended.code, file=sys.stderr)
    return 1

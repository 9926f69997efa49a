"""A clone of the checkout, uncommitted changes included, in which tests are run with a fault in one file."""

import compileall
import math
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import NamedTuple
from xml.etree import ElementTree

from driftledger.core.canonical import sha256_file, sha256_of

_MEMORY = 8 << 30
"""Bytes that a process of the tests may take: a fault can fill a machine."""
_SHARED = 8
"""A second of the processor may take so many, since others use the machine too."""
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
_NOTHING_RUN = 5
"""The exit code of pytest where no test is left."""


class Ran(NamedTuple):
    """What pytest did."""

    passed: bool
    timed_out: bool
    seconds: float
    first_failure: str
    """Its name; empty if there is none."""


class Case(NamedTuple):
    """One test as it went."""

    file: str
    name: str
    """As pytest takes it on its command line."""
    seconds: float
    failed: bool


class Clone:
    """A copy of the project below ``folder``, which removes nothing but what it made."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = folder / "checkout"
        self._folder = folder
        self._running: subprocess.Popen[bytes] | None = None
        self._stopped = False
        _git(root, "clone", "--quiet", "--shared", str(root), str(self.root))
        changed = _git(root, "diff", "--name-only", "-z", "HEAD")
        added = _git(root, "ls-files", "-z", "-o", "--exclude-standard")
        for name in filter(None, (changed + added).split("\0")):
            (self.root / name).unlink(missing_ok=True)
            if (root / name).is_file():
                (self.root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, self.root / name)
        for part in ("src", "lab", "tests"):  # by content: a fault that is as long as what it replaces is noticed too
            compileall.compile_dir(self.root / part, quiet=2, invalidation_mode=PycInvalidationMode.CHECKED_HASH)

    def digest(self) -> str:
        """Of all files that tests may read, whatever is changed in them."""
        names = _git(self.root, "ls-files", "-z", "-c", "-o", "--exclude-standard").split("\0")
        return sha256_of({name: sha256_file(self.root / name) for name in names if (self.root / name).is_file()})

    @contextmanager
    def changed(self, files: dict[str, str]) -> Iterator[None]:
        """With other text in some files, as long as it lasts."""
        before = {name: (self.root / name).read_bytes() for name in files}
        for name, text in files.items():
            (self.root / name).write_text(text, encoding="utf-8")
        try:
            yield
        finally:
            for name, data in before.items():
                (self.root / name).write_bytes(data)
            shutil.rmtree(self.root / ".hypothesis", ignore_errors=True)

    def ask(self, tests: Sequence[str], marks: str, without: Collection[str], limit: float) -> Ran:
        """Run tests until one fails, or ``limit`` seconds of the processor are over."""
        left_out = [part for name in sorted(without) for part in ("--deselect", name)]
        started = time.monotonic()
        code, said = self._pytest(["-x", "-m", marks, *left_out, *tests], limit)
        failed = _FAILED.search(said)
        return Ran(
            passed=code in (0, _NOTHING_RUN),
            timed_out=code is None,
            seconds=round(time.monotonic() - started, 1),
            first_failure=failed[1] if failed else "",
        )

    def measure(self, tests: Sequence[str], marks: str, limit: float) -> list[Case]:
        """Run tests to the end, and say how each went.

        Raises:
            RuntimeError: they did not come to the end.
        """
        report = self._folder / "report.xml"
        more = ["--continue-on-collection-errors", f"--junitxml={report}", "-o", "junit_family=xunit1"]
        report.unlink(missing_ok=True)
        code, said = self._pytest(["-m", marks, *more, *tests], limit)
        if code is None or not report.is_file():
            raise RuntimeError(f"the tests did not come to their end without any fault:\n{said[-2000:]}")
        return list(_cases(report))

    def stop(self) -> None:
        """End what is running, from another thread; nothing can be run any more."""
        self._stopped = True
        if self._running is not None:
            _end(self._running)

    def _pytest(self, arguments: Sequence[str], limit: float) -> tuple[int | None, str]:
        """Exit code, None if it took too long, and what it printed.

        Raises:
            InterruptedError: it was stopped.
        """
        command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", *arguments]
        command += ["--basetemp", str(self._folder / "tests"), "--hypothesis-seed=0"]
        output = self._folder / "output.txt"
        with output.open("w") as file:
            process = subprocess.Popen(
                command,
                cwd=self.root,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self._running = process
            if hasattr(resource, "prlimit"):
                resource.prlimit(process.pid, resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
                resource.prlimit(process.pid, resource.RLIMIT_CPU, (math.ceil(limit), math.ceil(limit) + 1))
            try:
                code: int | None = process.wait(limit * _SHARED)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                _end(process)
                self._running = None
        if self._stopped:
            raise InterruptedError("the tests were stopped")
        return None if code == -signal.SIGXCPU else code, output.read_text(errors="replace")

    def _environment(self) -> dict[str, str]:
        home = self._folder / "home"
        home.mkdir(exist_ok=True)
        ours = os.pathsep.join([str(self.root / "src"), str(self.root)])
        return os.environ | {"PYTHONPATH": ours, "HOME": str(home), "TMPDIR": str(self._folder), "OMP_NUM_THREADS": "1"}


def _end(process: "subprocess.Popen[bytes]") -> None:
    """With all that it started and left behind."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _cases(report: Path) -> Iterator[Case]:
    """Parameters, which XML cannot always spell, are left out of names; a file that cannot be read is a case itself."""
    for case in ElementTree.parse(report).iter("testcase"):
        name, inside = case.get("name", ""), case.get("classname", "")
        file = case.get("file") or f"{name.replace('.', '/')}.py"
        module = file.removesuffix(".py").replace("/", ".")
        below = filter(None, inside.removeprefix(module).split("."))
        spelled = file if name == module else "::".join([file, *below, name.partition("[")[0]])
        failed = case.find("failure") is not None or case.find("error") is not None
        yield Case(file, spelled, float(case.get("time", 0)), failed)


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True, text=True).stdout

"""Put small faults into the code one by one, and see whether the tests nearest to it notice.

Run as ``python -m lab.mutations src/driftledger/metrics --count 50`` in the top folder, or with
the faults of a file, ``python -m lab.mutations lab/faults.jsonl``. That file has the faults where a
score is put together of metrics, intervals and records: ``becomes`` is put in the place of ``now``,
which stands once in a file, and the tests named there are all that runs.

All mutations of the named files are drawn in an order that the seed and each one's own text decide,
and are tried in copies of the checkout (uncommitted changes included). First each test runs once
without a fault, and notes which functions it calls (``lab/tracer``); a test that fails then is left
out. A mutation is tried with the tests that call the changed function, with mypy, and with the
default run, as in CI: each stage of ``dvc.yaml`` that calls the function makes its files again, and
all of them have to be the same. What is quick comes first. A mutation is *killed* if one of these
fails, differs, or takes several times the processor's time that it takes without a fault, else it
has *survived*, and its diff is printed. ``lab/equivalent.jsonl`` lists mutations that change
nothing, each with the reason; they are tried and counted apart. Outcomes are appended to
``.driftledger/mutations.jsonl``: started again, a mutation that was killed in the same text is not
tried again.
"""

import ast
import compileall
import difflib
import hashlib
import json
import os
import py_compile
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from copy import deepcopy
from fnmatch import fnmatch
from pathlib import Path
from queue import Queue
from typing import Annotated, NamedTuple

import typer
import yaml

from driftledger.core.errors import ConfigError
from driftledger.core.made import INPUTS
from driftledger.project.settings import load_settings
from lab.entry import new_app, run

RESULTS = Path(".driftledger") / "mutations.jsonl"
EQUIVALENT = Path("lab") / "equivalent.jsonl"
_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add,
    ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
}  # fmt: skip
_CALLS = {"sorted": "list", "min": "max", "max": "min"}
_SKIPPED = (ast.JoinedStr, ast.Raise, ast.Assert, ast.Import, ast.ImportFrom)
"""Messages, and what only stops the program."""
_UNCHECKED = ("annotation", "returns", "decorator_list", "type_comment")

_PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider")
_TYPES, _SECONDS_OF_TYPES = ["-m", "mypy", "src/driftledger"], 2.0
"""What CI checks, too; only its first run takes long."""
_MADE = ("data", "reports", ".driftledger")
"""What stages write."""

app = new_app(__doc__ or "")


class Mutation(NamedTuple):
    """``new`` in place of the bytes ``start`` to ``end`` of a file."""

    path: str
    start: int
    end: int
    new: str
    line: int

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.new.encode() + source[self.end :]

    def diff(self, source: bytes) -> str:
        """Return a unified diff."""
        before, after = (
            text.decode().splitlines(keepends=True)
            for text in (source, self.apply(source))
        )
        return "".join(
            difflib.unified_diff(before, after, f"a/{self.path}", f"b/{self.path}", n=2)
        )


def mutations(path: str, source: bytes) -> list[Mutation]:
    """Return every mutation of a file.

    >>> [each.new for each in mutations("m.py", b"def f(x, n=1):\\n    return x[0] + n < 5\\n")]
    ['0', 'None', 'x[0] + n <= 5', 'x[0] + n >= 5', 'x[0] - n', 'x[-1]', '1', '6']
    """
    starts = [0]
    for row in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(row))
    faults = []
    for node, variants in _variants(ast.parse(source)):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        bracket = source[start - 1 : start] != b"(" and isinstance(
            node, ast.BinOp | ast.BoolOp | ast.Compare
        )
        for new in map(ast.unparse, variants):
            text = f"({new})" if bracket and "\n" in source[start:end].decode() else new
            faults.append(Mutation(path, start, end, text, node.lineno))
    return faults


def _variants(node: ast.AST) -> Iterator[tuple[ast.expr, list[ast.expr]]]:
    """Yield each expression below a node that has mutations, from the outside in."""
    if isinstance(node, _SKIPPED) or (
        isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ):
        return
    if (
        isinstance(node, ast.keyword) and node.arg == "strict"
    ):  # of zip: it only stops the program
        return
    if isinstance(node, ast.expr) and (variants := _variants_of(node)):
        yield node, variants
    if (
        isinstance(node, ast.Return)
        and node.value is not None
        and ast.unparse(node.value) != "None"
    ):
        yield node.value, [ast.Constant(None)]
    for name, value in ast.iter_fields(node):
        children = value if isinstance(value, list) else [value]
        if name not in _UNCHECKED:
            for child in children:
                if isinstance(child, ast.AST):
                    yield from _variants(child)


def _variants_of(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.Compare):
        return [
            _changed(node, ops=[*node.ops[:place], other(), *node.ops[place + 1 :]])
            for place, operator in enumerate(node.ops)
            for other in _COMPARISONS[type(operator)]
        ]
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        text = any(
            isinstance(each, ast.JoinedStr) or _is_text(each)
            for each in (node.left, node.right)
        )
        # a path or a text: no difference
        return [] if text else [_changed(node, op=_ARITHMETIC[type(node.op)]())]
    if isinstance(node, ast.BoolOp):
        return [
            _changed(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        ]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        return [node.operand]
    if isinstance(node, ast.Subscript) and ast.unparse(node.slice) in ("0", "-1"):
        return [
            _changed(
                node, slice=ast.Constant(-1 if ast.unparse(node.slice) == "0" else 0)
            )
        ]
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in _CALLS
        and node.args
    ):
        other_call = ast.Name(_CALLS[node.func.id])
        kept = [] if other_call.id == "list" else node.keywords
        return [_changed(node, func=other_call, keywords=kept)]
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return [ast.Constant(not node.value)]
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return [ast.Constant(0 if node.value == 1 else node.value + 1)]
    return []


def _changed(node: ast.expr, **fields: object) -> ast.expr:
    other = deepcopy(node)
    for name, value in fields.items():
        setattr(other, name, value)
    return other


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)


class Calls:
    """What each test, and each stage of the default run, calls without a fault."""

    def __init__(self, rows: Iterable[str]) -> None:
        self.of: dict[str, set[str]] = defaultdict(set)
        """A test, a fixture, a file of tests or a stage → ``path:line`` of functions, line 0 for
        what loads a file."""
        self.seconds: dict[str, float] = defaultdict(float)
        self.fixtures: dict[str, set[str]] = defaultdict(set)
        self.failed: set[str] = set()
        for caller, text in (row.rstrip("\n").split("\t") for row in rows):
            if text[0] == "=":
                self.seconds[caller] += float(text[1:])
            elif text[0] == "+":
                self.fixtures[caller].add(f"{_file(caller)}{text}")
            elif text[0] == "!":
                self.failed.add(caller)
            else:
                self.of[caller].add(sys.intern(text))
        self.tests = [caller for caller in self.fixtures if caller not in self.failed]

    def reaching(
        self, path: str, function: int, seconds: float
    ) -> list[tuple[float, list[str]]]:
        """Return the tests that call a function, the quickest first, as many as run in ``seconds``.

        Each batch takes three seconds, or twice as long as its first test; what tests share is made
        once for it.

        What is outside of all functions is reached by tests that call one of the same file, and, as
        the last, by tests in a file of tests that loads it.
        """
        order = []
        for test in self.tests:
            users = {test, *self.fixtures[test]}
            called = set[str]().union(
                *(self.of[user] for user in users if user in self.of)
            )
            near = f"{path}:{function}" in called or (
                not function and any(e.startswith(f"{path}:") for e in called)
            )
            if near or (not function and f"{path}:0" in self.of[_file(test)]):
                order.append(
                    (not near, sum(self.seconds[user] for user in users), test)
                )
        batches = list[tuple[float, list[str]]]()
        spent, took, longest, paid = 0.0, 0.0, 0.0, set[str]()
        for _, whole, test in sorted(order):
            cost = sum(
                self.seconds[user] for user in {test} | self.fixtures[test] - paid
            )
            begins = not batches or took + cost > longest
            if spent + (whole if begins else cost) > seconds:
                continue
            if begins:
                batches.append((0.0, []))
                took, longest, paid, cost = 0.0, max(3.0, 2 * whole), set[str](), whole
            took, spent = took + cost, spent + cost
            batches[-1] = took, [*batches[-1][1], test]
            paid |= self.fixtures[test]
        return batches


def _file(caller: str) -> str:
    return caller.partition("::")[0].partition("+")[0]


def _function(source: bytes, line: int) -> int:
    """Return the first line of the innermost function around a line, 0 outside of all."""
    around = [
        min([node.lineno, *(each.lineno for each in node.decorator_list)])
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return max(around, default=0)


def _copy(root: Path, target: Path) -> list[str]:
    """Copy a checkout, uncommitted changes included; return the names of its files."""
    listed = subprocess.run(
        ["git", "ls-files", "-coz", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    )
    files = [
        name for name in listed.stdout.split("\0") if name and (root / name).is_file()
    ]
    for name in files:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(root / name, target / name)
    # By hash, not by time: a fault may come and go within a second and leave the file as long as it
    # was.
    compileall.compile_dir(
        target / "src",
        quiet=1,
        invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH,
    )
    return files


class Bench:
    """Copies of the checkout, in which tests and stages run."""

    def __init__(self, root: Path, folder: Path, jobs: int, marks: str) -> None:
        """Run all tests and the default run without a fault, and note what they call."""
        self._folder = folder
        self._pytest = [*_PYTEST, "-m", marks]
        self._free: Queue[Path] = Queue()
        self._stages: dict[str, list[str]] = {}
        """Command → what it writes."""
        models = load_settings(root / "params.yaml").run.models
        for name, stage in yaml.safe_load(
            (root / "dvc.yaml").read_text(encoding="utf-8")
        )["stages"].items():
            outs = [
                next(iter(each)) if isinstance(each, dict) else each
                for each in stage["outs"]
            ]
            for model in models if "matrix" in stage else models[:1]:
                if name != "track":  # MLflow notes times
                    command = stage["cmd"].replace("${item.model}", model)
                    self._stages[command] = [
                        out.replace("${item.model}", model) for out in outs
                    ]
        first = folder / "0"
        files = _copy(root, first)
        if _exit_code(first, _TYPES, 1000):
            raise ConfigError("mypy finds errors without a fault")
        for again in (False, True):  # calls are made once, and replayed from then on
            for stage, outs in self._stages.items():
                self._unmark(first, outs)
                traced = (
                    {"CALLED": str(folder / "called"), "CALLER": stage} if again else {}
                )
                if _exit_code(first, ["-m", *stage.split()], 1000, **traced):
                    raise ConfigError(f"the default run fails without a fault: {stage}")
        for top in _MADE:
            shutil.copytree(first / top, folder / "expected" / top)
        self._free.put(first)
        for number in range(1, jobs):
            shutil.copytree(first, folder / str(number))
            self._free.put(folder / str(number))
        tests = [
            name
            for name in files
            if fnmatch(name, "tests/*test_*.py")
            and not name.startswith("tests/extras/")
        ]
        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(self._trace, [*tests, "src/driftledger/metrics"]))
        with (folder / "called").open(encoding="utf-8") as rows:
            self.calls = Calls(rows)

    def _trace(self, file: str) -> None:
        copy = self._free.get()
        called = str(self._folder / "called")
        _exit_code(
            copy,
            [*self._pytest, "-p", "sitecustomize", file],
            1000,
            CALLED=called,
            CALLER=file,
        )
        self._free.put(copy)

    def killer(self, fault: Mutation, seconds: float) -> str | None:
        """Return the first test or stage that fails with a fault, or None; tests take ``seconds``
        at most."""
        copy = self._free.get()
        source = (copy / fault.path).read_bytes()
        function = _function(source, fault.line)
        runs = [
            (cost, [*self._pytest, "-x", *tests], list[str]())
            for cost, tests in self.calls.reaching(fault.path, function, seconds)
        ]
        runs += [(_SECONDS_OF_TYPES, _TYPES, [])]
        runs += [
            (self.calls.seconds[stage], ["-m", *stage.split()], outs)
            for stage, outs in self._stages.items()
            if f"{fault.path}:{function}" in self.calls.of[stage]
        ]
        try:
            (copy / fault.path).write_bytes(fault.apply(source))
            for cost, arguments, outs in sorted(runs):
                # Stages before one need not run: those that call the function have to write what
                # they wrote, too.
                self._unmark(copy, outs)
                code = _exit_code(copy, arguments, cost)
                if code not in (0, 5) or any(
                    _files(copy / out) != _files(self._folder / "expected" / out)
                    for out in outs
                ):
                    output = (copy / "output").read_text(
                        encoding="utf-8", errors="replace"
                    )
                    return next(
                        iter(
                            re.findall(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
                        ),
                        " ".join(arguments),
                    )
            return None
        finally:
            (copy / fault.path).write_bytes(source)
            for top in _MADE if any(outs for _, _, outs in runs) else ():
                shutil.rmtree(copy / top, ignore_errors=True)
                shutil.copytree(self._folder / "expected" / top, copy / top)
            self._free.put(copy)

    def _unmark(self, copy: Path, outs: list[str]) -> None:
        """Let nothing in the folders that a stage writes be taken as made."""
        for out in outs:
            for mark in (copy / out).rglob(INPUTS):
                mark.unlink()


def _exit_code(copy: Path, arguments: list[str], seconds: float, **traced: str) -> int:
    """Run Python in a copy, and end it with all that it has started when it takes far more than
    ``seconds``.

    It is the processor's time that counts, as others may use it too; by the clock, only what
    waits for ever ends.
    """
    limits = f"ulimit -t {20 + 5 * seconds:.0f} -d 8000000; exec "
    path = (
        f"{copy / 'src'}{os.pathsep}{copy / 'lab' / 'tracer'}"
        if traced
        else str(copy / "src")
    )
    with (copy / "output").open("wb") as output:
        process = subprocess.Popen(
            ["sh", "-c", limits + shlex.join([sys.executable, *arguments])],
            cwd=copy,
            start_new_session=True,
            env=os.environ | traced | {"PYTHONPATH": path},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        return process.wait(60 + 10 * seconds)
    except subprocess.TimeoutExpired:
        return -9
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.wait()


def _files(top: Path) -> dict[str, bytes]:
    files = [top] if top.is_file() else top.rglob("*")
    return {
        str(path.relative_to(top)): path.read_bytes()
        for path in files
        if path.is_file()
    }


@app.command()
def main(
    places: Annotated[
        list[Path],
        typer.Argument(help="Files or folders below src/, or a file of faults."),
    ],
    count: Annotated[int, typer.Option(min=1, help="How many.")] = 50,
    seed: Annotated[int, typer.Option(help="Decides which.")] = 1,
    jobs: Annotated[
        int, typer.Option(min=1, help="Tried at once, each in a copy of its own.")
    ] = 1,
    reach: Annotated[
        float, typer.Option(help="Seconds of tests per mutation, at most.")
    ] = 60,
    marks: Annotated[
        str, typer.Option(help="Which tests, as for pytest -m.")
    ] = "not slow",
) -> None:
    """Try mutations, and print those that survive."""
    root = Path.cwd()
    if [place.suffix for place in places] == [".jsonl"]:
        aimed(root, places[0])
        return
    files = sorted(
        {
            file
            for place in places
            for file in (place.rglob("*.py") if place.is_dir() else [place])
            if file.is_file()
        }
    )
    sources = {
        str(file.resolve().relative_to(root)): file.read_bytes() for file in files
    }
    every = [
        each for path, source in sources.items() for each in mutations(path, source)
    ]
    if not every:
        raise ConfigError(
            f"there is nothing to change in {', '.join(map(str, places))}; name Python files "
            "below src/"
        )
    lots = {each: _digest(seed, each, sources[each.path]) for each in every}
    picked = sorted(every, key=lots.__getitem__)[:count]
    listed = [
        json.loads(row) for row in EQUIVALENT.read_text(encoding="utf-8").splitlines()
    ]
    equivalent = {(row["path"], row["line"], row["new"]) for row in listed}
    known = (
        RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.is_file() else []
    )
    killed = {
        row["mutation"] for row in map(json.loads, known) if row["end"] == "killed"
    }
    with tempfile.TemporaryDirectory(
        prefix="mutations-", ignore_cleanup_errors=True
    ) as folder:
        bench = Bench(root, Path(folder), jobs, marks)
        print(
            f"{len(bench.calls.tests)} tests; left out, as they fail without a fault: "
            f"{sorted(bench.calls.failed)}"
        )

        def attempt(mutation: Mutation) -> str:
            if lots[mutation] in killed:
                return "killed"
            killer = bench.killer(mutation, reach)
            end = "killed" if killer else "survived"
            with RESULTS.open("a", encoding="utf-8") as file:
                file.write(
                    json.dumps(
                        {
                            "mutation": lots[mutation],
                            "path": mutation.path,
                            "end": end,
                            "by": killer,
                        }
                    )
                    + "\n"
                )
            text = (
                sources[mutation.path].splitlines()[mutation.line - 1].decode().strip()
            )
            if (mutation.path, text, mutation.new) in equivalent:
                end = "listed" if end == "survived" else "wrongly listed"
            if end != "killed":
                print(
                    f"\n{mutation.path}:{mutation.line} "
                    f"{end}{f', but killed by {killer}' if killer else ''}"
                )
                print(mutation.diff(sources[mutation.path]), flush=True)
            return end

        RESULTS.parent.mkdir(exist_ok=True)
        random.Random(seed).shuffle(
            picked
        )  # files that take long are spread over the copies
        with ThreadPoolExecutor(jobs) as pool:
            ends = Counter(pool.map(attempt, picked))
    count = len(picked) - ends["listed"]
    print(
        f"{ends['killed']} of {count} mutations are killed, {ends['killed'] / count:.1%}; "
        f"{len(every)} are possible"
    )
    print(
        f"{ends['listed']} more change nothing, as {EQUIVALENT} explains; wrongly listed: "
        f"{ends['wrongly listed']}"
    )


def aimed(root: Path, file: Path) -> None:
    """Try the faults of a file with the tests that each names, and print what kills it."""
    faults = [json.loads(row) for row in file.read_text(encoding="utf-8").splitlines()]
    tests = {test for fault in faults for test in fault["tests"]}
    survived = 0
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        copy = Path(folder)
        _copy(root, copy)
        if _exit_code(copy, [*_PYTEST, *sorted(tests)], 1000):
            raise ConfigError(f"the tests of {file} fail without a fault")
        for fault in faults:
            place = copy / fault["file"]
            source = place.read_text(encoding="utf-8")
            if source.count(fault["now"]) != 1:
                raise ConfigError(
                    f"{fault['file']} does not hold {fault['now']!r} once; correct the fault "
                    f"{fault['fault']!r} in {file}"
                )
            place.write_text(
                source.replace(fault["now"], fault["becomes"]), encoding="utf-8"
            )
            code = _exit_code(copy, [*_PYTEST, "-x", *fault["tests"]], 100)
            place.write_text(source, encoding="utf-8")
            output = (copy / "output").read_text(encoding="utf-8", errors="replace")
            killers = re.findall(r"^(?:FAILED|ERROR) (.*)", output, re.MULTILINE)
            end = f"killed by {next(iter(killers), 'its time')}" if code else "survived"
            survived += not code
            print(f"{fault['fault']}: {end}", flush=True)
    print(f"{len(faults) - survived} of {len(faults)} faults are killed")
    if survived:
        sys.exit(1)


def _digest(seed: int, mutation: Mutation, source: bytes) -> str:
    """Identify a mutation by its own text and its file's, so that a change elsewhere leaves the
    choice as it is."""
    return hashlib.sha256(
        repr((seed, mutation, hashlib.sha256(source).hexdigest())).encode()
    ).hexdigest()


if __name__ == "__main__":
    run(app)

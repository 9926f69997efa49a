"""Put small faults into the code one by one, and see whether the tests nearest to it notice.

Run as ``python -m lab.mutations src/driftledger/metrics --count 50`` in the top folder.

All mutations of the named files are drawn in an order that the seed and each one's own text decide. Each is tried in a
copy of the checkout (uncommitted changes included), with the test files whose imports lead to the changed file, the
nearest first. A test file that fails without a fault is left out. What passes them is tried on the default run, as CI
does: records are replayed from stored calls, scores and reports are made again, and every file has to be the same. A
mutation is *killed* if a test or the default run fails, differs or takes too long, else it has *survived*, and its diff
is printed. Outcomes are appended to ``.driftledger/mutations.jsonl``: started again, a mutation that was killed in the
same text is not tried again.
"""

import ast
import difflib
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from queue import Queue
from typing import Annotated, NamedTuple

import typer

from driftledger.core.errors import ConfigError
from driftledger.core.files import INPUTS
from driftledger.project.settings import load_settings
from lab.entry import new_app, run

RESULTS = Path(".driftledger") / "mutations.jsonl"
_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.In: (ast.NotIn,), ast.NotIn: (ast.In,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
}  # fmt: skip
_CALLS = {"sorted": "list", "min": "max", "max": "min"}
_SKIPPED = (ast.JoinedStr, ast.Raise, ast.Assert, ast.Import, ast.ImportFrom)
"""Messages, and what only stops the program."""
_UNCHECKED = ("annotation", "returns", "decorator_list", "type_comment")

_DRIFTLEDGER = [sys.executable, "-m", "driftledger"]
_MADE = ("data/datasets", "data/questions", "data/records", "reports")

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
        before, after = (text.decode().splitlines(keepends=True) for text in (source, self.apply(source)))
        return "".join(difflib.unified_diff(before, after, f"a/{self.path}", f"b/{self.path}", n=2))


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
        bracket = source[start - 1 : start] != b"(" and isinstance(node, ast.BinOp | ast.BoolOp | ast.Compare)
        for new in map(ast.unparse, variants):
            text = f"({new})" if bracket and "\n" in source[start:end].decode() else new
            faults.append(Mutation(path, start, end, text, node.lineno))
    return faults


def _variants(node: ast.AST) -> Iterator[tuple[ast.expr, list[ast.expr]]]:
    """Yield each expression below a node that has mutations, from the outside in."""
    if isinstance(node, _SKIPPED) or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
        return
    if isinstance(node, ast.keyword) and node.arg == "strict":  # of zip: it only stops the program
        return
    if isinstance(node, ast.expr) and (variants := _variants_of(node)):
        yield node, variants
    if isinstance(node, ast.Return) and node.value is not None and ast.unparse(node.value) != "None":
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
        text = any(isinstance(each, ast.JoinedStr) or _is_text(each) for each in (node.left, node.right))
        return [] if text else [_changed(node, op=_ARITHMETIC[type(node.op)]())]  # a path or a text: no difference
    if isinstance(node, ast.BoolOp):
        return [_changed(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        return [node.operand]
    if isinstance(node, ast.Subscript) and ast.unparse(node.slice) in ("0", "-1"):
        return [_changed(node, slice=ast.Constant(-1 if ast.unparse(node.slice) == "0" else 0))]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLS and node.args:
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


def nearest_tests(root: Path) -> dict[str, list[str]]:
    """Return, for each source file, the test files whose imports lead to it, the nearest first."""
    modules = {}
    for top, base in (("src", root / "src"), ("tests", root)):
        for file in (root / top).rglob("*.py"):
            modules[".".join(file.relative_to(base).with_suffix("").parts).removesuffix(".__init__")] = file
    users: dict[str, set[str]] = {name: set() for name in modules}
    for name, file in modules.items():
        for node in ast.walk(ast.parse(file.read_bytes())):
            if isinstance(node, ast.Import):
                dotted = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                dotted = [f"{node.module}.{alias.name}" for alias in node.names]
            else:
                continue
            for each in dotted:
                used = each if each in modules else each.rpartition(".")[0]
                if used in users:
                    users[used].add(name)
    nearest = {}
    for name, file in modules.items():
        seen, level = {name}, {name}
        order: list[str] = []
        while level:
            order += sorted(each for each in level if modules[each].name.startswith("test_"))
            level = {user for each in level for user in users[each]} - seen
            seen |= level
        nearest[str(file.relative_to(root))] = [str(modules[each].relative_to(root)) for each in order]
    return nearest


class Bench:
    """Copies of the checkout in which tests run."""

    def __init__(self, root: Path, folder: Path, jobs: int, limit: float, marks: str) -> None:
        self._root, self._limit, self._marks = root, limit, marks
        self._free: Queue[Path] = Queue()
        listed = subprocess.run(
            ["git", "ls-files", "-coz", "--exclude-standard"], cwd=root, check=True, capture_output=True, text=True
        )
        files = [name for name in listed.stdout.split("\0") if name and (root / name).is_file()]
        for number in range(jobs):
            copy = folder / str(number)
            for name in files:
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, copy / name)
            self._free.put(copy)

    def passes(self, tests: list[str], fault: Mutation | None = None) -> bool:
        """Run test files in a free copy, with a fault or without."""
        pytest = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", self._marks, *tests]
        with self._copy(fault) as copy:
            return self._exit_code(copy, pytest) in (0, 5)  # 5: all tests are deselected

    def evaluates(self, fault: Mutation | None = None) -> bool:
        """Make the default run's records, scores and reports again in a free copy; whether each file is the same.

        The first time it makes the calls, and keeps what later times are held to.
        """
        models = load_settings(self._root / "params.yaml").run.models
        stages = [
            "stage resolve",
            "stage data",
            "collect",
            *(f"stage score {model}" for model in models),
            "stage report",
        ]
        with self._copy(fault) as copy:
            for mark in [*(copy / "data").rglob(INPUTS), *(copy / "reports").rglob(INPUTS)]:
                mark.unlink()  # so that nothing is taken as made
            runs = all(not self._exit_code(copy, [*_DRIFTLEDGER, *stage.split()]) for stage in stages)
            if not (copy / "expected").is_dir():
                _copy_made(copy, copy / "expected")
            same = runs and all(_files_of(copy / top) == _files_of(copy / "expected" / top) for top in _MADE)
            _copy_made(copy / "expected", copy)
            return same

    @contextmanager
    def _copy(self, fault: Mutation | None) -> Iterator[Path]:
        copy = self._free.get()
        source = (copy / fault.path).read_bytes() if fault else b""
        try:
            if fault:
                (copy / fault.path).write_bytes(fault.apply(source))
            yield copy
        finally:
            if fault:
                (copy / fault.path).write_bytes(source)
            self._free.put(copy)

    def _exit_code(self, copy: Path, command: list[str]) -> int:
        """Run a command in a copy, and end it with all that it has started when it takes too long."""
        process = subprocess.Popen(
            command, cwd=copy, env=os.environ | {"PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            return process.wait(self._limit)
        except subprocess.TimeoutExpired:
            return -9
        finally:
            if process.poll() is None:
                os.killpg(process.pid, 9)
                process.wait()


def _copy_made(source: Path, target: Path) -> None:
    """Put what the default run makes into another folder, in place of what is there."""
    for top in _MADE:
        shutil.rmtree(target / top, ignore_errors=True)
        shutil.copytree(source / top, target / top)


def _files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@app.command()
def main(
    places: Annotated[list[Path], typer.Argument(help="Files or folders below src/.")],
    count: Annotated[int, typer.Option(min=1, help="How many.")] = 50,
    seed: Annotated[int, typer.Option(help="Decides which.")] = 1,
    jobs: Annotated[int, typer.Option(min=1, help="Tried at once, each in a copy of its own.")] = 1,
    reach: Annotated[int, typer.Option(min=1, help="Test files per mutation, at most.")] = 16,
    limit: Annotated[float, typer.Option(help="Seconds after which tests count as failed.")] = 300,
    marks: Annotated[str, typer.Option(help="Which tests, as for pytest -m.")] = "not slow",
) -> None:
    """Try mutations, and print those that survive."""
    root = Path.cwd()
    files = sorted(
        {file for place in places for file in (place.rglob("*.py") if place.is_dir() else [place]) if file.is_file()}
    )
    sources = {str(file.resolve().relative_to(root)): file.read_bytes() for file in files}
    every = [each for path, source in sources.items() for each in mutations(path, source)]
    if not every:
        raise ConfigError(f"there is nothing to change in {', '.join(map(str, places))}; name Python files below src/")
    lots = {each: _digest(seed, each, sources[each.path]) for each in every}
    picked = sorted(every, key=lots.__getitem__)[:count]
    known = RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.is_file() else []
    killed = {row["mutation"] for row in map(json.loads, known) if row["end"] == "killed"}
    nearest = nearest_tests(root)
    with tempfile.TemporaryDirectory(prefix="mutations-", ignore_cleanup_errors=True) as folder:
        bench = Bench(root, Path(folder), jobs, limit, marks)
        wanted = sorted({test for each in picked for test in nearest.get(each.path, [])[:reach]})
        with ThreadPoolExecutor(jobs) as pool:
            passed = pool.map(lambda test: bench.passes([test]), wanted)
            sound = {test for test, sounds in zip(wanted, passed, strict=True) if sounds}
            print(f"{len(wanted) - len(sound)} of {len(wanted)} test files fail without a fault and are left out")
            if not all(list(pool.map(lambda _: bench.evaluates(), range(jobs)))):  # the queue gives each copy once
                raise ConfigError("the default run fails without a fault")

            def attempt(mutation: Mutation) -> str:
                if lots[mutation] in killed:
                    return "killed"
                tests = [test for test in nearest.get(mutation.path, [])[:reach] if test in sound]
                passed = (not tests or bench.passes(tests, mutation)) and bench.evaluates(mutation)
                end = "survived" if passed else "killed"
                with RESULTS.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"mutation": lots[mutation], "path": mutation.path, "end": end}) + "\n")
                if end == "survived":
                    print(f"\n{mutation.path}:{mutation.line} survived {', '.join(tests) or 'no test'}")
                    print(mutation.diff(sources[mutation.path]), flush=True)
                return end

            RESULTS.parent.mkdir(exist_ok=True)
            random.Random(seed).shuffle(picked)  # files that take long are spread over the copies
            ends = Counter(pool.map(attempt, picked))
    print(f"{ends['killed']} of {len(picked)} mutations are killed, of {len(every)} that are possible")


def _digest(seed: int, mutation: Mutation, source: bytes) -> str:
    """Identify a mutation by its own text and its file's, so that a change elsewhere leaves the choice as it is."""
    return hashlib.sha256(repr((seed, mutation, hashlib.sha256(source).hexdigest())).encode()).hexdigest()


if __name__ == "__main__":
    run(app)

"""One run: choose mutations, see how tests go without any, and try each that is not settled yet."""

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from tempfile import TemporaryDirectory
from threading import Lock
from typing import NamedTuple

from driftledger.core.canonical import canonical_json, sha256_file, sha256_of
from driftledger.core.errors import ConfigError
from driftledger.core.files import parse_jsonl, write_json, write_text
from lab.mutations.clone import Case, Clone
from lab.mutations.nearest import Nearest
from lab.mutations.operators import Mutation, chosen, mutations
from lab.mutations.outcomes import End, Outcome, Report, as_text, summarize

ROOMS = ("metrics", "benchmarks", "tracking", "ledger/verify", "collect")
"""Below the package: where a fault would be a wrong number."""
_NO_MEANING = "\n_WITHOUT_MEANING = None\n"
_TIMES = 5
"""As much of the processor may the tests take as they took time before."""
_STARTING = 10.0
"""Seconds that pytest takes for itself, at most."""
_BASELINE_LIMIT = 4 * 3600.0


@dataclass(frozen=True)
class Options:
    count: int
    seed: int
    only: Sequence[Path]
    jobs: int
    reach: int
    """At most so many test files."""
    budget: float
    """Seconds of tests, by what they took without any fault."""
    limit: float
    """Seconds of the processor below which tests do not time out."""
    marks: str
    out: Path


class Went(NamedTuple):
    """How a test file goes without any fault."""

    seconds: float
    tests: int
    failed: tuple[str, ...]


def run(root: Path, options: Options) -> Report:
    """Try the chosen mutations of the checkout ``root``, and write the report.

    Raises:
        ConfigError: there is nothing to change in the files in question.
    """
    sources = {path: (root / path).read_text(encoding="utf-8") for path in targets(root, options.only)}
    every = [each for path, source in sources.items() for each in mutations(path, source)]
    picked = chosen(every, options.seed, options.count)
    if not picked:
        raise ConfigError("there is nothing to change in these files")
    nearest = Nearest(root)
    near = {path: nearest.tests(path, options.reach) for path in sorted({each.path for each in picked})}
    with _clones(root, options.jobs) as clones:
        went = _baseline(clones, near, sources, options)
        asked = {path: _affordable(files, went, options.budget) for path, files in near.items()}
        signed = {path: _signature(root, options.marks, files) for path, files in asked.items()}
        outcomes = _settled(options.out / "results.jsonl", picked, sources, signed)
        waiting = [each for each in picked if each.id not in outcomes]
        _say(f"{len(waiting)} of {len(picked)} mutations to try")
        trial = _Trial(clones, sources, asked, signed, went, options)
        with _pool(clones) as pool:
            outcomes |= {each.id: each for each in pool.map(trial, waiting)}
    report = summarize(
        [outcomes[each.id] for each in picked],
        seed=options.seed,
        asked_for=options.count,
        possible=len(every),
        marks=options.marks,
        left_out=sorted({name for files in near.values() for file in files for name in went[file].failed}),
    )
    write_json(options.out / "report.json", report)
    write_text(options.out / "report.txt", as_text(report))
    return report


def targets(root: Path, only: Sequence[Path]) -> list[str]:
    """The files in question, relative to ``root``: those of all rooms, or those that ``only`` names or has below it.

    Raises:
        ConfigError: there is no such file of the package.
    """
    package = root / "src" / "driftledger"
    found = set()
    for place in only or [package / room for room in ROOMS]:
        path = (root / place).resolve()
        files = [path] if path.suffix == ".py" and path.is_file() else sorted(path.rglob("*.py"))
        if not files or not path.is_relative_to(package.resolve()):
            raise ConfigError(f"there is no Python file of src/driftledger at {place}")
        found |= {str(file.relative_to(root.resolve())) for file in files}
    return sorted(found)


@contextmanager
def _clones(root: Path, count: int) -> Iterator[list[Clone]]:
    with ExitStack() as stack:
        made = [TemporaryDirectory(prefix="mutations-", ignore_cleanup_errors=True) for _ in range(count)]
        folders = [stack.enter_context(folder) for folder in made]
        yield [Clone(root, Path(folder)) for folder in folders]


@contextmanager
def _pool(clones: Sequence[Clone]) -> Iterator[ThreadPoolExecutor]:
    """A thread per clone; when it is interrupted, so are the tests that run."""
    with ThreadPoolExecutor(len(clones)) as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for clone in clones:
                clone.stop()
            raise


def _baseline(
    clones: Sequence[Clone], near: Mapping[str, Sequence[str]], sources: Mapping[str, str], options: Options
) -> dict[str, Went]:
    """How each test file goes with a line without meaning in all files in question; known ones are not run again."""
    kept = options.out / "baseline.json"
    key = sha256_of([options.marks, sorted(sources), clones[0].digest()])
    stored = json.loads(kept.read_bytes()) if kept.is_file() else {}
    went = {file: Went(*row) for file, row in stored.get("files", {}).items()} if stored.get("key") == key else {}
    files = sorted({file for some in near.values() for file in some} - went.keys())
    if files:
        _say(f"{len(files)} test files are run without any fault")
        parts = [files[number :: len(clones)] for number in range(len(clones))]
        neutral = {path: source + _NO_MEANING for path, source in sources.items()}

        def measure(clone: Clone, part: Sequence[str]) -> list[Case]:
            with clone.changed(neutral):
                return clone.measure(part, options.marks, _BASELINE_LIMIT) if part else []

        with _pool(clones) as pool:
            for cases in pool.map(measure, clones, parts):
                went |= _by_file(cases)
        went |= {file: Went(0.0, 0, ()) for file in files if file not in went}
        write_json(kept, {"key": key, "files": went})
    return {file: Went(seconds, tests, tuple(failed)) for file, (seconds, tests, failed) in went.items()}


def _by_file(cases: Sequence[Case]) -> dict[str, Went]:
    files = sorted({case.file for case in cases})
    return {file: _went([case for case in cases if case.file == file]) for file in files}


def _went(cases: Sequence[Case]) -> Went:
    failed = tuple(sorted({case.name for case in cases if case.failed}))
    return Went(round(sum(case.seconds for case in cases), 3), len(cases), failed)


def _affordable(files: Sequence[str], went: Mapping[str, Went], budget: float) -> list[str]:
    """The nearest that together take no longer than ``budget``, the fastest first; at least one."""
    taken: list[str] = []
    spent = 0.0
    for file in files:
        whole = went[file].tests and file not in went[file].failed  # a file that cannot be read is its own failure
        if whole and (not taken or spent + went[file].seconds <= budget):
            taken.append(file)
            spent += went[file].seconds
    return sorted(taken, key=lambda file: went[file].seconds)


def _signature(root: Path, marks: str, files: Sequence[str]) -> str:
    return sha256_of([marks, {file: sha256_file(root / file) for file in files}])


def _settled(
    file: Path, picked: Sequence[Mutation], sources: Mapping[str, str], signed: Mapping[str, str]
) -> dict[str, Outcome]:
    """What is known from before: what was noticed in a file that is the same, and what survived the same tests."""
    wanted = {each.id for each in picked}
    data = file.read_bytes() if file.is_file() else b""
    whole = data[: data.rfind(b"\n") + 1]  # a run that was killed may have left a part of a line
    if whole != data:
        file.write_bytes(whole)
    return {
        each.id: each
        for each in parse_jsonl(whole, Outcome, str(file))
        if each.id in wanted
        and each.source_sha256 == _sha256(sources[each.path])
        and (each.end is not End.SURVIVED or each.tests_sha256 == signed[each.path])
    }


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class _Trial:
    """Tries a mutation in a clone that is free, and writes what became of it."""

    def __init__(
        self,
        clones: Sequence[Clone],
        sources: Mapping[str, str],
        asked: Mapping[str, Sequence[str]],
        signed: Mapping[str, str],
        went: Mapping[str, Went],
        options: Options,
    ) -> None:
        self._free: Queue[Clone] = Queue()
        for clone in clones:
            self._free.put(clone)
        self._sources, self._asked, self._signed, self._went, self._options = sources, asked, signed, went, options
        self._writing = Lock()

    def __call__(self, mutation: Mutation) -> Outcome:
        clone = self._free.get()
        try:
            outcome = self._try(clone, mutation)
        finally:
            self._free.put(clone)
        with self._writing:
            results = self._options.out / "results.jsonl"
            results.parent.mkdir(parents=True, exist_ok=True)
            with results.open("a", encoding="utf-8") as file:
                file.write(canonical_json(outcome.to_dict()) + "\n")
        _say(f"{outcome.end:9} {outcome.path}:{outcome.line} {mutation.old!r:.40} → {mutation.new!r:.40}")
        return outcome

    def _try(self, clone: Clone, mutation: Mutation) -> Outcome:
        source, tests = self._sources[mutation.path], self._asked[mutation.path]
        end, seconds, failure = End.SURVIVED, 0.0, ""
        if tests:
            without = {name for file in tests for name in self._went[file].failed}
            before = _STARTING + sum(self._went[file].seconds for file in tests)
            limit = max(self._options.limit, _TIMES * before)
            with clone.changed({mutation.path: mutation.apply(source)}):
                ran = clone.ask(tests, self._options.marks, without, limit)
            end = End.TIMED_OUT if ran.timed_out else End.SURVIVED if ran.passed else End.KILLED
            seconds, failure = ran.seconds, ran.first_failure
        return Outcome(
            id=mutation.id,
            path=mutation.path,
            line=mutation.line,
            operator=mutation.operator,
            end=end,
            diff=mutation.diff(source),
            tests=list(tests),
            first_failure=failure,
            seconds=seconds,
            source_sha256=_sha256(source),
            tests_sha256=self._signed[mutation.path],
        )


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)

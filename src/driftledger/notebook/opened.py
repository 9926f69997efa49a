"""A project as Python sees it: its runs, scores, rows and chains, and what can be asked of its ledger.

Stored files are all that is read: no component is called, and no MLflow is asked but one that the environment names.
"""

import os
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.registry import benchmark as specification
from driftledger.benchmarks.score import ROWS, SCORE, Row, Score
from driftledger.benchmarks.traces import Shot, Trace
from driftledger.collect.observations import read_observations
from driftledger.core.errors import ConfigError, DriftledgerError, LedgerError, StoreError
from driftledger.core.files import read_jsonl
from driftledger.core.paths import Combination
from driftledger.core.text import for_line
from driftledger.ledger.audit import Sources
from driftledger.ledger.lineage import Evidence, read_evidence, read_lineage
from driftledger.ledger.lock import read_lock
from driftledger.ledger.objects.files import Workspace
from driftledger.ledger.objects.reach import HERE, Reach
from driftledger.ledger.published import read_published
from driftledger.notebook.answers import Audited, Compared, Offered
from driftledger.notebook.chains import ChainLine, Chains
from driftledger.notebook.frames import rows_frame, scores_frame
from driftledger.project.project import Project
from driftledger.project.settings import PARAMS
from driftledger.reports.selected import selected_score

if TYPE_CHECKING:
    import pandas as pd

Stored = tuple[Benchmark, Mapping[str, str]]


def sources(project: Project, reach: Reach = HERE, rev: str | None = None) -> Sources:
    """Return what is known of scores: in the checkout, or in one commit."""
    return Sources(project.root, project.selected, project.combinations, reach, rev)


def open_project(path: str | os.PathLike[str] = ".", *, trust: bool = False) -> "OpenedProject":
    """The project whose ``params.yaml`` is in the folder ``path``.

    What is asked of it is answered from the files that ``dvc repro`` or ``dvc pull`` left there.

    Args:
        trust: the checkout is your own: the MLflow and the DVC remote that it names are asked by ``audit`` and
            ``compare``, and its own code may be run.

    Raises:
        ConfigError: there is no ``params.yaml``, or something in it is wrong.
    """
    root = Path(path).expanduser().absolute()
    if not (root / PARAMS).is_file():
        raise ConfigError(f"{root} holds no {PARAMS}; open the top folder of a project")
    opened = OpenedProject(Project(root, own_code=trust), Reach(trust=trust))
    opened.check()
    return opened


class OpenedProject:
    """A project whose files are read when they are asked for, so that what ``dvc repro`` has changed since is seen.

    Args:
        reach: how far :meth:`audit` and :meth:`compare` may go for what is not here.
    """

    def __init__(self, project: Project, reach: Reach = HERE) -> None:
        self._project, self._reach = project, reach

    @property
    def path(self) -> Path:
        """The project's top folder."""
        return self._project.root

    def check(self) -> None:
        """Read ``params.yaml``; errors as in :func:`open_project`."""
        assert self._project.settings

    def __repr__(self) -> str:
        runs, selected = len(self._project.combinations), len(self._project.selected.scores)
        return f"<project {self.path}: {runs} runs, {len(list(self._stored()))} of {selected} scores>"

    @property
    def runs(self) -> "pd.DataFrame":
        """A row per selected combination: ``model``, ``generator``, ``encoder``, how many of its ``scores`` are there
        and how many are ``selected``, whether it is ``published`` as it is now, and the start of its ``fingerprint``,
        empty where its scores are not complete."""
        import pandas as pd

        published, rows = {each.fingerprint for each in read_published(self._project.root)}, []
        for combination in self._project.combinations:
            scores, evidence = self._project.selected.of(combination).scores, self._evidence(combination)
            fingerprint = "" if evidence is None else evidence.fingerprint
            there = sum(1 for spec, keys in scores if self._is_stored(spec, keys))
            rows.append((*combination, there, len(scores), fingerprint in published, fingerprint[:12]))
        columns = [*Combination._fields, "scores", "selected", "published", "fingerprint"]
        return pd.DataFrame(rows, columns=columns)

    def scores(self, benchmark: str | None = None) -> "pd.DataFrame":
        """The selected scores that are there: a row per score and metric.

        The columns are those of :data:`driftledger.notebook.frames.SCORES`; for a table as in a paper,
        ``scores(benchmark).pivot(index="model", columns="title", values="value")``.

        Raises:
            ConfigError: there is no such benchmark.
            StoreError: no score is there, or one was computed with other settings than ``params.yaml`` has now.
        """
        return scores_frame(self._scores(benchmark))

    def rows(
        self,
        benchmark: str,
        *,
        on: str | None = None,
        model: str | None = None,
        generator: str | None = None,
        encoder: str | None = None,
    ) -> "pd.DataFrame":
        """What each sample, question or pair is worth: a row for each of them in each score of a benchmark.

        ``on`` is a dataset or question set; it and the others narrow the scores down. The columns are those of
        :func:`driftledger.notebook.frames.rows_frame`. Errors as in :meth:`scores`.
        """
        asked = {"on": on, "model": model, "generator": generator, "encoder": encoder}
        wanted = {key: name for key, name in asked.items() if name is not None}
        scores = [
            score
            for score in self._scores(benchmark)
            if all(name == (score.on if key == "on" else score.keys.get(key)) for key, name in wanted.items())
        ]
        if not scores:
            told = ", ".join(f"{key} {name!r}" for key, name in wanted.items())
            raise StoreError(f"{benchmark} has no score here with {told}; scores({benchmark!r}) tells which there are")
        return rows_frame([(score, self._rows(specification(benchmark), score.keys)) for score in scores])

    def chains(self, sample: str, benchmark: str | None = None) -> Chains:
        """What became of a sample: the original, every redrawing, descriptions and similarities, a line per model.

        Args:
            benchmark: of which; without it the first that redraws this sample.

        Raises:
            ConfigError: there is no such benchmark.
            LedgerError: no chain is of that sample, or what is here is not what ``dvc.lock`` has.
            StoreError: no score is there.
        """
        units: dict[str, None] = {}
        for spec, some in self._by_benchmark(benchmark):
            if chains := self._chains(spec, some, sample, units):
                return chains
        nearest = get_close_matches(sample, units, n=3, cutoff=0.4) or list(units)[:3]
        hint = f"; nearest: {for_line(', '.join(nearest))}" if nearest else ""
        raise LedgerError(f"no chain here is of a sample {for_line(sample)!r:.200}{hint}")

    def _chains(
        self, spec: Benchmark, some: list[Mapping[str, str]], sample: str, units: dict[str, None]
    ) -> Chains | None:
        lock, original = read_lock(self.path), None
        found: dict[tuple[str, str], dict[str, Trace]] = {}
        for keys in some:
            rows = self._rows(spec, keys)
            if mine := [row for row in rows if row.unit == sample]:
                lineage = read_lineage(Workspace(self.path), lock, spec, keys)
                for trace in spec.traces(lineage.places(self.path), lineage.score, mine[:1]):
                    image = next((shown.file for shown in trace.asked.values() if isinstance(shown, Shot)), None)
                    if trace.start and image is not None:
                        original = image
                        through = keys.get("generator", "")
                        found.setdefault((keys["model"], through), {})[keys.get("encoder", "")] = trace
            units |= dict.fromkeys(row.unit for row in rows)
        if original is None:
            return None
        return Chains(sample, original, [ChainLine.of(*names, traces) for names, traces in found.items()])

    def audit(self, target: str, rev: str | None = None) -> Audited | Offered:
        """Where a run, a score file, an image or one number, ``RUN:METRIC``, comes from; as ``driftledger audit``.

        Args:
            rev: a commit of Git, whose scores are read in place of those here.

        A text that names none of these may be a value, or the name of a metric, a component or a dataset: what it could
        mean is offered.

        Raises:
            LedgerError: nothing is called so.
        """
        from driftledger.ledger.audit import meant, resolve_target

        known = sources(self._project, self._reach, rev)
        try:
            return Audited(resolve_target(known, target))
        except LedgerError as error:
            if offers := meant(known, target):
                return Offered(target, offers, error)
            raise

    def compare(self, a: str, b: str, *, anyway: bool = False) -> Compared:
        """Two runs, metric by metric, with paired intervals over what both were measured on; as ``driftledger
        compare``.

        Args:
            anyway: rank also what is not comparable; what argues against it is told all the same.

        Raises:
            LedgerError: there is no such run, or both have nothing in common.
        """
        from driftledger.ledger.audit import find_run
        from driftledger.ledger.compare import compare

        known = sources(self._project, self._reach)
        seen = read_observations(self._project.paths.observations)
        return Compared(compare(find_run(known, a), find_run(known, b), known.contents, anyway=anyway, seen=seen))

    def _scores(self, name: str | None) -> list[Score]:
        return [selected_score(self._project, spec, keys) for spec, some in self._by_benchmark(name) for keys in some]

    def _by_benchmark(self, name: str | None) -> list[tuple[Benchmark, list[Mapping[str, str]]]]:
        """The keys of the stored scores of each benchmark, or of one."""
        spec = None if name is None else specification(name)
        found: dict[str, list[Mapping[str, str]]] = {}
        for each, keys in self._stored():
            if spec is None or each.name == spec.name:
                found.setdefault(each.name, []).append(keys)
        if not found:
            of = f" of {name}" if name else ""
            raise StoreError(f"{self.path} has no score{of} that params.yaml selects; run 'dvc repro' or 'dvc pull'")
        return [(specification(name), some) for name, some in found.items()]

    def _stored(self) -> Iterator[Stored]:
        return ((spec, keys) for spec, keys in self._project.selected.scores if self._is_stored(spec, keys))

    def _is_stored(self, spec: Benchmark, keys: Mapping[str, str]) -> bool:
        return (self.path / spec.scores.at(keys) / SCORE).is_file()

    def _rows(self, spec: Benchmark, keys: Mapping[str, str]) -> list[Row]:
        return read_jsonl(self.path / spec.scores.at(keys) / ROWS, Row)

    def _evidence(self, combination: Combination) -> Evidence | None:
        try:
            return read_evidence(self.path, self._project.selected, combination)
        except DriftledgerError:
            return None

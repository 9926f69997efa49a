"""A project as Python sees it: its runs, scores, rows and chains, and what can be asked of its ledger.

Only stored files are read: no component is called, and no MLflow is asked but one that the environment names.
"""

import os
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from driftledger.ledger.lineage import read_evidence, read_lineage
from driftledger.ledger.lock import read_lock
from driftledger.ledger.objects.files import Workspace
from driftledger.ledger.objects.reach import HERE, Reach
from driftledger.ledger.published import read_published
from driftledger.notebook.shown import Answer, ChainLine, Chains, Compared
from driftledger.project.project import Project
from driftledger.project.settings import PARAMS
from driftledger.reports.scores import selected_score

if TYPE_CHECKING:
    import pandas as pd

SCORES = (
    *("benchmark", "on", "model", "generator", "encoder", "description"),
    *("metric", "title", "value", "low", "high", "unit", "higher_is_better", "headline", "coverage"),
)
"""Columns of a table of scores."""


def sources(project: Project, reach: Reach = HERE, rev: str | None = None) -> Sources:
    """Return what is known of scores: in the checkout, or in one commit."""
    return Sources(project.root, project.selected, project.combinations, reach, rev)


def open_project(path: str | os.PathLike[str] = ".", *, trust: bool = False) -> "OpenedProject":
    """Open the project whose ``params.yaml`` is in the folder ``path``.

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
    project = Project(root, own_code=trust)
    assert project.settings  # which are checked when they are read
    return OpenedProject(project, Reach(trust=trust))


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

    def __repr__(self) -> str:
        runs, selected = len(self._project.combinations), self._project.selected.scores
        stored = len(list(filter(self._is_stored, selected)))
        return f"<project {self.path}: {runs} runs, {stored} of {len(selected)} scores>"

    @property
    def runs(self) -> "pd.DataFrame":
        """A row per selected combination: ``model``, ``generator``, ``encoder``, how many of its ``scores`` exist and
        how many are ``selected``, whether it is ``published`` as it is now, and the start of its ``fingerprint``, empty
        where its scores are not complete."""
        import pandas as pd

        published, rows = {each.fingerprint for each in read_published(self.path)}, []
        for combination in self._project.combinations:
            try:
                fingerprint = read_evidence(self.path, self._project.selected, combination).fingerprint
            except DriftledgerError:
                fingerprint = ""
            scores = self._project.selected.of(combination).scores
            stored = len(list(filter(self._is_stored, scores)))
            rows.append((*combination, stored, len(scores), fingerprint in published, fingerprint[:12]))
        columns = [*Combination._fields, "scores", "selected", "published", "fingerprint"]
        return pd.DataFrame(rows, columns=columns)

    def scores(self, benchmark: str | None = None) -> "pd.DataFrame":
        """The selected scores that exist: a row per score and metric, with the columns of :data:`SCORES`.

        ``metric`` is the key in the score file and ``title`` what people call it; ``low`` and ``high`` are the ends of
        the interval, NaN where there is none; ``unit`` is empty or ``%``; ``higher_is_better`` is None where neither
        is; ``headline`` marks the metrics that a benchmark is known by; ``coverage`` is the share of units that are
        scored. For a table as in a paper, ``scores(benchmark).pivot(index="model", columns="title", values="value")``.

        Raises:
            ConfigError: there is no such benchmark.
            StoreError: no score exists, or one was computed with other settings than ``params.yaml`` has now.
        """
        import pandas as pd

        rows = []
        for spec, some in self._by_benchmark(benchmark):
            for score in (selected_score(self._project, spec, keys) for keys in some):
                headlines = spec.headlines(score)
                for metric in spec.metrics:
                    for key in spec.members(metric, score):
                        numbers = (score.metrics[key], *(score.interval(key) or (None, None)))
                        facts = (metric.unit, metric.higher_is_better, key in headlines, score.coverage)
                        rows.append((*_named(score).values(), key, metric.named(key), *numbers, *facts))
        frame = pd.DataFrame(rows, columns=list(SCORES))
        return frame.astype({"value": float, "low": float, "high": float, "coverage": float})

    def rows(
        self,
        benchmark: str,
        *,
        on: str | None = None,
        model: str | None = None,
        generator: str | None = None,
        encoder: str | None = None,
    ) -> "pd.DataFrame":
        """What each sample, question or pair is worth: a row for each of them, ``unit``, in each score of a benchmark.

        ``on`` is a dataset or question set; it and the others narrow the scores down. The columns are what the score is
        of, the unit's ``group``, ``cluster`` and ``outcome``, its values, and whatever else is known of it. A value
        over several steps, orders or gradings has a numbered column for each, ``similarity_1`` for instance; NaN is
        where nothing could be had. Errors as in :meth:`scores`.
        """
        import pandas as pd

        given = {"on": on, "model": model, "generator": generator, "encoder": encoder}
        wanted = {key: name for key, name in given.items() if name is not None}
        scored = []
        for spec, some in self._by_benchmark(benchmark):
            for score in (selected_score(self._project, spec, keys) for keys in some):
                if all(name == (score.on if key == "on" else score.keys.get(key)) for key, name in wanted.items()):
                    scored.append((score, self._rows(spec, score.keys)))
        if not scored:
            names = ", ".join(f"{key} {name!r}" for key, name in wanted.items())
            raise StoreError(f"{benchmark} has no score here with {names}; scores({benchmark!r}) tells which there are")
        several = {key for _, rows in scored for row in rows for key, values in row.values.items() if len(values) > 1}
        return pd.DataFrame([_row(score, row, several) for score, rows in scored for row in rows])

    def chains(self, sample: str, benchmark: str | None = None) -> Chains:
        """What became of a sample: the original, every redrawing, descriptions and similarities, a line per model.

        Args:
            benchmark: of which; without it the first that redraws this sample.

        Raises:
            ConfigError: there is no such benchmark.
            LedgerError: no chain is of that sample, or ``dvc.lock`` does not have its score.
            StoreError: no score exists.
        """
        lock, units = read_lock(self.path), dict[str, None]()
        for spec, some in self._by_benchmark(benchmark):
            original, traces = None, dict[tuple[str, str], dict[str, Trace]]()
            for keys in some:
                rows = self._rows(spec, keys)
                units |= dict.fromkeys(row.unit for row in rows)
                if mine := [row for row in rows if row.unit == sample]:
                    lineage = read_lineage(Workspace(self.path), lock, spec, keys)
                    for trace in spec.traces(lineage.places(self.path), lineage.score, mine[:1]):
                        image = next((shown.file for shown in trace.asked.values() if isinstance(shown, Shot)), None)
                        if trace.start and image is not None:
                            original, names = image, (keys["model"], keys.get("generator", ""))
                            traces.setdefault(names, {})[keys.get("encoder", "")] = trace
            if original is not None:
                return Chains(sample, original, [ChainLine.of(*names, some) for names, some in traces.items()])
        nearest = get_close_matches(sample, units, n=3, cutoff=0.4) or list(units)[:3]
        hint = f"; nearest: {for_line(', '.join(nearest))}" if nearest else ""
        raise LedgerError(f"no chain here is of a sample {for_line(sample)!r:.200}{hint}")

    def audit(self, target: str, rev: str | None = None) -> Answer:
        """Where a run, a score file, an image or one number, ``RUN:METRIC``, comes from; as ``driftledger audit``.

        Args:
            rev: a commit of Git, whose scores are read in place of those here.

        A text that names none of these may be a value, or the name of a metric, a component or a dataset: what it could
        mean is offered, without data.

        Raises:
            LedgerError: nothing has that name.
        """
        from driftledger.ledger import answers
        from driftledger.ledger.audit import meant, resolve_target

        known = sources(self._project, self._reach, rev)
        try:
            found = resolve_target(known, target)
        except LedgerError as error:
            offers, reason = meant(known, target), error
            if not offers:
                raise

            def refuse() -> str:
                raise reason

            return Answer(lambda: answers.offers_table(target, list(offers)), refuse)
        return Answer(
            lambda: answers.as_tree(found),
            lambda: answers.inert_json(answers.data_of(found)),
            lambda: answers.as_answer(found),
        )

    def compare(self, a: str, b: str, *, anyway: bool = False) -> Compared:
        """Two runs, metric by metric, with paired intervals over what both were measured on; as ``driftledger
        compare``.

        Args:
            anyway: rank also what is not comparable; what argues against it is listed all the same.

        Raises:
            LedgerError: there is no such run, or both have nothing in common.
        """
        from driftledger.ledger.audit import find_run
        from driftledger.ledger.compare import as_table, compare

        known = sources(self._project, self._reach)
        seen = read_observations(self._project.paths.observations)
        compared = compare(find_run(known, a), find_run(known, b), known.contents, anyway=anyway, seen=seen)
        return Compared(compared, lambda: as_table(compared))

    def _by_benchmark(self, name: str | None) -> Iterator[tuple[Benchmark, list[Mapping[str, str]]]]:
        """Yield the keys of the stored scores of each benchmark, or of one."""
        chosen = None if name is None else specification(name).name
        stored: dict[str, list[Mapping[str, str]]] = {}
        for spec, keys in filter(self._is_stored, self._project.selected.scores):
            if chosen in (None, spec.name):
                stored.setdefault(spec.name, []).append(keys)
        if not stored:
            of = f" of {name}" if name else ""
            raise StoreError(f"{self.path} has no score{of} that params.yaml selects; run 'dvc repro' or 'dvc pull'")
        return ((specification(each), some) for each, some in stored.items())

    def _is_stored(self, score: tuple[Benchmark, Mapping[str, str]]) -> bool:
        return (self.path / score[0].scores.at(score[1]) / SCORE).is_file()

    def _rows(self, spec: Benchmark, keys: Mapping[str, str]) -> list[Row]:
        return read_jsonl(self.path / spec.scores.at(keys) / ROWS, Row)


def _named(score: Score) -> dict[str, str | None]:
    """What a score is of; None where a benchmark has no such key."""
    keys = score.keys
    return {
        "benchmark": score.benchmark,
        "on": score.on,
        "model": score.model,
        "generator": keys.get("generator"),
        "encoder": keys.get("encoder") or keys.get("text_encoder"),
        "description": keys.get("description"),
    }


def _row(score: Score, row: Row, several: set[str]) -> dict[str, Any]:
    cells: dict[str, Any] = {**_named(score), "unit": row.unit, "group": row.group, "cluster": row.cluster}
    cells["outcome"] = str(row.outcome)
    for key, values in row.values.items():
        names = [f"{key}_{number}" if key in several else key for number in range(1, len(values) + 1)]
        cells |= {name: float("nan") if value is None else value for name, value in zip(names, values, strict=True)}
    return cells | {key: value for key, value in row.extra.items() if key not in cells}

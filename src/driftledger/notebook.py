"""Scores, rows, chains and answers of a project, for notebooks.

Opening a project only reads stored files: it calls no component and no MLflow.
"""

import base64
import math
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftledger.benchmarks.base.benchmark import Benchmark
from driftledger.benchmarks.base.traces import Shot, Trace
from driftledger.benchmarks.registry import FIRST
from driftledger.benchmarks.registry import benchmark as benchmark_of
from driftledger.core.canonical import Json
from driftledger.core.errors import DriftledgerError, LedgerError, StoreError
from driftledger.core.files import read_jsonl
from driftledger.core.paths import Keys
from driftledger.core.text import for_html, for_line, for_terminal, shortened
from driftledger.core.types import Outcome
from driftledger.data.thumbnails import thumbnail
from driftledger.ledger.audit import data_of, resolve_target
from driftledger.ledger.compare import compare, compare_with_changes
from driftledger.ledger.comparison import ChangedSample
from driftledger.ledger.lineage import read_runs
from driftledger.ledger.objects.files import Workspace
from driftledger.ledger.published import read_published
from driftledger.ledger.sources import Sources, find_run, nearest
from driftledger.project.project import Combination, Project
from driftledger.reports.scores import is_stored, selected_score
from driftledger.scoring.score import ROWS, Row, Score

if TYPE_CHECKING:
    import pandas as pd

_LONGEST = 1_000
"""Characters of a description in a page, at most."""
_SIDE = 160
"""Pixels of the longer side of a picture, at most."""


@dataclass(frozen=True, repr=False, eq=False)
class Chains:
    """One sample's chains. In a notebook they show their pictures, side by side."""

    sample: str
    table: "pd.DataFrame"
    """A row per run and step: ``model``, ``generator``, ``encoder``, ``step``, the ``similarity``
    to the original, the ``description``, the ``outcome``, and the path of the ``image``."""

    def __repr__(self) -> str:
        table = self.table.drop(columns="image").to_string(index=False, max_colwidth=60)
        return f"{for_line(self.sample)}\n{table}"

    def _repr_html_(self) -> str:
        import pandas as pd

        def cell(row: "pd.Series[Any]") -> str:
            parts = []
            if pd.notna(row.similarity):
                parts.append(f"{row.similarity:.3f}")
            if row.image is not None:
                data = base64.b64encode(thumbnail(row.image, _SIDE)).decode()
                parts.append(f'<img src="data:image/webp;base64,{data}">')
            if row.description:
                parts.append(for_html(shortened(row.description, _LONGEST)))
            if row.outcome != Outcome.OK:
                parts.append(for_html(shortened(row.outcome, _LONGEST)))
            return "<br>".join(parts)

        table = self.table.assign(shown=self.table.apply(cell, axis=1))
        names = ["model", "generator", "encoder"]
        wide = table.pivot_table("shown", names, "step", aggfunc="first", sort=False)
        with pd.option_context("display.max_colwidth", None):
            html = wide.to_html(escape=False, na_rep="")
        return f"<b>{for_html(for_line(self.sample))}</b>{html}"


def chain_steps(score: Score, trace: Trace) -> Iterator[dict[str, Any]]:
    """Yield the rows of a chain: the original, then each iteration of each repeat."""
    names = {key: score.keys[key] for key in ("model", "generator", "encoder")}
    empty = {
        "similarity": float("nan"),
        "description": "",
        "outcome": str(Outcome.OK),
        "image": None,
    }
    rows = {trace.start: {**names, "step": trace.start, **empty}}
    for key, value in trace.inputs.items():
        if isinstance(value, Shot):
            rows[trace.start]["image"] = value.file
        elif key == "description":
            rows[trace.start][key] = for_terminal(str(value))
    for step in trace.steps:
        name = ", ".join(filter(None, (step.again, step.column)))
        row = rows.setdefault(name, {**names, "step": name, **empty})
        for value in step.outputs.values():
            if isinstance(value, float):
                row["similarity"] = value
            elif isinstance(value, Shot):
                row["image"] = value.file
            elif isinstance(value, str):
                row["description"] = for_terminal(value)
        if step.outcome is not Outcome.OK:
            row["outcome"] = for_line(
                ": ".join(filter(None, (step.outcome, step.error)))
            )
    yield from rows.values()


class OpenedProject:
    """The project with a ``params.yaml`` in a folder.

    Its files are read at each call, so that changes are seen.
    """

    def __init__(
        self, path: str | os.PathLike[str] = ".", *, trust: bool = False
    ) -> None:
        """Open it.

        Args:
            trust: the checkout is your own: its links and its DVC cache are followed, and its own
                code may be run.

        Raises:
            ConfigError: ``params.yaml`` is missing or wrong.
        """
        self.path = Path(path).expanduser().absolute()
        self._trust = trust
        assert self._project.settings  # which are checked when they are read

    @property
    def _project(self) -> Project:
        """The project, as ``params.yaml`` is now."""
        return Project(self.path, own_code=self._trust)

    @property
    def runs(self) -> "pd.DataFrame":
        """A row per selected combination.

        It has the combination's names, how many ``scores`` are stored and how many are
        ``selected``, whether it is ``published`` as it is now, and the start of its
        ``fingerprint``, which is empty if scores are missing.
        """
        import pandas as pd

        published = {each.fingerprint for each in read_published(self.path)}
        project = self._project
        selected = project.selected
        files = Workspace(self.path)
        rows = []
        for combination in project.combinations:
            fingerprint = ""
            with suppress(DriftledgerError):
                [run] = read_runs(self.path, selected, [combination], files)
                fingerprint = run.fingerprint
            scores = [each for each in selected if combination.shows(each[1])]
            stored = sum(is_stored(project, *each) for each in scores)
            is_published = fingerprint in published
            rows.append(
                (*combination, stored, len(scores), is_published, fingerprint[:12])
            )
        columns = [
            *Combination._fields,
            "scores",
            "selected",
            "published",
            "fingerprint",
        ]
        return pd.DataFrame(rows, columns=columns)

    def scores(self, benchmark: str | None = None) -> "pd.DataFrame":
        """Return the selected scores of one benchmark or all: a row per number.

        The numbers are of all samples.

        ``metric`` is the name in the benchmark's table and ``title`` that for people; ``low`` and
        ``high`` are the ends of the interval, NaN without one, and ``std`` the deviation over
        repeats; ``unranked`` says why a score has no rank. For a table as in a paper,
        ``scores(benchmark).pivot(index="model", columns="title", values="value")``.

        Raises:
            ConfigError: the benchmark does not exist.
            StoreError: no score exists, or one was computed with other settings than
                ``params.yaml`` has now.
        """
        import pandas as pd

        from driftledger.scoring.frame import frame, place_of, rows_in

        project = self._project
        stored = self._stored(benchmark)
        scores = [selected_score(project, spec, keys) for spec, keys in stored]
        numbers = frame(scores).dropna(subset="value")
        numbers = numbers[numbers["group_kind"] == ""].reset_index(drop=True)
        rows = []
        number: Any
        for number in rows_in(numbers):
            score = number.score
            metrics = benchmark_of(number.benchmark).metrics
            metric = metrics[number.metric]
            place = place_of(number)
            is_last = score.last(number.metric) == score.by_place.get(place)
            row = {
                "title": metric.titled(place.t),
                "unit": metric.unit,
                "direction": metric.direction,
                "headline": "headline" in metric.shown and is_last,
            }
            rows.append(row)
        titled = numbers.join(pd.DataFrame(rows, index=numbers.index))
        titled = titled.drop(columns=["score", "group_kind", "group"])
        return titled.rename(columns={"data": "on"})

    def rows(self, benchmark: str) -> "pd.DataFrame":
        """Return the rows of a benchmark's scores, one per ``unit``.

        A unit is a sample, a question or a pair.

        A value over several iterations, orders or gradings has a numbered column for each,
        ``similarity_1``. Errors as in :meth:`scores`.
        """
        import pandas as pd

        pairs = []
        several = set[str]()
        project = self._project
        for spec, keys in self._stored(benchmark):
            score = selected_score(project, spec, keys)
            for row in self._rows(spec, keys):
                pairs.append((score, row))
                several.update(
                    key for key, values in row.values.items() if len(values) > 1
                )
        rows = []
        for score, row in pairs:
            cells = row.extra | _names(score)
            cells |= {"unit": row.unit, "group": row.group, "cluster": row.cluster}
            cells["outcome"] = str(row.outcome)
            for key, values in row.values.items():
                for number, value in enumerate(values, 1):
                    name = f"{key}_{number}" if key in several else key
                    cells[name] = math.nan if value is None else value
            rows.append(cells)
        return pd.DataFrame(rows)

    def chains(self, sample: str) -> Chains:
        """Return GenCeption's chains of a sample, by every run.

        They have the original, each redrawing, descriptions and similarities.

        Raises:
            LedgerError: the sample has no chain.
            StoreError: no score exists.
        """
        import pandas as pd

        units = dict[str, None]()
        steps = list[dict[str, Any]]()
        project = self._project
        for spec, keys in self._stored(FIRST):
            rows = self._rows(spec, keys)
            units |= dict.fromkeys(row.unit for row in rows)
            if mine := [row for row in rows if row.unit == sample]:
                score = selected_score(project, spec, keys)
                folders = project.folders(spec, keys)
                for trace in spec.traces(folders, score, mine):
                    steps += chain_steps(score, trace)
        if not steps:
            names = for_line(nearest(sample, units))
            raise LedgerError(
                f"no chain of sample {for_line(sample)!r:.200}; nearest: {names}"
            )
        return Chains(sample, pd.DataFrame(steps))

    def audit(self, target: str) -> Json:
        """Say where a run, a score file, an image or a number comes from.

        A number is ``RUN:METRIC``. The answer is that of ``driftledger audit --json``.

        Raises:
            LedgerError: nothing has that name.
        """
        return data_of(resolve_target(Sources(self._project), target))

    def compare(self, a: str, b: str, *, anyway: bool = False) -> "pd.DataFrame":
        """Compare two runs over what both were measured on: a row per metric.

        The columns are ``benchmark``, ``on`` and those of the metrics in its JSON: the values ``a``
        and ``b``, their ``difference`` over the units that both have, its interval from ``low`` to
        ``high``, the number of these units, ``common``, the ``verdict`` in words and others.

        Args:
            anyway: rank also what is not comparable; the ``verdict`` says so otherwise.

        Raises:
            LedgerError: a run does not exist, or the two have nothing in common.
        """
        import pandas as pd

        sources = Sources(self._project)
        runs = find_run(sources, a), find_run(sources, b)
        compared = compare(*runs, sources.contents, anyway=anyway)
        return pd.json_normalize(
            compared.to_dict()["pairs"], "metrics", ["benchmark", "on"]
        )

    def changes(self, a: str, b: str) -> "pd.DataFrame":
        """Return the answers and samples that changed between two runs, a row each.

        The columns are ``benchmark``, ``on``, what it is ``of`` (answers or descriptions), the
        ``unit`` and ``step``, the readings ``a`` and ``b``, the texts ``a_text`` and ``b_text``,
        and their ``similarity``. Those furthest apart are first. Errors as in :meth:`compare`.
        """
        import pandas as pd

        sources = Sources(self._project)
        runs = find_run(sources, a), find_run(sources, b)
        rows = []
        for pair in compare_with_changes(sources, *runs).pairs:
            for each in pair.changes:
                names = {"benchmark": pair.benchmark, "on": pair.on, "of": each.of}
                for changed in each.furthest:
                    rows.append(names | asdict(changed))
        own = ChangedSample.__dataclass_fields__
        return pd.DataFrame(rows, columns=["benchmark", "on", "of", *own])

    def _stored(self, name: str | None) -> list[tuple[Benchmark, Keys]]:
        """Return the benchmark and keys of each stored score, of one benchmark or of all."""
        wanted = None if name is None else benchmark_of(name)
        scores = []
        project = self._project
        for spec, keys in project.selected:
            if wanted in (None, spec) and is_stored(project, spec, keys):
                scores.append((spec, keys))
        if not scores:
            which = f"score of {name}" if name else "score"
            raise StoreError(
                f"{self.path} has no {which} that params.yaml selects; run 'dvc repro' or 'dvc "
                "pull'"
            )
        return scores

    def _rows(self, spec: Benchmark, keys: Keys) -> list[Row]:
        return read_jsonl(self.path / spec.scores.at(keys) / ROWS, Row)


def _names(score: Score) -> dict[str, str | None]:
    """Return the names that identify a score; None for a key that it lacks."""
    return {
        "benchmark": score.benchmark,
        "on": score.on,
        "model": score.model,
        "generator": score.keys.get("generator"),
        "encoder": score.keys.get("encoder") or score.keys.get("text_encoder"),
        "description": score.keys.get("description"),
    }

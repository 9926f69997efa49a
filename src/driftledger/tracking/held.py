"""What MLflow holds of runs, against what ``track`` would write of them now: every difference, by its place.

MLflow lets whoever can reach it write anything. Where nothing but MLflow tells what is right, what a machine had
installed for instance, a difference is told apart from the others.
"""

import json
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from mlflow import MlflowClient
from mlflow.entities import Run

from driftledger.benchmarks.score import USAGE
from driftledger.core.canonical import canonical_json, sha256_bytes
from driftledger.core.escaping import for_line
from driftledger.tracking import connection
from driftledger.tracking.content import (
    EVIDENCE,
    FINGERPRINT,
    MAX_NAME,
    MAX_PARAM,
    OF_THE_MOMENT,
    RunContent,
    clip,
    clipped,
    tags_of,
)
from driftledger.tracking.doubles import Doubles
from driftledger.tracking.traces import Traces

_OTHERS_MAY_WRITE = frozenset({"mlflow.runColor", "mlflow.source.git.repoURL"})
"""Tags that ``track`` writes and that may differ: what a user chooses in the pages, what differs between clones."""

_OURS = re.compile(r"(driftledger|git)\..*|.*\.(fingerprint|served)")
"""Tags that only ``track`` writes: where it writes none, there is none. Any other is MLflow's, or a user's."""

_SHOWN = 60
"""Characters of a value."""


class Difference(NamedTuple):
    """One place in a run where MLflow holds something else."""

    where: str
    what: str
    mendable: bool = True
    """Whether writing the run again mends it; MLflow never writes over the rest, which takes another run."""
    recorded: bool = True
    """Whether anything but MLflow tells what is right there."""


class Held:
    """The finished runs of an experiment, and the components that they are linked to."""

    def __init__(self, client: MlflowClient, tracking_uri: str, experiment_id: str) -> None:
        self._client = client
        self._traces = Traces(tracking_uri, experiment_id)
        self.doubles = Doubles(client, experiment_id)
        self.runs: dict[str, list[Run]] = {}
        """By fingerprint, oldest first."""
        self.compared: Counter[str] = Counter()
        order = ["attributes.start_time ASC", "attributes.run_id ASC"]
        finished = "attributes.status = 'FINISHED'"
        for run in connection.all_pages(client.search_runs, [experiment_id], finished, order_by=order):
            if fingerprint := run.data.tags.get(FINGERPRINT):
                self.runs.setdefault(fingerprint, []).append(run)

    def differences(self, run: Run, content: RunContent) -> Iterator[Difference]:
        """Where the run is not as ``track`` would write it."""
        whole = self._client.get_run(run.info.run_id)
        tags = _tags(content, run.info.run_id)
        name = {"": clip(content.name, MAX_NAME)}
        held = {key: value for key, value in whole.data.tags.items() if key in tags or _OURS.fullmatch(key)}
        artifacts = self._artifacts(run.info.run_id)
        yield from _compared("name", {"": whole.info.run_name or ""}, name)
        yield from _compared("tag", {key: held[key] for key in held if key not in _OTHERS_MAY_WRITE}, tags)
        yield from unlike(self._client, whole, content)
        yield from self._unlinked(whole, content)
        traces = self._traces.told(run.info.run_id, content.traces())
        yield from _compared("trace", self._traces.held(run.info.run_id), traces)
        wanted = {path: _digest(path, make()) for path, make in content.artifacts.items()}
        yield from _compared("artifact", artifacts, wanted)
        numbers = {"metrics": len(content.every_metric()), "params": len(content.params)}
        self.compared += Counter(
            numbers | {"runs": 1, "tags": len(tags), "traces": len(traces), "artifacts": len(wanted)}
        )

    def _artifacts(self, run_id: str) -> dict[str, str]:
        if not self._client.list_artifacts(run_id):
            return {}
        with tempfile.TemporaryDirectory(prefix="driftledger-") as folder:
            top = Path(self._client.download_artifacts(run_id, "", folder))
            files = {file.relative_to(top).as_posix(): file for file in top.rglob("*") if file.is_file()}
            return {path: _digest(path, file.read_bytes()) for path, file in files.items()}

    def _unlinked(self, whole: Run, content: RunContent) -> Iterator[Difference]:
        """The components of a run, and the metrics that stand on their pages too.

        A double stands for the one that it is a double of; a link to one that is deleted shows nothing.
        """
        inputs = whole.inputs.model_inputs if whole.inputs else []
        linked = {self.doubles.key_of[each.model_id] for each in inputs if each.model_id in self.doubles.key_of}
        wanted = {component.key for component in content.components}
        yield from _compared("component", dict.fromkeys(linked, ""), dict.fromkeys(wanted, ""), never_over=True)
        digests = {dataset.name: dataset.digest for dataset in content.datasets}
        rows, shown = defaultdict[str, set[str]](set), dict[str, str]()
        for key in wanted | linked:
            for model in self.doubles.models.get(key, ()):
                for row in model.metrics or []:
                    if row.run_id == whole.info.run_id:
                        on = (row.dataset_name, row.dataset_digest)
                        rows[f"{row.key}, step {row.step}, of {key}"].add(_on(row.value, *on))
        for metric in content.every_metric():
            for key in metric.of:
                value = _on(metric.value, metric.dataset, digests.get(metric.dataset or ""))
                shown[f"{metric.key}, step {metric.step}, of {key}"] = value
        yield from _compared("metric", _joined(rows), shown, never_over=True)


def unlike(client: MlflowClient, whole: Run, content: RunContent) -> Iterator[Difference]:
    """Where params, metrics and datasets are not those of ``content``: what MLflow never writes over."""
    inputs = whole.inputs.dataset_inputs if whole.inputs else []
    datasets = {each.dataset.name: each.dataset.digest for each in inputs}
    wanted = {dataset.name: dataset.digest for dataset in content.datasets}
    yield from _compared("dataset", datasets, wanted, never_over=True)
    yield from _compared("param", whole.data.params, clipped(content.params, MAX_PARAM), never_over=True)
    metrics = content.every_metric()
    last = {each.key: each.value for each in sorted(metrics, key=lambda each: each.step)}
    rows = defaultdict[str, set[str]](set)
    for key in whole.data.metrics.keys() | last.keys():
        for row in client.get_metric_history(whole.info.run_id, key):
            late = "" if row.timestamp == whole.info.start_time else " at another time"
            rows[f"{key}, step {row.step}"].add(f"{row.value!r}{late}")
    told = {f"{each.key}, step {each.step}": repr(float(each.value)) for each in metrics}
    found = list(_compared("metric", _joined(rows), told, never_over=True))
    yield from found
    wrong = {each.where.removeprefix("metric ").rpartition(", step ")[0] for each in found}
    listed = {key: repr(value) for key, value in whole.data.metrics.items() if key not in wrong}
    lasting = {key: repr(float(value)) for key, value in last.items() if key not in wrong}
    differing = _compared("metric", listed, lasting)  # in the table that the lists of runs show
    yield from (each._replace(mendable=False) for each in differing)


def _tags(content: RunContent, run_id: str) -> dict[str, str]:
    return {key: value for key, value in tags_of(content, run_id).items() if key not in _OTHERS_MAY_WRITE}


def _compared(
    word: str, held: Mapping[str, str], wanted: Mapping[str, str], never_over: bool = False
) -> Iterator[Difference]:
    for key in sorted(held.keys() | wanted.keys()):
        where = f"{word} {for_line(key)}".strip()
        recorded = key not in OF_THE_MOMENT and not key.startswith(f"{USAGE}/")
        if key not in held:
            what = f"is missing: track writes {_short(wanted[key])}" if wanted[key] else "is missing"
            yield Difference(where, what, recorded=recorded)
        elif key not in wanted:
            what = f"is {_short(held[key])}, and track writes none" if held[key] else "is none of it"
            yield Difference(where, what, mendable=False, recorded=recorded)
        elif held[key] != wanted[key]:
            same = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(held[key], wanted[key], strict=False))))
            start = max(0, same - _SHOWN // 2) if same > _SHOWN // 2 else 0
            what = f"is {_short(held[key], start)}, not {_short(wanted[key], start)}"
            yield Difference(where, what, mendable=not never_over, recorded=recorded)


def _short(text: str, start: int = 0) -> str:
    more = "…" if len(text) > start + _SHOWN else ""
    return for_line(("…" if start else "") + text[start : start + _SHOWN] + more) or "empty"


def _joined(rows: Mapping[str, Iterable[str]]) -> dict[str, str]:
    return {key: " and ".join(sorted(values)) for key, values in rows.items()}


def _on(value: float, dataset: str | None, digest: str | None) -> str:
    return f"{float(value)!r} on {dataset}@{digest}" if dataset else repr(float(value))


def _digest(path: str, data: bytes) -> str:
    """Of the evidence, less the list of files that were untracked when it was written."""
    if path == EVIDENCE:
        try:
            told = json.loads(data)
            told["code"].pop("untracked", None)
            data = canonical_json(told).encode()
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            pass
    return f"SHA-256 {sha256_bytes(data)}"

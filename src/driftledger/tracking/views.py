"""Saved views of an experiment: the scores side by side, each benchmark's charts, and what calls cost.

MLflow keeps a view as a tag of the experiment whose value only its own pages write and read: nothing in its interface
makes one. What stands here is what MLflow 3.17 writes, tried with a browser; another major version gets none.
"""

import base64
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.score import REPEAT, USAGE, base_key, tracked_key
from driftledger.core.canonical import canonical_json, sha256_of
from driftledger.core.grouping import grouped
from driftledger.tracking.score_part import ScorePart

VIEW = "mlflow.sharedViewState."
"""What the key of such a tag begins with."""

WRITTEN_FOR = (3, 17)
"""The oldest version of MLflow that reads these, of the only major version that does."""

_MAX_TAG = 5000
"""The longest value of an experiment's tag."""

LEADERBOARD = "Leaderboard"

_WITHOUT_SLASH = "Model metrics"
"""MLflow's section of the metrics without a slash."""

_COMPARED = 20
"""Runs in a chart."""


class Chart(NamedTuple):
    """A chart of one metric; over its steps where it has several."""

    key: str
    title: str
    over_steps: bool


class SavedView(NamedTuple):
    """A name, the columns of the table of runs, sections of charts, and sections that MLflow adds."""

    name: str
    columns: Sequence[str]
    """Metrics, by their keys; runs are sorted by the first, the highest value first."""
    sections: Mapping[str, Sequence[Chart]]
    closed: Sequence[str]
    """Sections of all other metrics, by their names; shown below, closed."""


def readable(version: str) -> bool:
    """Whether that version of MLflow has been seen to show what is written here.

    >>> readable("3.17.2"), readable("3.9.0"), readable("4.0.1")
    (True, False, False)
    """
    major, minor = (int(part) for part in version.split(".")[:2])
    return major == WRITTEN_FOR[0] and minor >= WRITTEN_FOR[1]


def views(parts: Sequence[ScorePart], metrics: Iterable[str]) -> Iterator[SavedView]:
    """The leaderboard, a view per benchmark, and the cost.

    Args:
        parts: of all runs, in the order of the selection.
        metrics: the keys of all metrics of the runs.
    """
    metrics = list(dict.fromkeys(metrics))
    closed = sorted({key.rpartition("/")[0] or _WITHOUT_SLASH for key in metrics})
    heads = {chart.key: chart for part in parts for chart in _headlines(part)}
    glance = {chart.key: chart for part in parts for chart in _headlines(part, at_a_glance=True)}
    if not heads:
        return
    yield SavedView(LEADERBOARD, list(glance), {"at a glance": list(glance.values())}, closed)
    for title, some in grouped(parts, lambda part: _titled(part.lineage.spec)).items():
        own = {chart.key: chart for part in some for chart in _headlines(part)}
        curves = {chart.key: chart for part in some for chart in _curves(part)}
        repeats = {chart.key: chart for part in some for chart in _repeats(part)}
        sections = {
            "over iterations": list(curves.values()),
            "repeat by repeat": list(repeats.values()),
            "scores": list(own.values()),
        }
        yield SavedView(title, list(own), {name: charts for name, charts in sections.items() if charts}, closed)
    if taken := [Chart(key, _cost_title(key), over_steps=False) for key in metrics if key.startswith(f"{USAGE}/")]:
        yield SavedView("Cost", [chart.key for chart in taken], {"per call": taken}, closed)


def _titled(spec: Benchmark) -> str:
    """``Self-awareness (MM-SAP)``."""
    return f"{spec.topic} ({spec.title})" if spec.topic else spec.title


def _headlines(part: ScorePart, at_a_glance: bool = False) -> Iterator[Chart]:
    spec, score = part.lineage.spec, part.lineage.score
    for key in spec.headlines(score):
        metric = spec.metric(key)
        if metric is not None and (metric.key in spec.glanced or not at_a_glance):
            title = f"{spec.title} {metric.named(key)}" if at_a_glance else metric.named(key)
            name = tracked_key(part.prefix, key, headline=True)
            yield Chart(name, f"{title} · {part.on}", over_steps=False)


def _curves(part: ScorePart) -> Iterator[Chart]:
    for name in part.lineage.score.curves:
        metric = part.lineage.spec.of_curve(name)
        if metric is not None and metric.headline and base_key(name) == name:
            title = f"{metric.title.format(t='t')} · {part.on}"
            yield Chart(tracked_key(part.prefix, name), title, over_steps=True)


def _repeats(part: ScorePart) -> Iterator[Chart]:
    """What each repeat alone is worth, with the repeats side by side."""
    spec, score = part.lineage.spec, part.lineage.score
    for key in spec.headlines(score) if score.groups.get(REPEAT) else ():
        if (metric := spec.metric(key)) is not None:
            title = f"{metric.named(key)} of each repeat · {part.on}"
            yield Chart(tracked_key(part.prefix, f"{REPEAT}/{key}"), title, over_steps=True)


def _cost_title(key: str) -> str:
    """``seconds per describe · <benchmark> <data>``."""
    name, _, place = key.removeprefix(f"{USAGE}/").partition(".")
    return f"{name.replace('_', ' ')} · {place.replace('.', ' ')}"


def key_of_view(name: str) -> str:
    """What an address of MLflow's names a view by."""
    return _id("view", name)


def tags_of(some: Iterable[SavedView], held: Mapping[str, str], now: int) -> dict[str, str]:
    """The experiment's tags that hold views, less those that are there already; charts that do not fit are left out.

    Args:
        held: tags that the experiment has.
        now: in milliseconds since 1970, for views that are new or other than they were.
    """
    tags = {}
    for view in some:
        key, state = VIEW + key_of_view(view.name), _fitting(view)
        if key not in held or _state_in(held[key]) != state:
            tags[key] = _tag(view.name, state, now)
    return tags


def _fitting(view: SavedView) -> dict[str, Any]:
    """The state of the view with as many charts of each section as a tag holds."""
    for most in range(max(map(len, view.sections.values())), -1, -1):
        state = _state(view, {name: charts[:most] for name, charts in view.sections.items()})
        if len(_tag(view.name, state, 2**42)) <= _MAX_TAG:
            return state
    return state


def _tag(name: str, state: Mapping[str, Any], now: int) -> str:
    packed = base64.b64encode(zlib.compress(canonical_json(state).encode(), 9)).decode()
    return json.dumps({"name": name, "createdAt": now, "updatedAt": now, "state": f"deflate;{packed}"})


def _state_in(tag: str) -> Any:
    try:
        packed = json.loads(tag)["state"].removeprefix("deflate;")
        return json.loads(zlib.decompress(base64.b64decode(packed)))
    except (ValueError, TypeError, KeyError, AttributeError, zlib.error):
        return None


def _state(view: SavedView, sections: Mapping[str, Sequence[Chart]]) -> dict[str, Any]:
    columns = [f"metrics.`{key}`" for key in view.columns]
    return {
        "searchFilter": "tags.`driftledger.current` = 'true'",
        "orderByKey": columns[0],
        "orderByAsc": False,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "datasetsFilter": [],
        "modelVersionFilter": "All Runs",
        "selectedColumns": ["params.`generator_version`", *columns],
        "columnOrder": [],
        "columnWidths": {},
        "runsHiddenMode": "FIRST_20_RUNS",
        "compareRunCharts": [_chart(name, chart) for name, charts in sections.items() for chart in charts],
        "compareRunSections": [
            {
                "uuid": _id("section", name),
                "name": name,
                "display": is_ours,
                "isReordered": False,
                "deleted": False,
                "isGenerated": not is_ours,
            }
            for name, is_ours in (*((name, True) for name in sections), *((name, False) for name in view.closed))
        ],
        "viewMaximized": False,
        "runListHidden": False,
        "isAccordionReordered": True,
        "useGroupedValuesInCharts": True,
        "hideEmptyCharts": True,
        "groupBy": None,
        "groupsExpanded": {},
        "globalLineChartConfig": {"xAxisKey": "step", "lineSmoothness": 0, "selectedXAxisMetricKey": ""},
    }


def _chart(section: str, chart: Chart) -> dict[str, Any]:
    drawn: dict[str, Any] = {
        "uuid": _id("chart", section, chart.key),
        "type": "LINE" if chart.over_steps else "BAR",
        "runsCountToCompare": _COMPARED,
        "metricSectionId": _id("section", section),
        "deleted": False,
        "isGenerated": False,
        "displayName": chart.title,
        "metricKey": chart.key,
    }
    if chart.over_steps:
        drawn |= {
            "selectedMetricKeys": [chart.key],
            "lineSmoothness": 0,
            "xAxisScaleType": "linear",
            "scaleType": "linear",
            "range": {},
            "xAxisKey": "step",
            "selectedXAxisMetricKey": "",
            "yAxisKey": "metric",
            "yAxisExpressions": [],
            "ignoreOutliers": False,
            "useGlobalXaxisKey": True,
            "useGlobalLineSmoothing": True,
        }
    return drawn


def _id(*names: str) -> str:
    return sha256_of(names)[:20]

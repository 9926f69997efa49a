"""The saved view "Leaderboard" of an experiment."""

import base64
import json
import zlib
from collections.abc import Mapping, Sequence

from driftledger.core.canonical import Json, sha256_of

CURRENT = "driftledger.current"
"""Tag of runs: ``true`` on those that are selected now."""
VIEW_KEY = sha256_of("Leaderboard")[:20]
VIEW_TAG = f"mlflow.sharedViewState.{VIEW_KEY}"
PAGES = {
    "scores": "#/experiments/{}/evaluation-runs",
    "leaderboard and charts": (
        "#/experiments/{}/runs?workflowType=machine_learning"
        f"&viewStateShareKey={VIEW_KEY}&compareRunsMode=CHART"
    ),
}
"""Title → address at a server, with a place for the experiment's id."""
MAX_TAG = 5000
"""The most characters of a tag that every store of MLflow takes."""
MOST_ROWS = 20
"""The most rows of the grid of chains."""
_SECTION = sha256_of("section")[:20]
_CHAINS = sha256_of("chains")[:20]
_SHOWN = {"display": True, "isReordered": False}
_STATE = {
    "searchFilter": f"tags.`{CURRENT}` = 'true'",
    "startTime": "ALL",
    "lifecycleFilter": "Active",
    "datasetsFilter": [],
    "modelVersionFilter": "All Runs",
    "runsHiddenMode": "FIRST_20_RUNS",
    "compareRunSections": [
        {"uuid": _SECTION, "name": "at a glance", "columns": 2, **_SHOWN},
        {
            "uuid": _CHAINS,
            "name": "chains, by t",
            "columns": 1,
            "cardHeight": 720,
            **_SHOWN,
        },
    ],
    "isAccordionReordered": True,
    "hideEmptyCharts": True,
    "useGroupedValuesInCharts": True,
    "globalLineChartConfig": {
        "xAxisKey": "step",
        "lineSmoothness": 0,
        "selectedXAxisMetricKey": "",
    },
}
_CHART = {
    "runsCountToCompare": 20,
    "metricSectionId": _SECTION,
    "deleted": False,
    "isGenerated": False,
}
_LINE = {
    "lineSmoothness": 0,
    "xAxisKey": "step",
    "yAxisKey": "metric",
    "scaleType": "linear",
    "range": {},
    "xAxisScaleType": "linear",
    "selectedXAxisMetricKey": "",
    "yAxisExpressions": [],
    "ignoreOutliers": False,
    "useGlobalXaxisKey": True,
    "useGlobalLineSmoothing": True,
}


def leaderboard(
    curves: Sequence[str],
    headlines: Mapping[str, str],
    columns: Sequence[str],
    higher: bool,
    chains: Sequence[str] = (),
) -> str:
    """Return the tag's value: the order of runs, and charts.

    Curves are lines, chains are a grid, and each headline is a bar chart.

    Charts that do not fit into a tag are left out, the last first.

    Args:
        curves: metrics with a value per iteration.
        headlines: metric → title of its chart.
        columns: metrics that the table of runs shows.
        higher: the highest value of the first column is the best.
        chains: keys of images with one per iteration, a row each.
    """
    charts = []
    for key in curves:
        line = {"selectedMetricKeys": [key], **_LINE}
        charts.append(_chart(key, "LINE", f"{key} per iteration") | line)
    if chains:
        grid = {
            "imageKeys": [*chains[:MOST_ROWS]],
            "metricSectionId": _CHAINS,
            "showRunParams": False,
            "step": 1,
        }
        charts.append(_chart("", "IMAGE", "chains, by t") | grid)
    for key, title in headlines.items():
        charts.append(_chart(key, "BAR", title))
    metrics = [f"metrics.`{key}`" for key in columns[:40]]
    state = _STATE | {
        "orderByKey": metrics[0],
        "orderByAsc": not higher,
        "selectedColumns": ["params.`generator_version`", *metrics],
    }
    while True:
        text = json.dumps(state | {"compareRunCharts": charts}, sort_keys=True)
        packed = base64.b64encode(zlib.compress(text.encode(), 9)).decode()
        tag = {
            "name": "Leaderboard",
            "createdAt": 0,
            "updatedAt": 0,
            "state": f"deflate;{packed}",
        }
        if len(json.dumps(tag)) <= MAX_TAG or not charts:
            return json.dumps(tag)
        charts.pop()


def _chart(key: str, kind: str, title: str) -> Json:
    own = {"uuid": sha256_of([key, kind])[:20], "type": kind, "displayName": title}
    return _CHART | own | {"metricKey": key}

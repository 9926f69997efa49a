"""One saved view of the experiment, "Leaderboard": MLflow keeps it as a tag that its pages read."""

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from driftledger.core.canonical import sha256_of

VIEW_KEY = sha256_of("Leaderboard")[:20]
VIEW_TAG = f"mlflow.sharedViewState.{VIEW_KEY}"
PAGES = {
    "scores": "#/experiments/{}/evaluation-runs",
    "leaderboard and charts": (
        f"#/experiments/{{}}/runs?workflowType=machine_learning&viewStateShareKey={VIEW_KEY}&compareRunsMode=CHART"
    ),
}
"""What to look at in an experiment: where it is at a server, with a place for the experiment's id.
"""
_MAX_TAG = 5000
_LINE = {
    **{
        "lineSmoothness": 0,
        "xAxisKey": "step",
        "yAxisKey": "metric",
        "scaleType": "linear",
        "range": {},
    },
    **{
        "xAxisScaleType": "linear",
        "selectedXAxisMetricKey": "",
        "yAxisExpressions": [],
        "ignoreOutliers": False,
    },
    **{"useGlobalXaxisKey": True, "useGlobalLineSmoothing": True},
}


def leaderboard(
    curves: Sequence[str], headlines: Mapping[str, str], columns: Sequence[str], higher: bool
) -> str:
    """The tag's value: runs sorted by the first column, the curves as line charts, then a bar chart
    per headline.

    Args:
        curves: metrics with a value per iteration.
        headlines: metric → title of its chart.
        columns: metrics that the table of runs shows.
        higher: whether the highest value of the first column is the best.
    """
    charts = [(key, f"{key} per iteration", "LINE") for key in curves]
    charts += [(key, title, "BAR") for key, title in headlines.items()]
    columns = columns[:40]
    section = sha256_of("section")[:20]
    state: dict[str, Any] = {
        "searchFilter": "tags.`driftledger.current` = 'true'",
        "orderByKey": f"metrics.`{columns[0]}`",
        "orderByAsc": not higher,
        "startTime": "ALL",
        "lifecycleFilter": "Active",
        "datasetsFilter": [],
        "modelVersionFilter": "All Runs",
        "selectedColumns": ["params.`generator_version`", *(f"metrics.`{key}`" for key in columns)],
        "runsHiddenMode": "FIRST_20_RUNS",
        "compareRunCharts": [
            {
                "uuid": sha256_of([key, kind])[:20],
                "type": kind,
                "runsCountToCompare": 20,
                "metricSectionId": section,
                "deleted": False,
                "isGenerated": False,
                "displayName": title,
                "metricKey": key,
                **({"selectedMetricKeys": [key], **_LINE} if kind == "LINE" else {}),
            }
            for key, title, kind in charts
        ],
        "compareRunSections": [
            {
                "uuid": section,
                "name": "at a glance",
                "display": True,
                "isReordered": False,
                "columns": 2,
            }
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
    while True:
        packed = base64.b64encode(
            zlib.compress(json.dumps(state, sort_keys=True).encode(), 9)
        ).decode()
        tag = json.dumps(
            {"name": "Leaderboard", "createdAt": 0, "updatedAt": 0, "state": f"deflate;{packed}"}
        )
        if len(tag) <= _MAX_TAG or not state["compareRunCharts"]:
            return tag
        state["compareRunCharts"].pop()

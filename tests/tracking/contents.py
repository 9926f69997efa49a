"""Small run contents for the tests of tracking."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from driftledger.benchmarks.traces import Shot, Step, Trace
from driftledger.core.types import Outcome
from driftledger.tracking.content import ComponentVersion, DatasetInput, LoggedMetric, LoggedTrace, RunContent

EXPERIMENT = "drift of meaning"
PICTURE = Shot(Path(__file__))
"""Whose bytes are all that counts."""
TRACES = [
    LoggedTrace(
        "genception/photos",
        Trace(
            unit="coffee",
            name="chain",
            asked={"sample": "coffee", "image": PICTURE},
            gave={"description": "a cup"},
            outcome=Outcome.OK,
            steps=[
                Step("describe 1", "model", {"image": PICTURE}, {"description": "a cup"}),
                Step("generate 1", "generator", {"description": "a cup"}, {"image": PICTURE, "s(1)": 0.5}),
            ],
            values={"GC@3": 0.9},
        ),
    ),
    LoggedTrace(
        "mm_sap/exam",
        Trace("q1", "question", {"question": "<b>?</b>", "options": ["a", "b"]}, {"read as": []}, Outcome.FAILED,
              [Step("answer 1", "model", {}, {"answer": None}, Outcome.FAILED, "no\x1b[31m answer")]),
    ),
]  # fmt: skip
PHOTOS = DatasetInput("photos", "0123456789abcdef0123456789abcdef.dir", "data/datasets/photos", 24)


def generator(name: str = "painter", fingerprint: str = "aa11") -> ComponentVersion:
    return ComponentVersion("generator", name, fingerprint, {"size": "64"}, {"provider": name}, f"It is {name}.")


def model(name: str = "regions", fingerprint: str = "cc33", *served: str) -> ComponentVersion:
    return ComponentVersion("model", name, fingerprint, {}, {"provider": name}, f"It is {name}.", frozenset(served))


def judge(name: str = "rubric", fingerprint: str = "dd44", *served: str) -> ComponentVersion:
    return replace(model(name, fingerprint, *served), kind="judge")


def run(fingerprint: str, **changes: Any) -> RunContent:
    """A run with step metrics on a dataset, of all its components, one metric of none, a dataset and two artifacts."""
    content: dict[str, Any] = {
        "name": f"regions · painter · {fingerprint}",
        "fingerprint": fingerprint,
        "params": {"genception.iterations": "3", "prompt": "Describe <b>everything</b>"},
        "tags": {"git.commit": "c0ffee", "git.dirty": "false"},
        "metrics": (
            *(LoggedMetric("genception/photos/gc", 0.5 + step / 7, step, "photos") for step in (1, 2, 3)),
            LoggedMetric("genception/photos/gc_at_3", 0.9, dataset="photos"),
            LoggedMetric("calls/seconds", 1.25),
        ),
        "datasets": (PHOTOS,),
        "components": (generator(),),
        "traces": lambda: TRACES if fingerprint == "f1" else (),  # one is enough where each write is killed once
        "artifacts": {"evidence.json": lambda: b"{}\n", "tables/samples.csv": lambda: b"id,gc\ncoffee,0.9\n"},
    }
    content |= changes
    keys = tuple(component.key for component in content["components"])
    linked = (replace(each, of=each.of or keys) if each.dataset else each for each in content["metrics"])
    return RunContent(**content | {"metrics": tuple(linked)})


def two_runs() -> list[RunContent]:
    return [
        run("f1", components=(generator(), model("regions", "cc33", "m-1"))),
        run("f2", components=(generator("crayon", "bb22"), model("regions", "cc33", "m-2"), judge())),
    ]


def earlier_runs() -> list[RunContent]:
    """What was shown before :func:`two_runs`: one run that stays, one whose generator has changed since."""
    return [two_runs()[0], run("f0", components=(generator("crayon", "bb11"), model()))]

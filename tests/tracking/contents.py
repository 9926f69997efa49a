"""Small run contents for the tests of tracking."""

from typing import Any

from driftledger.tracking.content import ComponentVersion, DatasetInput, Metric, RunContent

EXPERIMENT = "drift of meaning"
PHOTOS = DatasetInput("photos", "0123456789abcdef0123456789abcdef.dir", "data/datasets/photos", 24)


def generator(name: str = "painter", fingerprint: str = "aa11") -> ComponentVersion:
    return ComponentVersion("generator", name, fingerprint, {"size": "64"}, {"provider": name})


def run(fingerprint: str, **changes: Any) -> RunContent:
    """A run with step metrics on a dataset, one metric on none, a dataset and two artifacts."""
    content = {
        "name": f"regions · painter · {fingerprint}",
        "fingerprint": fingerprint,
        "params": {"genception.iterations": "3", "prompt": "Describe <b>everything</b>"},
        "tags": {"git.commit": "c0ffee", "git.dirty": "false"},
        "metrics": (
            *(Metric("genception/photos/gc", 0.5 + step / 7, step, "photos") for step in (1, 2, 3)),
            Metric("genception/photos/gc_at_3", 0.9, dataset="photos"),
            Metric("calls/seconds", 1.25),
        ),
        "datasets": (PHOTOS,),
        "generator": generator(),
        "artifacts": {"evidence.json": lambda: b"{}\n", "tables/samples.csv": lambda: b"id,gc\ncoffee,0.9\n"},
    }
    return RunContent(**{**content, **changes})


def two_runs() -> list[RunContent]:
    return [run("f1"), run("f2", generator=generator("crayon", "bb22"))]


def earlier_runs() -> list[RunContent]:
    """What was shown before :func:`two_runs`: one run that stays, one whose generator has changed since."""
    return [run("f1"), run("f0", generator=generator("crayon", "bb11"))]

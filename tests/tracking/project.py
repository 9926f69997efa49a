"""A small evaluated project: chains of two samples on disk, and evidence of runs over them."""

import random
from functools import cache
from pathlib import Path

from PIL import Image

from driftledger.core.canonical import sha256_of
from driftledger.core.files import write_json, write_jsonl
from driftledger.core.media import png_bytes
from driftledger.data.records import SampleEntry
from driftledger.ledger.lineage import CodeVersion, Folder, Lineage, Run
from driftledger.project.project import Combination
from driftledger.project.settings import Tracking
from tests.support.ledgers import component, genception_score, iteration, row, varied

REPOSITORY = Path(__file__).parents[2]
SAMPLES = {"disc": 0.9, "ring": 0.5}
"""Sample → its similarity at t = 1; at t = 2 it is 0.1 less."""
EXPERIMENT = "drift"


def settings(root, uri=None):
    uri = uri or f"sqlite:///{root}/mlflow.db"
    return Tracking(uri=uri, experiment=EXPERIMENT, traces="all")


def card(name, version=1, **changes):
    return component(name, **changes).model_copy(
        update={"fingerprint": sha256_of([name, version])}
    )


def gen_score(
    model="seer",
    gc=0.7,
    generator=None,
    t=2,
    **numbers,
):
    """GenCeption, better by ``gc``, over ``t`` iterations, with other ``numbers`` by their
    names."""
    values = {
        f"{name}_at_{step}": gc
        for step in range(1, t + 1)
        for name in ("gc", "similarity")
    }
    score = genception_score(model=model, numbers=values | numbers)
    return varied(
        score, generator=generator or card("brush"), example_model=card("rival")
    )


def lineage(of):
    names = "/".join(of.keys.values())
    kind = "datasets" if "dataset" in of.keys else "questions"
    records = folder("data/records", f"{of.benchmark}/{of.model}", "2")
    return Lineage(
        score=of,
        folder=folder("reports/scores", f"{of.benchmark}/{names}", "3"),
        data=folder(f"data/{kind}", of.on, "1"),
        collected={"chain": records},
        stages={},
    )


def folder(out, name, digit):
    """A folder in an output of DVC, whose digest is this digit alone."""
    return Folder(path=f"{out}/{name}", out=out, md5=digit * 32 + ".dir")


def evidence(*scores):
    keys = scores[0].keys
    combination = Combination(
        keys["model"], keys.get("generator", "brush"), keys.get("encoder", "eye")
    )
    return Run(
        name=str(combination),
        combination=combination,
        fingerprint=sha256_of([each.to_dict() for each in scores]),
        lineages=[lineage(each) for each in scores],
        code=CodeVersion(commit="c0ffee" + "0" * 34, dirty=False),
    )


def write_project(root, *runs):
    """Write the data, the records and the rows behind runs of GenCeption alone, which has a picture
    per step."""
    entries = []
    for name in SAMPLES:
        file = f"images/{name}.png"
        write_picture(root / "data/datasets/shapes" / file)
        size = {"width": 400, "height": 300}
        digest = "a" * 64
        entry = SampleEntry(id=name, file=file, category="round", sha256=digest, **size)
        entries.append(entry)
    write_jsonl(root / "data/datasets/shapes/samples.jsonl", entries)
    for each in (lineage for run in runs for lineage in run.lineages):
        place = root / each.collected["chain"].path
        records = []
        for name in SAMPLES:
            for t in (1, 2):
                image = f"images/{t}/{name}.png"
                write_picture(place / image)
                records.append(iteration(name, t, "=a disc", image))
        write_jsonl(place / "records.jsonl", records)
        write_json(root / each.score_path, each.score)
        write_jsonl(root / each.rows_path, rows())
    return runs


def rows():
    return [
        row(
            name,
            {"similarity": [value, value - 0.1], "gc": [value, value]},
            "round",
            category="round",
        )
        for name, value in SAMPLES.items()
    ]


def write_picture(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_picture(path.name))


@cache
def _picture(name):
    """Make a picture of large squares, which is quick to compress, and too wide to be attached as
    it is."""
    squares = Image.frombytes("RGB", (8, 6), random.Random(name).randbytes(8 * 6 * 3))
    return png_bytes(squares.resize((400, 300), Image.Resampling.NEAREST))

"""A small evaluated project: chains of two samples on disk, and evidence of runs over them."""

import random
from functools import cache
from pathlib import Path

from PIL import Image

from driftledger.core.canonical import sha256_of
from driftledger.core.files import write_jsonl
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


def settings(folder, **changes):
    return Tracking(
        **{
            "uri": f"sqlite:///{folder}/mlflow.db",
            "experiment": EXPERIMENT,
            "traces": "all",
        }
        | changes
    )


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
    records = Folder(
        path=f"data/records/{of.benchmark}/{of.model}",
        out="data/records",
        md5="2" * 32 + ".dir",
    )
    return Lineage(
        score=of,
        folder=Folder(
            path=f"reports/scores/{of.benchmark}/{names}",
            out="reports/scores",
            md5="3" * 32 + ".dir",
        ),
        data=Folder(
            path=f"data/{kind}/{of.on}", out=f"data/{kind}", md5="1" * 32 + ".dir"
        ),
        collected={"chain": records},
        stages={},
    )


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
        write_picture(root / f"data/datasets/shapes/images/{name}.png")
        file = {
            "id": name,
            "file": f"images/{name}.png",
            "category": "round",
            "sha256": "a" * 64,
        }
        entries.append(SampleEntry.model_validate(file | {"width": 400, "height": 300}))
    write_jsonl(root / "data/datasets/shapes/samples.jsonl", entries)
    for each in (lineage for run in runs for lineage in run.lineages):
        folder = root / each.collected["chain"].path
        records = []
        for name in SAMPLES:
            for t in (1, 2):
                write_picture(folder / f"images/{t}/{name}.png")
                records.append(iteration(name, t, "=a disc", f"images/{t}/{name}.png"))
        write_jsonl(folder / "records.jsonl", records)
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

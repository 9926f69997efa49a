"""A checkout with records of three benchmarks, some of them hostile, as the pages of the report show them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from driftledger.benchmarks.records import CollectedRecord
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import Score
from driftledger.core.files import write_jsonl
from driftledger.core.paths import Combination
from driftledger.core.types import Outcome
from driftledger.data.question_sets.files import QuestionEntry
from driftledger.data.records import SampleEntry
from driftledger.project.project import Project
from tests.support.ledgers import (
    component,
    genception_score,
    iteration,
    question_score,
    record,
    row,
    trac_row,
    trac_score,
    varied,
    write_collected,
    write_image,
    write_scored,
)
from tests.support.params import default_params

HOSTILE = "<script>document.title='owned'</script><img src=x onerror=\"alert(1)\">]]>\x1b[31m\u202e$x$"
MODELS = ("seer", "poet", "blind")
"""Each worse than the one before; the last is a control."""


@dataclass(frozen=True)
class Selecting(Project):
    """A project whose runs are given."""

    runs: Sequence[Combination] = ()

    @property
    def combinations(self) -> list[Combination]:
        return list(self.runs)


def write_checkout(root: Path) -> tuple[Project, list[Score]]:
    """Chains of two samples, of which poet refuses to describe one; a digit; a question in two orders."""
    scores = [score for place, model in enumerate(MODELS) for score in _scores(root, model, place)]
    for name, data in (("shapes", ("disc", "ring")), ("digits", ("d0", "d1"))):
        entries = []
        for sample in data:
            write_image(root / f"data/datasets/{name}/images/{sample}.png", (200, len(sample), len(entries)))
            entry = {"id": sample, "file": f"images/{sample}.png", "sha256": "a" * 64, "width": 40, "height": 30}
            of = {"category": "round"} if name == "shapes" else {"label": "seven", "split": "test"}
            entries.append(SampleEntry.model_validate(entry | of))
        write_jsonl(root / f"data/datasets/{name}/samples.jsonl", entries)
    write_image(root / "data/questions/exam/images/pet.png", (120, 90, 60))
    question = {"id": "q0", "image": "images/pet.png", "image_sha256": "c" * 64, "image_id": "pet", "answer": 0}
    question |= {"question": f"What? {HOSTILE}", "options": ["a cat", "a dog", "no idea"], "refusal": 2}
    write_jsonl(
        root / "data/questions/exam/questions.jsonl", [QuestionEntry.model_validate(question | {"subset": "basic"})]
    )
    outs = {"data": "data/datasets", "collect@seer": "data/records/seer", "score@seer": "reports/scores/seer"}
    stages = {
        name: {"cmd": "x", "outs": [{"path": path, "md5": f"{number}" * 32 + ".dir", "size": 1}]}
        for number, (name, path) in enumerate(outs.items(), 1)
    }
    (root / "dvc.lock").write_text(yaml.safe_dump({"schema": "2.0", "stages": stages}), encoding="utf-8")
    (root / "params.yaml").write_text(yaml.safe_dump(default_params()), encoding="utf-8")
    return Selecting(root, runs=[Combination(model, "brush", "eye") for model in MODELS]), scores


def _scores(root: Path, model: str, place: int) -> list[Score]:
    control: Mapping[str, Any] = {"model": component(model, provider="blind")} if model == "blind" else {}
    values = {"gc_at_1": 0.9, "gc_at_2": 0.7, "gc_at_2_low": 0.65, "gc_at_2_high": 0.75, "similarity_at_2": 0.6}
    gc = {key: round(value - 0.25 * place, 3) for key, value in values.items()}
    groups = {"category": {HOSTILE: gc, "square": gc}, "group": {}}
    flags = [HOSTILE] if place == 0 else []
    chains = varied(genception_score(model=model, metrics=gc, groups=groups, flags=flags), **control)
    trac = varied(trac_score(model=model, metrics={"top1": 64.0 - place, "class_mean": 60.0 + place}), **control)
    asked = varied(question_score(model=model, metrics={"score": 62.0 - place, "score_std": 0.85}), **control)

    records: list[CollectedRecord] = []
    folder = benchmark("genception").collects.at(chains.keys)
    for sample in ("disc", "ring"):
        for t in (1, 2):
            if (model, sample) == ("poet", "ring"):
                refused = record(sample, "refused", error="I would rather not.", parent_sha256="a" * 64, seed=t)
                records.append(refused)
                break
            file = f"images/{sample}/{t}.png"
            text = HOSTILE if model == "seer" else f"a {'red' if t == 1 else 'blue'} disc on grey"
            records.append(iteration(sample, t, text, file))
            write_image(root / folder / file, (30 * place, 100 * t, len(sample)))
    write_collected(root, chains, records)
    similar = {"disc": [0.9 - 0.1 * place, 0.5], "ring": [0.8, 0.2 + 0.1 * place]}
    rows = [row(sample, {"similarity": some, "gc": some}, "round") for sample, some in similar.items()]
    if model == "poet":
        rows[1] = row("ring", {}, "round", outcome=Outcome.REFUSED)
    write_scored(root, chains, rows)

    told = [
        record(sample, text="a hook", step=step, split="test", max_tokens=n)
        for step, n in enumerate((32, 64), 1)
        for sample in ("d0", "d1")
    ]
    write_collected(root, trac, told)
    write_scored(root, trac, [trac_row("d1", "seven", "seven")])

    answers = [(1, "B", [2, 0, 1]), (2, "The answer is A.", [1, 2, 0])]
    write_collected(root, asked, [record("q0", text=text, step=step, order=order) for step, text, order in answers])
    write_scored(root, asked, [row("q0", {"score": [1.0, 0.0]}, cluster="pet")])
    return [chains, trac, asked]

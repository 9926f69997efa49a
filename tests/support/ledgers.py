"""Hand-written scores of GenCeption, and the folders that the stages behind a score write."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from driftledger.benchmarks.base.records import (
    CARD,
    RECORDS,
    CollectedCard,
    CollectedRecord,
    RecordedResult,
)
from driftledger.benchmarks.base.stage import Stage
from driftledger.benchmarks.base.usage import RoleUsage, ScoreUsage
from driftledger.benchmarks.registry import benchmark
from driftledger.components.base import ComponentCard
from driftledger.core.files import write_json, write_jsonl
from driftledger.core.media import png_bytes
from driftledger.core.types import Outcome
from driftledger.project.project import Combination
from driftledger.scoring.number import Number, NumberName, Place
from driftledger.scoring.roles import ROLES
from driftledger.scoring.score import Row, Score
from tests.support.cases import CASES

COMBINATION = Combination("seer", "brush", "eye")


def component(name: str, **changes: Any) -> ComponentCard:
    plain = {
        "provider": f"{name}_provider",
        "version": "3",
        "settings": {"batch_size": 16},
        "identity": {},
    }
    return ComponentCard(
        name=name,
        fingerprint=hashlib.sha256(name.encode()).hexdigest(),
        **plain | changes,
    )


BRUSH = component("brush", settings={"batch_size": 16, "longest_side": 64})


def plain_score(name: str) -> dict[str, Any]:
    """Read a score of ``tests/cases/support/scores.json``, with cards in the place of names."""
    plain: dict[str, Any] = json.loads((CASES / "support/scores.json").read_bytes())[
        name
    ]
    cards = {role: component(called) for role, called in plain["components"].items()}
    if "generator" in cards:
        cards["generator"] = BRUSH
    plain["components"] = cards
    return plain


def numbers_of(
    named: Mapping[str, float], why: Mapping[str, str] | None = None
) -> list[Number]:
    """Return numbers by their names, ends of intervals among them, and why some lack a value."""
    rows: dict[Place, dict[str, Any]] = {}
    for text, value in named.items():
        name = NumberName.read(text)
        rows.setdefault(name.place, {})[name.end or "value"] = value
    for text, reason in (why or {}).items():
        rows.setdefault(NumberName.read(text).place, {})["why"] = reason
    return [Number(**place._asdict(), **columns) for place, columns in rows.items()]


def number_in(score: dict[str, Any], text: str) -> dict[str, Any]:
    """Return the row of a number in the content of a ``score.json``, by its name; one that it lacks
    is added."""
    name = NumberName.read(text)
    for row in score["numbers"]:
        if [row.get(column) for column in Place._fields] == [*name.place]:
            return row
    named = {column: each for column, each in name.place._asdict().items() if each}
    score["numbers"].append(named)
    return named


def score_of(plain: dict[str, Any], changes: Mapping[str, Any]) -> Score:
    """A score with other fields. A name in its keys, ``model`` for instance, may be changed alone;
    a component of that role is then called so too. Its ``numbers`` are by their names, and so is
    ``why`` it has no value."""
    names = {name: each for name, each in changes.items() if name in plain["keys"]}
    fields = {name: each for name, each in changes.items() if name not in names}
    cards = {
        role: component(names[role]) for role in plain["components"] if role in names
    }
    plain = plain | {
        "keys": plain["keys"] | names,
        "components": plain["components"] | cards,
    }
    whole = plain | fields
    whole["numbers"] = numbers_of(whole["numbers"], whole.pop("why", None))
    return Score(**{"counted": whole["scored"], **whole})


def marked(score: Score, **marks: str) -> Score:
    """The same score, some of whose components say something of themselves, by their roles."""
    cards = {
        role: card.model_copy(update={"mark": marks.get(role)})
        for role, card in score.components.items()
    }
    return Score.model_validate(
        score.to_dict()
        | {"components": {role: card.to_dict() for role, card in cards.items()}}
    )


def genception_score(**changes: Any) -> Score:
    """GenCeption over two iterations: one category, whose values are the overall ones."""
    return score_of(plain_score("genception"), changes)


def costing(score, cost: float | None = 0.012, seconds: float | None = 4.0) -> Score:
    """The same score after two calls of a service for each of eight samples: of 1,600 tokens, and
    as dear and slow as that in all; without a cost where no call's was counted."""
    plain = {"service": True, "calls": 16, "unknown": 0, "output_tokens": 160}
    known = {"counted": 16, "priced": 0 if cost is None else 16, "most_cost": 0.5}
    role = RoleUsage(**plain, **known, input_tokens=1440, cost=cost, seconds=seconds)
    usage = ScoreUsage(samples=8, roles={"model": role})
    known = {"costs": usage.costs, "uncounted": usage.uncounted}
    return score.model_copy(update=known)


def varied(score: Score, **changes: Any) -> Score:
    """The same score with other components, by their roles, or with other inputs: ``data_digest``,
    ``records``, ``settings``, or a key of the protocol."""
    cards = {name: each for name, each in changes.items() if name in ROLES}
    inputs = {
        name: each
        for name, each in changes.items()
        if name in ("data_digest", "records", "settings")
    }
    asked = {
        name: each for name, each in changes.items() if name not in (*cards, *inputs)
    }
    protocol = score.inputs.protocol | asked
    return score.model_copy(
        update={
            "components": score.components | cards,
            "inputs": score.inputs.model_copy(update=inputs | {"protocol": protocol}),
        }
    )


def card_of(score: Score, stage: Stage) -> CollectedCard:
    """The card of a collect stage behind a score, with all of the protocol and every component but
    encoders."""
    spec = benchmark(score.benchmark)
    return CollectedCard(
        benchmark=spec.name,
        stage=stage.name,
        keys={key: score.keys[key] for key in stage.keys},
        data_digest=score.inputs.data_digest,
        components={
            role: card
            for role, card in score.components.items()
            if ROLES[role] != "encoder"
        },
        protocol=score.inputs.protocol,
    )


def write_collected(root: Path, score: Score, rows: Iterable[CollectedRecord]) -> Path:
    """Write the folder of a collect stage behind a score: its card and records."""
    stage = benchmark(score.benchmark).collects
    folder = root / stage.at(score.keys)
    write_jsonl(folder / RECORDS, rows)
    write_json(folder / CARD, card_of(score, stage))
    return folder


def write_image(path: Path, colour: tuple[int, int, int]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(png_bytes(Image.new("RGB", (40, 30), colour)))


def trac_score(
    description: str = "short", text_encoder: str = "reader", **changes: Any
) -> Score:
    """TRAC of one way to ask, read by one text encoder: better with length, worse with
    demonstrations."""
    plain = plain_score(f"trac {'shown' if description == 'shown' else 'short'}")
    plain["keys"] |= {"description": description, "text_encoder": text_encoder}
    plain["components"]["text_encoder"] = component(text_encoder)
    return score_of(plain, changes)


def trac_row(sample: str, label: str, found: str | None) -> Row:
    """A test sample, and the class that both ways to retrieve took it for; None where there was no
    description."""
    right: list[float | None] = [100.0 * (found == label)]
    if found is None:
        return row(sample, {}, outcome=Outcome.REFUSED, label=label, scored=False)
    values, told = (
        values_of("trac", {"top1": right, "class_mean": right}),
        {"top1": found, "class_mean": found},
    )
    return row(sample, values, label=label, scored=True, nearest="d0", **told)


def values_of(
    name: str, values: dict[str, list[float | None]]
) -> dict[str, list[float | None]]:
    """The values of a row of a benchmark, by the name of a number of their metric."""
    table = benchmark(name).metrics
    metrics = {key: NumberName.read(key).metric for key in values}
    return {
        metric: values[key]
        for key, metric in metrics.items()
        if metric in table.by_name and table[metric].in_rows
    }


def fidelity_score(**changes: Any) -> Score:
    """Fidelity of ``shapes``, seen by an encoder that reads no text."""
    return score_of(plain_score("fidelity"), changes)


def question_score(benchmark: str = "mm_sap", **changes: Any) -> Score:
    """A model's score on the question set ``exam``."""
    return score_of(plain_score(benchmark), changes)


# Records as a collect stage writes them, without asking anybody, and rows of scores.


def result(
    role: str, outcome: Outcome | str = Outcome.OK, text: str | None = None, **more: Any
) -> RecordedResult:
    """What a call gave."""
    return RecordedResult(
        role=role,
        key=more.pop("key", role),
        outcome=Outcome(outcome),
        text=text,
        **more,
    )


def record(
    unit: str,
    outcome: Outcome | str = Outcome.OK,
    text: str | None = None,
    step: int = 1,
    repeat: int = 0,
    **extra: Any,
) -> CollectedRecord:
    """What a model said of a unit; ``extra`` may hold ``served_model`` and ``error`` of the
    call."""
    of_call = {
        name: extra.pop(name) for name in ("served_model", "error") if name in extra
    }
    said = result("model", outcome, text, key=f"{unit} {step} {repeat}", **of_call)
    return CollectedRecord(
        unit=unit, step=step, repeat=repeat, results=[said], extra=extra
    )


def iteration(
    sample: str,
    t: int,
    text: str | None = None,
    image: str | None = None,
    outcome: Outcome | str = Outcome.OK,
    repeat: int = 0,
    image_sha256: str = "i",
    **more: Any,
) -> CollectedRecord:
    """An iteration of a chain: a description and, where there is an image, what was drawn from it.

    Args:
        more: of the drawing.
    """
    key, drawn = f"{sample} {t} {repeat}", image is not None
    results = [result("model", Outcome.OK if drawn else outcome, text, key=key)]
    if drawn:
        results.append(
            result(
                "generator",
                outcome,
                file=image,
                sha256=image_sha256,
                key=f"{key} drawn",
                **more,
            )
        )
    extra = {"parent_sha256": "p", "seed": 1}
    return CollectedRecord(
        unit=sample, step=t, repeat=repeat, results=results, extra=extra
    )


def row(
    unit: str,
    values: Mapping[str, Sequence[float | None]],
    group: str = "all",
    cluster: str | None = None,
    outcome: Outcome = Outcome.OK,
    **extra: Any,
) -> Row:
    """A row of a score; a unit is its own cluster if no other is given."""
    plain = {key: list(some) for key, some in values.items()}
    return Row(
        unit=unit,
        group=group,
        cluster=cluster or unit,
        outcome=outcome,
        values=plain,
        extra=extra,
    )

"""What one run shows in MLflow, as plain values that follow from its evidence alone."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from driftledger.benchmarks.base import ROLES, Metric, Tracked
from driftledger.benchmarks.score import Row
from driftledger.components.base import ComponentCard
from driftledger.core.canonical import canonical_json
from driftledger.core.paths import Keys
from driftledger.core.text import csv_text, for_csv, for_line
from driftledger.ledger.lineage import Evidence, Lineage

FINGERPRINT = "driftledger.fingerprint"
"""Tag of runs, and of the versions of registered models: what they are found by."""
CURRENT = "driftledger.current"
"""Tag of runs: ``true`` on those that are selected now."""
NOTE = "mlflow.note.content"
"""Tag of runs and experiments: their description, in Markdown."""

MOST_METRICS = 40
MOST_PARAMS = 40
_MAX_PARAM = 500
_MAX_TAG = 5000
_SHORT = 12
"""Digits of a digest that tell versions apart for people, and for ``driftledger audit``."""
_DIGEST = re.compile(r"\b([0-9a-f]{12})[0-9a-f]{20,}\b")
_ROLES = ("generator", "model", "encoder", "text_encoder", "judge")
"""In the order in which a run lists its components."""


class Logged(NamedTuple):
    """A value as MLflow has it, and the score that it is of."""

    name: str
    """``gc_at_5/photos``. A further score of a benchmark on the same data has in front what tells
    it from the first, since MLflow cuts names off at the end: ``words.trac_accuracy/digits``."""
    tracked: Tracked
    lineage: Lineage

    @property
    def metric(self) -> Metric | None:
        """The row of the benchmark's table."""
        return self.lineage.spec.metric(self.tracked.key)

    @property
    def title(self) -> str:
        """The number for people, with its benchmark, data and components."""
        name = self.metric.named(self.tracked.key) if self.metric else self.tracked.key
        return f"{self.lineage.spec.title} {name} · {self.lineage.place.partition('/')[2]}"

    @property
    def is_higher(self) -> bool:
        """Whether high values are the best."""
        return self.metric is None or self.metric.is_higher


def clip(text: str, limit: int) -> str:
    """``text`` in at most ``limit`` characters that every store takes."""
    # PostgreSQL takes no NUL
    text = text.encode("utf-8", "backslashreplace").decode().replace("\0", r"\x00")
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def in_table(text: str) -> str:
    """One line of a Markdown table's cell; MLflow shows no HTML of it."""
    return for_line(text).replace("|", r"\|")


def flat(prefix: str, values: Mapping[str, Any]) -> dict[str, str]:
    """``identity.weights.commit`` and the like → their values as text, without what is not set."""
    texts: dict[str, str] = {}
    for key, value in values.items():
        name = re.sub(r"[^A-Za-z0-9_. -]", "_", f"{prefix}.{key}" if prefix else key)[:250]
        if isinstance(value, dict):
            texts |= flat(name, value)
        elif value not in (None, "", []):
            text = value if isinstance(value, str) else canonical_json(value)
            texts[name] = clip(_DIGEST.sub(r"\1…", text), _MAX_PARAM)
    return texts


def digest_of(lineage: Lineage) -> str:
    """The digest of a score's data, as short as MLflow wants it."""
    return lineage.score.inputs.data_digest[:32]


def cards_of(evidence: Evidence) -> dict[str, list[ComponentCard]]:
    """Role → the components that play it in the run's scores; without those that chose examples, or
    that others are compared with."""
    cards: dict[str, dict[str, ComponentCard]] = {role: {} for role in _ROLES}
    for lineage in evidence.lineages:
        for role, card in lineage.score.components.items():
            if role not in ("example_encoder", "example_model"):
                cards.setdefault(role, {})[card.fingerprint] = card
    return {role: list(some.values()) for role, some in cards.items() if some}


def _logged_in(evidence: Evidence) -> Iterator[Logged]:
    """Yield what the benchmarks' tables track, without values at a t before the last: the curve has
    them."""
    firsts: dict[tuple[str, str], Keys] = {}
    for lineage in evidence.lineages:
        keys = lineage.score.keys
        first = firsts.setdefault((lineage.score.benchmark, lineage.score.on), keys)
        further = [value for key, value in keys.items() if first[key] != value]
        for tracked in lineage.spec.tracked(lineage.score):
            if tracked.is_earlier:
                continue
            yield Logged(
                f"{'.'.join([*further, tracked.name])}/{lineage.score.on}", tracked, lineage
            )


def metrics_of(evidence: Evidence) -> list[Logged]:
    """Return what is tracked, under at most :data:`MOST_METRICS` names; the artifacts hold
    everything.

    MLflow has columns in this order, and few fit a screen: the headline of each benchmark, its
    other values, those of further scores on the same data, curves.
    """
    headlines = headlines_of(evidence)
    ordered = sorted(
        _logged_in(evidence),
        key=lambda each: (each.tracked.step > 0, "." in each.name, each not in headlines),
    )
    names = list(dict.fromkeys(each.name for each in ordered))[:MOST_METRICS]
    return [each for each in ordered if each.name in names]


def headlines_of(evidence: Evidence) -> list[Logged]:
    """Of each score the first number that it tracks."""
    first = [each for each in _logged_in(evidence) if each.tracked.step == 0 and each.metric]
    return list({each.lineage.place: each for each in reversed(first)}.values())[::-1]


def params_of(evidence: Evidence) -> dict[str, str]:
    """Names, versions, digests and settings, the first :data:`MOST_PARAMS` of them; long texts are
    in an artifact."""
    cards = cards_of(evidence)
    params = {role: ", ".join(card.name for card in some) for role, some in cards.items()}
    params |= {
        f"{role}_version": ", ".join(card.fingerprint[:_SHORT] for card in some)
        for role, some in cards.items()
    }
    params |= {
        f"data.{lineage.score.on}": digest_of(lineage)[:_SHORT] for lineage in evidence.lineages
    }
    if evidence.lineages:
        params["seed"] = str(evidence.lineages[0].score.inputs.settings["seed"])
    for role, some in cards.items():
        params |= {f"{role}.provider": some[0].provider, f"{role}.code_version": some[0].version}
    for role, some in cards.items():
        settings = flat(role, some[0].settings) | flat(f"{role}.identity", some[0].identity)
        params |= {key: value for key, value in settings.items() if len(value) < _MAX_PARAM}
    return dict(list(params.items())[:MOST_PARAMS])


def tags_of(evidence: Evidence) -> dict[str, str]:
    """The tags of a run that do not depend on other runs."""
    code = evidence.code
    tags = {
        FINGERPRINT: evidence.fingerprint,
        NOTE: _note(evidence),
        "git.commit": code.commit or "none",
        "git.dirty": str(code.dirty).lower(),
        "mlflow.runType": "genai_evaluate",  # lists it under "Evaluation runs"
        "mlflow.source.name": "driftledger track",
        "mlflow.source.type": "LOCAL",
    }
    if code.commit:
        tags |= {"mlflow.source.git.commit": code.commit}
    tags |= {
        f"{role}.fingerprint": ", ".join(card.fingerprint for card in some)
        for role, some in cards_of(evidence).items()
    }
    flags = [
        f"{each.place}: {for_line(flag)}"
        for each in evidence.lineages
        for flag in each.spec.flags_of(each.score)
    ]
    if flags:
        tags |= {"driftledger.flags": "; ".join(flags)}
    return {key: clip(value, _MAX_TAG) for key, value in tags.items()}


def artifacts_of(evidence: Evidence, rows: Mapping[str, Sequence[Row]]) -> dict[str, bytes]:
    """Path → bytes of the run's files.

    Args:
        rows: of each score, by its place.
    """
    scores = {each.place: each.score for each in evidence.lineages}
    return {
        "scores.json": _json(
            {place: score.model_dump(mode="json") for place, score in scores.items()}
        ),
        "rows.csv": rows_csv(evidence.lineages, rows).encode(),
    }


def rows_csv(lineages: Sequence[Lineage], rows: Mapping[str, Sequence[Row]]) -> str:
    """All rows as one table: the score, the unit, its values, and what is noted about it."""
    table = []
    for lineage in lineages:
        widths = dict[str, int]()
        for row in rows[lineage.place]:
            widths |= {
                key: max(len(values), widths.get(key, 0)) for key, values in row.values.items()
            }
        for row in rows[lineage.place]:
            cells = {
                "benchmark": lineage.score.benchmark,
                "dataset": lineage.score.on,
                "score": lineage.place,
            }
            cells |= {
                "unit": for_csv(row.unit),
                "group": for_csv(row.group),
                "outcome": row.outcome.value,
            }
            for key, values in row.values.items():
                for number, value in enumerate(values, 1):
                    # as MME's 'score'
                    name = f"{key} {number}" if widths[key] > 1 or key in cells else key
                    cells[name] = "" if value is None else f"{value:.6f}"
            for key, value in row.extra.items():
                text = (
                    value if isinstance(value, str) else "" if value is None else json.dumps(value)
                )
                cells[f"{key} (text)" if key in widths else key] = for_csv(text)
            table.append(cells)
    head = list(dict.fromkeys(key for cells in table for key in cells))
    return csv_text(head, ([cells.get(key, "") for key in head] for cells in table))


def _json(value: object) -> bytes:
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode(
        "utf-8", "backslashreplace"
    )


def _note(evidence: Evidence) -> str:
    """The run's description: the headlines, what made them, and how to ask for more."""
    lines = ["| score | value | scored |", "|---|---|---|"]
    for each in headlines_of(evidence):
        score = each.lineage.score
        lines.append(
            f"| {in_table(each.title)} | {each.tracked.value:.4g} | {score.scored} of "
            f"{score.total} |"
        )
    lines += ["", "| | version | made with |", "|---|---|---|"]
    for role, cards in cards_of(evidence).items():
        for card in cards:
            identity = (
                ", ".join(f"{key} {value}" for key, value in flat("", card.identity).items())
                or card.provider
            )
            version = (
                f"[{card.name}@{card.fingerprint[:_SHORT]}](#/models/{ROLES[role]}.{card.name})"
            )
            lines.append(
                f"| {role.replace('_', ' ')} | {version} | {in_table(clip(identity, 300))} |"
            )
    lines += [
        f"| data | {on} | `{digest}` |"
        for on, digest in {each.score.on: digest_of(each) for each in evidence.lineages}.items()
    ]
    commit = evidence.code.commit
    dirty = evidence.code.dirty
    state = (
        ("with uncommitted changes" if dirty else "as committed")
        if commit
        else dirty and "Git could not be read"
    )
    lines += [f"| code | `{(commit or 'no commit')[:_SHORT]}` | {state or ''} |", ""]
    flags = dict.fromkeys(
        flag for each in evidence.lineages for flag in each.spec.flags_of(each.score)
    )
    lines += [f"- {in_table(flag)}" for flag in flags]
    return "\n".join(
        [
            *lines,
            "",
            f"Where a number comes from: `driftledger audit {evidence.fingerprint[:_SHORT]}`",
        ]
    )

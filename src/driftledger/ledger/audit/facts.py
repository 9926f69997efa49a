"""What a score file says about itself, in whatever format it was once written.

History and MLflow hold score files of earlier versions of this program. What they name, the components above all, is
found by its shape, so that the question "which scores did this version touch" reaches back to the first one.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError

from driftledger.core.paths import Combination, Layout
from driftledger.ledger.lineage import Selected, steps_behind

SCORES = "reports/scores"

_HEADLINES = {
    "trac": ("top1",),
    "fidelity": ("clip_s", "clip_s_i", "image_similarity", "ssim"),
    "mm_sap": ("score",),
    "mm_vet": ("total",),
    "mme": ("score",),
}
"""Benchmark → its headline: of several, the first that the score has."""

_ROLES = {"by": "model"}
"""Key of a component in a score file → its role, where the key is not the role."""


class _Lenient(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Version(_Lenient):
    """A component version, and the role it had."""

    role: str
    name: str
    fingerprint: str
    settings: dict[str, Any]
    identity: dict[str, Any]


class ScoreFacts(_Lenient):
    """What one score is of, and what it was made with."""

    benchmark: str
    on: str
    """The dataset or question set."""
    digest: str
    """Of the dataset or question set, as it says itself."""
    model: str
    generator: str | None = None
    encoder: str | None = None
    description: str | None = None
    headline: str
    value: FiniteFloat | None
    versions: list[Version]
    served: dict[str, list[str]]
    """Role → what services said they were."""

    @property
    def path(self) -> str:
        """Where such a score stands, relative to the top folder."""
        if self.benchmark == "trac":
            return f"{SCORES}/trac/{self.on}/{self.model}/{self.description}/{self.encoder}.json"
        if self.benchmark in ("genception", "fidelity"):
            return f"{SCORES}/{self.benchmark}/{self.on}/{self.model}/{self.generator}/{self.encoder}.json"
        return f"{SCORES}/questions/{self.on}/{self.model}.json"


def facts_of(score: bytes | Mapping[str, Any]) -> ScoreFacts | None:
    """The facts in a score file's bytes or content; None if it is no score file."""
    try:
        content = json.loads(score, parse_constant=_refuse) if isinstance(score, bytes) else score
        inputs = content["inputs"]
        versions = [each for each in _versions(inputs) if each["role"] in ("model", "generator", "encoder", "judge")]
        headline, value = _headline(content)
        return ScoreFacts.model_validate(
            {
                **content,
                "on": content.get("dataset") or content["question_set"],
                "digest": inputs.get("dataset_digest") or inputs["question_set_digest"],
                "headline": headline,
                "value": value,
                "versions": versions,
                "served": {role: sorted(said) for role, said in (content.get("served") or {}).items()},
            }
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, ValidationError):
        return None


def _headline(content: Mapping[str, Any]) -> tuple[str, Any]:
    metrics, benchmark = content["metrics"], content["benchmark"]
    names = _HEADLINES.get(benchmark) or (f"gc_at_{content['inputs']['chain']['iterations']}",)
    name = next((name for name in names if name in metrics), names[0])
    return name, metrics.get(name)


def _versions(value: Any, key: str = "") -> Iterator[dict[str, Any]]:
    """Every component card below ``value``, with its role: whoever has a name, a fingerprint, settings, an identity."""
    if isinstance(value, dict):
        if {"name", "fingerprint", "settings", "identity"} <= value.keys():
            yield {**value, "role": _ROLES.get(key, key)}
        else:
            for name, each in value.items():
                yield from _versions(each, name)


def selection_of(path: str) -> tuple[Selected, Combination] | None:
    """The selection whose only score stands at ``path``, relative to the top folder; None if no score stands there."""
    names = _names(path)
    match names:
        case ["genception", on, model, generator, encoder]:
            return Selected(genception=[on]), Combination(model, generator, encoder)
        case ["fidelity", on, model, generator, encoder]:
            return Selected(fidelity=[on]), Combination(model, generator, encoder)
        case ["trac", on, model, description, encoder]:
            chosen = Selected(trac=[on], descriptions=[description], text_encoders=[encoder])
            return chosen, Combination(model, "", encoder)
        case ["questions", on, model]:
            return Selected(question_sets=[on]), Combination(model, "", "")
    return None


def stages_behind(path: str) -> dict[str, str]:
    """Stage → the output that leads on, from the data to the score at ``path``; empty if no score stands there.

    >>> stages_behind("reports/scores/questions/exam/seer.json")["answer@exam-seer"]
    'data/answers/exam/seer'
    """
    selection = selection_of(path)
    ways = steps_behind(Layout(Path()), *selection) if selection else ()
    return {stage: place.as_posix() for steps in ways for stage, place in steps.items()}


def folders_behind(path: str, outs: Mapping[str, str]) -> dict[str, str]:
    """Folder → MD5 of what the score at ``path`` was made of, going by ``outs``: every output's MD5 by its path."""
    return {place: outs[place] for place in stages_behind(path).values() if place in outs and place != path}


def _names(path: str) -> list[str]:
    pure = PurePosixPath(path)
    inside = pure.suffix == ".json" and pure.is_relative_to(SCORES)
    return [*pure.relative_to(SCORES).parts[:-1], pure.stem] if inside else []


def _refuse(number: str) -> None:
    raise ValueError(f"{number} is no JSON")

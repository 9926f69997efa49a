"""Assessments in MLflow that driftledger's scorers made, with the versions that they carry.

What is in a store may be anybody's: versions are read as records are, and each must have the
fingerprint of its settings.
"""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from driftledger.components.base import Component, ComponentCard
from driftledger.core.canonical import Json, canonical_json, sha256_of
from driftledger.core.errors import LedgerError, StoreError
from driftledger.core.files import parse_json
from driftledger.project.project import Project
from driftledger.project.settings import Tracking
from driftledger.tracking.store import VARIABLE, all_pages, opened

ID = re.compile("(a|tr)-[0-9a-f]{32}")
"""The id of an assessment or a trace."""
_ROLES = ("generator", "encoder")
_SPEC = {"provider", "version", "settings", "identity"}


def metadata_of(components: Mapping[str, Component]) -> dict[str, str]:
    """Return what an assessment carries of each component: name, fingerprint and card."""
    metadata = dict[str, str]()
    for name, component in components.items():
        role = component.kind
        metadata[role] = name
        metadata[f"{role}_version"] = component.fingerprint
        card = ComponentCard.of(name, component)
        metadata[f"{role}_card"] = canonical_json(card.to_dict())
    return metadata


def cards_of(metadata: Mapping[str, str]) -> Iterator[tuple[str, ComponentCard]]:
    """Yield the components that an assessment carries, with their roles.

    Raises:
        LedgerError: one is damaged or forged.
    """
    for role in _ROLES:
        if text := metadata.get(f"{role}_card"):
            try:
                card = parse_json(text.encode(), ComponentCard, f"its {role}")
            except StoreError as error:
                raise LedgerError(f"the assessment cannot be read: {error}") from None
            spec = card.model_dump(include=_SPEC)
            if card.fingerprint != sha256_of(spec):
                raise LedgerError(
                    f"the assessment is forged: the fingerprint of its {role} is not that of the "
                    "settings beside it"
                )
            yield role, card


def assessed(project: Project, target: str) -> list[Json]:
    """Return the assessment of that id, or all of the trace of that id, that our scorers made.

    Raises:
        LedgerError: there is none, the store cannot be used, or only a checkout of others names it.
    """
    uri = os.environ.get(VARIABLE)
    if uri is None and not project.own_code:
        raise LedgerError(
            f"{target} is of MLflow: set {VARIABLE} to its store, or add --trust for the one that "
            "params.yaml names"
        )
    if uri is None:
        tracking = project.settings.tracking
    else:
        tracking = Tracking(uri=uri, experiment="-", traces="none")
    with opened(tracking, create=False) as client:
        ids = [each.experiment_id for each in client.search_experiments()]
        # MLflow finds no assessment by its id
        traces = all_pages(
            client.search_traces, locations=ids, max_results=500, include_spans=False
        )
    answers = list[Json]()
    for trace in traces:
        for each in trace.info.assessments:
            if target in (each.trace_id, each.assessment_id):
                answers += _answer(each)
    if not answers:
        raise LedgerError(
            f"MLflow has no assessment by a scorer of driftledger's at {target}"
        )
    return answers


def _answer(assessment: Any) -> Iterator[Json]:
    metadata = assessment.metadata or {}
    if cards := dict(cards_of(metadata)):
        error = assessment.error
        yield {
            "assessment": assessment.assessment_id,
            "trace": assessment.trace_id,
            "name": assessment.name,
            "value": assessment.value,
            "error": error and f"{error.error_code}: {error.error_message}",
            "rationale": assessment.rationale,
            "served": metadata.get("served"),
            "call": metadata.get("call"),
            "components": {role: card.to_dict() for role, card in cards.items()},
        }

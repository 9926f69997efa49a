"""Assessments of MLflow's traces that driftledger's scorers made, and the versions that they carry.

What stands in a store of MLflow's may be anybody's: versions are read as records are, and each must
have the fingerprint of its settings.
"""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from driftledger.components.base import Component, ComponentCard
from driftledger.core.canonical import canonical_json, sha256_of
from driftledger.core.errors import LedgerError, StoreError
from driftledger.core.files import parse_json
from driftledger.project.settings import Tracking
from driftledger.tracking.store import opened

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Feedback

ID = re.compile("(a|tr)-[0-9a-f]{32}")
"""The id of an assessment or a trace."""
ROLES = ("generator", "encoder")
_CARD = "{}_card"
_MOST_TRACES = 100_000
_PAGE = 500


def metadata_of(components: Mapping[str, tuple[str, Component]]) -> dict[str, str]:
    """Return what an assessment carries: of each component its name, fingerprint and card."""
    metadata = {}
    for role, (name, component) in components.items():
        card = ComponentCard.of(name, component)
        metadata[role] = name
        metadata[f"{role}_version"] = card.fingerprint
        metadata[_CARD.format(role)] = canonical_json(card.to_dict())
    return metadata


def cards_of(feedback: "Feedback") -> dict[str, ComponentCard]:
    """Return the components that an assessment carries, by role.

    Raises:
        LedgerError: one is damaged or forged.
    """
    cards = {}
    for role in ROLES:
        text = (feedback.metadata or {}).get(_CARD.format(role))
        if text is None:
            continue
        try:
            card = parse_json(text.encode(), ComponentCard, f"its {role}")
        except StoreError as error:
            raise LedgerError(f"the assessment is not whole: {error}") from None
        spec = card.to_dict()
        parts = ("provider", "version", "settings", "identity")
        if card.fingerprint != sha256_of({part: spec[part] for part in parts}):
            raise LedgerError(
                f"the assessment is not whole: the fingerprint of its {role} is not that of the "
                "settings beside it"
            )
        cards[role] = card
    return cards


def find_feedback(tracking: Tracking, target: str) -> "list[Feedback]":
    """Return the assessment of that id, or all of the trace of that id, that our scorers made.

    Raises:
        LedgerError: there is none, or the store cannot be used.
    """
    with opened(tracking, create=False) as client:
        for trace in _traces(client):
            if target in (trace.info.trace_id, *map(_id, trace.info.assessments)):
                break
        else:
            raise LedgerError(
                f"{target}: MLflow's store has no such trace or assessment"
            )
    feedbacks = []
    for each in trace.info.assessments:
        is_ours = any(_CARD.format(role) in (each.metadata or {}) for role in ROLES)
        if is_ours and target in (trace.info.trace_id, each.assessment_id):
            feedbacks.append(each)
    if not feedbacks:
        raise LedgerError(f"{target}: no scorer of driftledger's made it")
    return sorted(feedbacks, key=lambda each: (each.name, each.create_time_ms))


def _id(assessment: Any) -> str:
    return str(assessment.assessment_id)


def _traces(client: "MlflowClient") -> Iterator[Any]:
    """Yield the traces of all experiments, the newest first; MLflow finds no assessment by its id."""
    ids = [each.experiment_id for each in client.search_experiments()]
    token = None
    for _ in range(_MOST_TRACES // _PAGE):
        page = client.search_traces(
            locations=ids, max_results=_PAGE, include_spans=False, page_token=token
        )
        yield from page
        token = page.token
        if not token:
            return

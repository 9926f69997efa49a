"""The components behind runs as versions of registered models, so that MLflow says which version made a score."""

import json
from typing import TYPE_CHECKING

from driftledger.benchmarks.base import Kind
from driftledger.components.card import ComponentCard
from driftledger.tracking.content import FINGERPRINT, flat
from driftledger.tracking.store import all_pages

if TYPE_CHECKING:
    from mlflow import MlflowClient

_SOURCE = "models:/"


class Versions:
    """The versions of one experiment's components; each is looked up once.

    A version's source is a logged model of MLflow, the only one that any server accepts and that needs no files.
    """

    def __init__(self, client: "MlflowClient", experiment_id: str) -> None:
        self._client = client
        self._experiment_id = experiment_id
        self._model_ids: dict[tuple[Kind, str], str] = {}

    def model_id(self, kind: Kind, card: ComponentCard) -> str:
        """The logged model behind the registered version with the component's fingerprint, made where it is missing."""
        key = kind, card.fingerprint
        if key not in self._model_ids:
            same = f"name = '{kind}.{card.name}' AND tags.`{FINGERPRINT}` = '{card.fingerprint}'"
            versions = all_pages(self._client.search_model_versions, same)
            first = min(versions, key=lambda version: int(version.version), default=None)
            self._model_ids[key] = first.source.removeprefix(_SOURCE) if first else self._create(kind, card)
        return self._model_ids[key]

    def _create(self, kind: Kind, card: ComponentCard) -> str:
        from mlflow.entities import LoggedModelStatus
        from mlflow.exceptions import MlflowException

        name, client = f"{kind}.{card.name}", self._client
        params = {"provider": card.provider, "version": card.version} | flat("", card.settings)
        tags = {FINGERPRINT: card.fingerprint} | flat("identity", card.identity)
        same = f"name = '{card.name}' AND tags.`{FINGERPRINT}` = '{card.fingerprint}'"
        begun = client.search_logged_models([self._experiment_id], filter_string=same)
        model = next((each for each in begun if each.model_type == kind), None)  # of a push that was cut short
        if model is None:
            model = client.create_logged_model(
                self._experiment_id, card.name, tags=tags, params=params, model_type=kind
            )
        client.finalize_logged_model(model.model_id, LoggedModelStatus.READY)
        try:
            client.create_registered_model(name, description=f"The {kind} `{card.name}`, a version per fingerprint.")
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
        version = client.create_model_version(
            name,
            f"{_SOURCE}{model.model_id}",
            tags=tags,
            description=f"Which scores it made: `driftledger audit --{kind} {card.name}@{card.fingerprint[:12]}`",
            model_id=model.model_id,
            await_creation_for=0,
        )
        registered = [{"name": name, "version": int(version.version)}]  # leads from a run's page to the version
        client.set_logged_model_tags(model.model_id, {"mlflow.modelVersions": json.dumps(registered)})
        return str(model.model_id)

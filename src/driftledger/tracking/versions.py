"""Component versions in MLflow: a logged model per fingerprint, and a registered version that points at it."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager

import mlflow
from mlflow import MlflowClient
from mlflow.entities import LoggedModel, LoggedModelStatus
from mlflow.exceptions import MlflowException

from driftledger.tracking.content import FINGERPRINT, ComponentVersion
from driftledger.tracking.text import MAX_PARAM, MAX_TAG, clipped

ALIAS = "current"
_IS_EXTERNAL = {"mlflow.model.isExternal": "true"}
"""What MLflow's own ``create_external_model`` sets: the weights are not in this store."""

_VERSIONS_OF_MODEL = "mlflow.modelVersions"
"""Tag by which MLflow's pages lead from a logged model to its registered version."""


class Versions:
    """The component versions of one experiment. Everything is looked up by fingerprint before it is made."""

    def __init__(self, client: MlflowClient, tracking_uri: str, experiment_id: str) -> None:
        self._client = client
        self._tracking_uri = tracking_uri
        self._experiment_id = experiment_id
        self._model_ids: dict[str, str] = {}

    def publish(self, component: ComponentVersion) -> str:
        """Make the logged model and the registered version where they are missing; return the model's id."""
        if component.fingerprint not in self._model_ids:
            model = self._logged_model(component)
            version = self._registered_version(component, model.model_id)
            if _VERSIONS_OF_MODEL not in model.tags:  # a server sets it too, a database does not
                held = [{"name": registered_name(component), "version": version}]
                self._client.set_logged_model_tags(model.model_id, {_VERSIONS_OF_MODEL: json.dumps(held)})
            self._model_ids[component.fingerprint] = str(model.model_id)
        return self._model_ids[component.fingerprint]

    def use(self, component: ComponentVersion) -> None:
        """Let the alias ``current`` of the registered model name this version."""
        name = registered_name(component)
        try:
            held = self._client.get_model_version_by_alias(name, ALIAS).tags.get(FINGERPRINT)
        except MlflowException as error:
            _expect(error, "RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE")  # no such model, no such alias
            held = None
        if held != component.fingerprint:
            version = self._registered_version(component, self.publish(component))
            self._client.set_registered_model_alias(name, ALIAS, str(version))

    def _logged_model(self, component: ComponentVersion) -> LoggedModel:
        found = self._client.search_logged_models(
            [self._experiment_id],
            filter_string=f"tags.`{FINGERPRINT}` = '{component.fingerprint}'",
            order_by=[{"field_name": "creation_timestamp", "ascending": True}],
        )
        model = (
            found[0]
            if found
            else self._client.create_logged_model(
                self._experiment_id,
                component.name,
                tags=_IS_EXTERNAL | _tags(component),
                params=clipped(component.params, MAX_PARAM),
                model_type=component.kind,
            )
        )
        if model.status != LoggedModelStatus.READY:
            self._client.finalize_logged_model(model.model_id, LoggedModelStatus.READY)
        return model

    def _registered_version(self, component: ComponentVersion, model_id: str) -> int:
        name = registered_name(component)
        found = [
            int(version.version)
            for version in self._client.search_model_versions(f"name = '{name}'")
            if version.tags.get(FINGERPRINT) == component.fingerprint
        ]
        if found:
            return min(found)
        try:
            self._client.create_registered_model(name)
        except MlflowException as error:
            _expect(error, "RESOURCE_ALREADY_EXISTS")
        with _global_uri(self._tracking_uri):
            made = self._client.create_model_version(
                name, f"models:/{model_id}", tags=_tags(component), model_id=model_id, await_creation_for=0
            )
        return int(made.version)


def registered_name(component: ComponentVersion) -> str:
    """For instance ``generator.painter``."""
    return f"{component.kind}.{component.name}"


def _tags(component: ComponentVersion) -> dict[str, str]:
    return clipped(component.tags, MAX_TAG) | {FINGERPRINT: component.fingerprint}


def _expect(error: MlflowException, *codes: str) -> None:
    if error.error_code not in codes:
        raise error


@contextmanager
def _global_uri(tracking_uri: str) -> Iterator[None]:
    """MLflow looks the logged model behind a database-registered version up at the global address only."""
    held = mlflow.get_tracking_uri() if mlflow.is_tracking_uri_set() else None  # type: ignore[no-untyped-call]
    environment = os.environ.get("MLFLOW_TRACKING_URI")
    mlflow.set_tracking_uri(tracking_uri)
    try:
        yield
    finally:
        mlflow.set_tracking_uri(held)  # type: ignore[arg-type]  # None puts the default back
        if environment is None:
            os.environ.pop("MLFLOW_TRACKING_URI", None)
        else:
            os.environ["MLFLOW_TRACKING_URI"] = environment

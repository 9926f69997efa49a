"""Component versions in MLflow: a logged model per fingerprint, and a registered version that points at it.

MLflow's page of a logged model lists the runs whose metrics are linked to it, and a run's page its model inputs: that
is how MLflow answers which runs used a version. The registry gathers the versions of a name.
"""

import json
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

import mlflow
from mlflow import MlflowClient
from mlflow.entities import LoggedModel, LoggedModelStatus
from mlflow.entities.model_registry import ModelVersion
from mlflow.exceptions import MlflowException

from driftledger.core.canonical import canonical_json, sha256_of
from driftledger.tracking import connection
from driftledger.tracking.content import FINGERPRINT, MAX_PARAM, NOTE, ComponentVersion, clipped

ALIAS = "current"
SERVED = "served"
"""Tag of logged models and registered versions: a JSON list of all that the service ever said it was."""

MAX_SERVED = 50
"""A service that calls itself something else at every call would fill the tag."""

_AND_MORE = "…"
_MAX_TAG = 5000
_IS_EXTERNAL = {"mlflow.model.isExternal": "true"}
"""What MLflow's own ``create_external_model`` sets: the weights are not in this store."""

VERSIONS_OF_MODEL = "mlflow.modelVersions"
"""Tag by which MLflow's pages lead from a logged model to its registered version."""


def shown_as(experiment_id: str) -> str:
    """Tag of registered versions: their logged model in this experiment, and a digest of all that is written to it.

    MLflow gives no logged model without all metrics of all runs that are linked to it: one that is complete is known by
    this tag, and is not asked for.
    """
    return f"driftledger.shown_as.{experiment_id}"


class Versions:
    """The component versions of one experiment. Everything is looked up by fingerprint before it is made."""

    def __init__(self, client: MlflowClient, tracking_uri: str, experiment_id: str) -> None:
        self._client = client
        self._tracking_uri = tracking_uri
        self._experiment_id = experiment_id
        self._models: dict[str, LoggedModel] = {}
        self._versions: dict[str, ModelVersion] = {}
        """Both by the component's key, with tags that are kept up with what is written."""
        self.doubled = False
        """Whether something was seen that is there twice."""

    def publish(self, component: ComponentVersion) -> str:
        """Make the logged model and the registered version where they are missing; return the model's id.

        What an earlier version of this program left out is added: tags, descriptions, what services said they were.
        """
        key, mark, digest = component.key, shown_as(self._experiment_id), _digest(component)
        version = self._versions.get(key) or self._known(component)
        if version is not None:
            self._versions[key] = version
            model_id, _, of = version.tags.get(mark, "").partition(" ")
            if of == digest:
                return model_id
        if key not in self._models:
            self._models[key] = self._logged_model(component)
            self._versions[key] = self._registered_version(component, version, self._models[key].model_id)
        model, version = self._models[key], self._versions[key]
        self._complete(model, version, component)
        self._tag_version(version, mark, f"{model.model_id} {digest}")
        return model.model_id

    def use(self, component: ComponentVersion) -> None:
        """Let the alias ``current`` of the registered model name this version, where it has been published."""
        name = component.registered_name
        try:
            held = self._client.get_model_version_by_alias(name, ALIAS).tags.get(FINGERPRINT)
        except MlflowException as error:
            _expect(error, "RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE")  # no such model, no such alias
            held = None
        if held != component.fingerprint and (version := self._known(component)):
            self._client.set_registered_model_alias(name, ALIAS, str(version.version))

    def _complete(self, model: LoggedModel, version: ModelVersion, component: ComponentVersion) -> None:
        registered = registered_as(component.registered_name, version.version)
        wanted = _tags(component)
        on_model = wanted | {NOTE: component.description, VERSIONS_OF_MODEL: registered}
        if lacking := _lacking(model.tags, on_model, component.served):
            self._client.set_logged_model_tags(model.model_id, lacking)
            model.tags.update(lacking)
        for key, value in _lacking(version.tags, wanted, component.served).items():
            self._tag_version(version, key, value)

    def _tag_version(self, version: ModelVersion, key: str, value: str) -> None:
        self._client.set_model_version_tag(version.name, str(version.version), key, value)
        version.tags[key] = value

    def _logged_model(self, component: ComponentVersion) -> LoggedModel:
        found = connection.all_pages(
            self._client.search_logged_models,
            [self._experiment_id],
            filter_string=f"name = '{component.name}' AND tags.`{FINGERPRINT}` = '{component.fingerprint}'",
            order_by=[{"field_name": "creation_timestamp", "ascending": True}],
        )
        same = [model for model in found if model.model_type == component.kind]
        self.doubled |= len(same) > 1
        model = same[0] if same else None
        if model is None:
            model = self._client.create_logged_model(
                self._experiment_id,
                component.name,
                tags=_IS_EXTERNAL | _lacking({}, _tags(component) | {NOTE: component.description}, component.served),
                params=clipped(component.params, MAX_PARAM),
                model_type=component.kind,
            )
        if model.status != LoggedModelStatus.READY:
            self._client.finalize_logged_model(model.model_id, LoggedModelStatus.READY)
        return model

    def _known(self, component: ComponentVersion) -> ModelVersion | None:
        """The registered version with this fingerprint; of several, the first."""
        same = f"name = '{component.registered_name}' AND tags.`{FINGERPRINT}` = '{component.fingerprint}'"
        found = connection.all_pages(self._client.search_model_versions, same)
        self.doubled |= len(found) > 1
        return min(found, key=lambda each: int(each.version), default=None)

    def _registered_version(
        self, component: ComponentVersion, version: ModelVersion | None, model_id: str
    ) -> ModelVersion:
        name = component.registered_name
        if version is None:
            return self._first_of(component, self._new_version(component, model_id))
        if component.description and not version.description:
            self._registered_model(component)  # before the version's, which says that both are done
            self._client.update_model_version(name, version.version, component.description)
        return version

    def _new_version(self, component: ComponentVersion, model_id: str) -> ModelVersion:
        self._registered_model(component)
        with _global_uri(self._tracking_uri):
            return self._client.create_model_version(
                component.registered_name,
                f"models:/{model_id}",
                tags=_lacking({}, _tags(component), component.served),
                description=component.description,
                model_id=model_id,
                await_creation_for=0,
            )

    def _first_of(self, component: ComponentVersion, made: ModelVersion) -> ModelVersion:
        """Versions are the whole registry's, and another experiment's writer may have made one of this component at the
        same time: the database numbers them one after the other, so that all agree which was first."""
        first = self._known(component) or made
        if int(first.version) == int(made.version):
            return made
        self._client.delete_model_version(component.registered_name, str(made.version))
        return first

    def _registered_model(self, component: ComponentVersion) -> None:
        name, description = component.registered_name, _about(component)
        try:
            self._client.create_registered_model(name, description=description)
        except MlflowException as error:
            _expect(error, "RESOURCE_ALREADY_EXISTS")
            if not self._client.get_registered_model(name).description:
                self._client.update_registered_model(name, description)


def _about(component: ComponentVersion) -> str:
    return (
        f"The {component.kind} `{component.name}`, a version per fingerprint: whatever can change what comes out makes "
        f"another. The alias `{ALIAS}` names the version that is at work in what is selected now."
    )


def _tags(component: ComponentVersion) -> dict[str, str]:
    return clipped(component.tags, _MAX_TAG) | {FINGERPRINT: component.fingerprint}


def _digest(component: ComponentVersion) -> str:
    """Of all that is written to its logged model when that is there already."""
    return sha256_of([_tags(component), component.description, sorted(component.served)])


def _lacking(held: Mapping[str, str], wanted: Mapping[str, str], served: Collection[str]) -> dict[str, str]:
    """Of the wanted tags those that are not there; what is there stays, except that :data:`SERVED` grows."""
    lacking = {key: value for key, value in wanted.items() if value and key not in held}
    said = served_together(held, served)
    return lacking | ({SERVED: said} if served and said != held.get(SERVED) else {})


def registered_as(name: str, version: str | int) -> str:
    """The value of :data:`VERSIONS_OF_MODEL`."""
    return canonical_json([{"name": name, "version": int(version)}])


def served_in(tags: Mapping[str, str]) -> set[str]:
    """What the tag :data:`SERVED` holds."""
    try:
        return {str(each) for each in json.loads(tags.get(SERVED, "[]"))}
    except (ValueError, TypeError):  # someone wrote something else there
        return set()


def served_together(tags: Mapping[str, str], new: Collection[str]) -> str:
    """The tag with ``new`` in it: sorted, and cut where it is too long, so that the order of pushes does not matter."""
    known = served_in(tags) | set(new)
    names = sorted(known - {_AND_MORE})
    more = [_AND_MORE] if _AND_MORE in known or len(names) > MAX_SERVED else []
    return canonical_json(names[:MAX_SERVED] + more)


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

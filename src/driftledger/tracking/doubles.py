"""Component versions that stand in MLflow twice, as two clones leave them that are tracked to one server at once."""

from collections import defaultdict
from collections.abc import Iterator

from mlflow import MlflowClient, entities
from mlflow.entities import LoggedModel
from mlflow.entities.model_registry import ModelVersion

from driftledger.tracking import connection
from driftledger.tracking.content import FINGERPRINT, METRICS_AGAIN_PER_CALL
from driftledger.tracking.versions import (
    SERVED,
    VERSIONS_OF_MODEL,
    registered_as,
    served_in,
    served_together,
    shown_as,
)

_GONE = "RESOURCE_DOES_NOT_EXIST"
"""Versions are the whole registry's: the writer of another experiment may merge them at the same time."""


class Doubles:
    """The logged models of an experiment and the registered versions of the same components, by component key.

    Of several the first registered version stays, and the logged model behind it.
    """

    def __init__(self, client: MlflowClient, experiment_id: str) -> None:
        self._client = client
        self._experiment_id = experiment_id
        self.models: dict[str, list[LoggedModel]] = defaultdict(list)
        self.versions: dict[str, list[ModelVersion]] = defaultdict(list)
        order = [{"field_name": "creation_timestamp", "ascending": True}]
        for model in connection.all_pages(client.search_logged_models, [experiment_id], order_by=order):
            if fingerprint := model.tags.get(FINGERPRINT):
                self.models[f"{model.model_type}.{model.name}@{fingerprint}"].append(model)
        self._mark = shown_as(experiment_id)
        self._marked = list[ModelVersion]()
        for version in connection.all_pages(client.search_model_versions):
            if self._mark in version.tags:
                self._marked.append(version)
            if (key := f"{version.name}@{version.tags.get(FINGERPRINT)}") in self.models:
                self.versions[key].append(version)
        for key, some in self.versions.items():
            some.sort(key=lambda version: int(version.version))
            self.models[key].sort(key=lambda model: model.model_id != some[0].model_id)
        self.key_of = {model.model_id: key for key, some in self.models.items() for model in some}

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """What stands there twice, and which it is."""
        for key, models in self.models.items():
            yield from ((f"logged model {key}", model.model_id) for model in models[1:])
        for key, versions in self.versions.items():
            yield from ((f"registered version {key}", f"version {version.version}") for version in versions[1:])

    def merge(self) -> int:
        """Let one of each stay, with the links and aliases of all; return how many went.

        What is moved is moved before its double is deleted: after a kill, the next call does the rest. First of all,
        versions no longer say that they are shown as what goes here, or what somebody has deleted.
        """
        kept_models = {some[0].model_id for some in self.models.values()}
        for version in self._marked:
            if version.tags[self._mark].partition(" ")[0] not in kept_models:
                with connection.tolerating(_GONE):
                    self._client.delete_model_version_tag(version.name, version.version, self._mark)
        for key, versions in self.versions.items():
            for double in versions[1:]:
                self._merge_version(versions[0], double)
            if versions[1:]:
                tags = {VERSIONS_OF_MODEL: registered_as(versions[0].name, versions[0].version)}
                self._client.set_logged_model_tags(self.models[key][0].model_id, tags)
        self._move_links({each.model_id: some[0].model_id for some in self.models.values() for each in some[1:]})
        for kept, *doubles in self.models.values():
            for each in doubles:
                self._merge_model(kept, each)
        return len(list(self))

    def _merge_version(self, kept: ModelVersion, double: ModelVersion) -> None:
        with connection.tolerating(_GONE):
            whole = self._client.get_model_version(double.name, double.version)  # searching leaves aliases out
            for alias in whole.aliases:
                self._client.set_registered_model_alias(double.name, alias, kept.version)
        if served := served_in(double.tags):
            kept.tags[SERVED] = served_together(kept.tags, served)
            self._client.set_model_version_tag(kept.name, kept.version, SERVED, kept.tags[SERVED])
        with connection.tolerating(
            _GONE
        ):  # versions are the whole registry's: another experiment's writer merges them too
            self._client.delete_model_version(double.name, double.version)

    def _merge_model(self, kept: LoggedModel, double: LoggedModel) -> None:
        rows = defaultdict[str, list[entities.Metric]](list)
        for row in double.metrics or []:
            own = entities.Metric(
                row.key,
                row.value,
                row.timestamp,
                row.step,
                model_id=kept.model_id,
                dataset_name=row.dataset_name,
                dataset_digest=row.dataset_digest,
            )
            rows[str(row.run_id)].append(own)
        for run_id in rows.keys() & self._active:
            for start in range(0, len(rows[run_id]), METRICS_AGAIN_PER_CALL):
                some = rows[run_id][start : start + METRICS_AGAIN_PER_CALL]
                self._client.log_batch(run_id, metrics=some, synchronous=True)
        if served := served_in(double.tags):
            kept.tags[SERVED] = served_together(kept.tags, served)
            self._client.set_logged_model_tags(kept.model_id, {SERVED: kept.tags[SERVED]})
        self._client.delete_logged_model(double.model_id)

    def _move_links(self, kept: dict[str, str]) -> None:
        """Let each run that is linked to a double be linked to what stays."""
        self._active = set[str]()
        if not kept:
            return
        for run in connection.all_pages(self._client.search_runs, [self._experiment_id]):
            self._active.add(run.info.run_id)
            inputs = self._client.get_run(run.info.run_id).inputs  # searching leaves them out
            linked = {each.model_id for each in inputs.model_inputs} if inputs else set()
            if new := {kept[each] for each in linked if each in kept} - linked:
                self._client.log_inputs(run.info.run_id, models=[entities.LoggedModelInput(each) for each in new])

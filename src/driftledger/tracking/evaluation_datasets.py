"""What runs were asked, as MLflow's page *Datasets* shows it: a dataset per name and digest, a record per sample or
question."""

import json
from typing import Any

from mlflow import MlflowClient

from driftledger.tracking.content import DatasetInput

_PER_CALL = 500
"""Records: a server takes 1 MB per call."""


class EvaluationDatasets:
    """The datasets of one experiment, known by their names, which hold their digests."""

    def __init__(self, client: MlflowClient, experiment_id: str) -> None:
        self._client = client
        self._experiment_id = experiment_id
        self._published: set[str] = set()

    def publish(self, dataset: DatasetInput) -> None:
        """Make the dataset where it is missing; MLflow itself knows a record with the same inputs again."""
        name = f"{dataset.name}@{dataset.digest[:12]}"
        if name in self._published or not (records := dataset.records()):
            return
        tags = {"dvc.path": dataset.source, "dvc.md5": dataset.digest}
        held = self._client.search_datasets([self._experiment_id], f"name = '{name}'", max_results=1)
        made = held[0] if held else self._client.create_dataset(name, self._experiment_id, tags)
        if json.loads(made.profile or "{}").get("num_records") != len(records):
            store: Any = self._client._tracking_client.store  # a dataset's own method asks the global address
            for start in range(0, len(records), _PER_CALL):
                store.upsert_dataset_records(made.dataset_id, records[start : start + _PER_CALL])
        self._published.add(name)

"""Log the data of a training run, and load the same bytes again, on any machine with a clone."""

import mlflow

from driftledger.mlflow import dvc_dataset

with mlflow.start_run() as run:
    mlflow.log_input(dvc_dataset("data/train"), context="training")
    # … train on data/train

[data] = mlflow.get_run(run.info.run_id).inputs.dataset_inputs
print(mlflow.data.get_source(data).load())

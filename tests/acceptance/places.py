"""Every name of driftledger that a planned change may move: the one place to follow it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "golden"

ALWAYS = {"resolve", "track"}
"""The stages that may run though nothing changed: ``track`` does in a clone, whose MLflow is empty.
"""

RUN = "regions_fine/painter/layout"
"""The run of the README, as commands name it: model, generator, encoder."""

CLI = "driftledger.cli:app"
STABLE = {
    "driftledger": "evaluate open model generator encoder",
    "driftledger.commands.evaluate": "FirstLook",
    "driftledger.notebook": "Chains",
    "driftledger.mlflow": "Redrawn Fidelity Distinctive dvc_dataset DVCDatasetSource",
    "driftledger.components.base": "Model Generator Encoder",
    "driftledger.components.contract": "check_component",
    "driftledger.core.canonical": "sha256_of",
    "driftledger.core.media": "png_bytes",
    "driftledger.core.types": "Conversation Turn Result Outcome Sample",
    "driftledger.data.build": "build build_questions",
    "driftledger.data.datasets.base": "DatasetProvider SourceItem",
    "driftledger.data.question_sets.base": "QuestionProvider SourceQuestion",
    "driftledger.benchmarks.base.benchmark": "Benchmark Metric Rule Input",
    "driftledger.benchmarks.base.one_call": "OneCallPerSample",
    "driftledger.benchmarks.registry": "question_rules",
    "driftledger.benchmarks.base.settings": "Section",
    "driftledger.metrics": "drift frechet retrieval self_awareness yes_no "
    "structural ranks correlation ratings changes paired intervals",
}
"""What people's code may name: the reference, and what ``driftledger new`` writes imports: module →
names in it."""

FOREIGN_BENCHMARK = "tests.words.spec:Words"
"""The class that the entry point of the benchmark in tests/words names."""

STAGES_RUN = re.compile(r"Running stage '(?:[\w/]+/dvc\.yaml:)?([^':]+)'")
"""What ``dvc repro`` prints of each stage that it runs."""


def files(top: Path, name: str) -> Iterator[Path]:
    """Yield the project's files of this name, outside of hidden folders and of MLflow's."""
    for path in sorted(top.rglob(name)):
        folders = path.relative_to(top).parts[:-1]
        if not any(part.startswith((".", "mlartifacts")) for part in folders):
            yield path


def score_files(top: Path) -> Iterator[Path]:
    return files(top, "score.json")


def record_files(top: Path) -> Iterator[Path]:
    return files(top, "records.jsonl")


def images_of(records: Path) -> list[Path]:
    """Return the images that belong to a records file."""
    return sorted(
        path
        for path in records.parent.rglob("*")
        if path.suffix in {".png", ".jpg", ".webp"}
    )


def dataset_images(top: Path) -> list[Path]:
    """Return the images of the built datasets."""
    drawn = {path for records in record_files(top) for path in images_of(records)}
    return [path for path in files(top / "data", "*.png") if path not in drawn]


def texts_of(record: dict[str, Any]) -> list[list[str]]:
    """Return what components wrote in a record, as pairs of the unit and the text."""
    return [
        [record["unit"], each["text"]]
        for each in record["results"]
        if each.get("text") is not None
    ]

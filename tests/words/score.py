"""From descriptions to their mean number of words."""

from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard
from driftledger.benchmarks.score import Inputs, Row, Score
from driftledger.benchmarks.scoring import Scored, ToScore
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import CoverageError
from driftledger.core.files import read_json, read_jsonl
from driftledger.data.records import ONE_CATEGORY, DatasetCard
from driftledger.metrics.exact import exact_mean
from tests.words.records import WordsRecord


def score(given: ToScore) -> Scored:
    """Score a folder of descriptions."""
    told = given.folders["tell"]
    about = read_json(told / CARD, CollectedCard)
    records = read_jsonl(told / RECORDS, WordsRecord)
    rows = [
        Row(
            unit=record.sample,
            group=ONE_CATEGORY,
            cluster=record.sample,
            outcome=record.outcome,
            values={"words": [float(len(record.text.split()))]} if record.text else {},
        )
        for record in records
    ]
    counts = [value for row in rows for value in row.values.get("words", []) if value is not None]
    if len(counts) < given.min_coverage * len(rows) or not counts:
        raise CoverageError(f"only {len(counts)} of {len(rows)} samples were described")
    score = Score(
        benchmark="words",
        keys=dict(given.keys),
        components=about.components,
        metrics={"words": exact_mean(counts)},
        scored=len(counts),
        total=len(rows),
        coverage=len(counts) / len(rows),
        inputs=Inputs(
            data_digest=read_json(given.folders["dataset"] / "dataset.json", DatasetCard).digest,
            records={"tell": sha256_file(told / RECORDS)},
            protocol=about.protocol,
            settings=given.scoring.model_dump(mode="json"),
        ),
    )
    return Scored(score, rows)

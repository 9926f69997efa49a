"""What readers are shown of the judge beside the grades: which mistakes it makes, and the total without them."""

from collections.abc import Iterator

from driftledger.benchmarks.base import Benchmark, SideBySide, Table
from driftledger.benchmarks.mm_vet.records import ALPHA, CORRECTED, SENSITIVITY, SPECIFICITY
from driftledger.benchmarks.tables import best_first, column, title_of

_COLUMNS = ("total", CORRECTED, SENSITIVITY, SPECIFICITY, ALPHA)
_NOTE = (
    "The corrected total is what a judge without mistakes would give (Rogan and Gladen). Its interval counts that the "
    "judge's mistakes are known from {answers} calibration answers alone: it is narrower only with more of them. These "
    "are clear-cut, so that a judge makes more mistakes on a model's answers."
)


def judge_tables(spec: Benchmark, block: SideBySide) -> Iterator[Table]:
    """A row per model; no table of scores from before there was anything to show."""
    there = [score for score in block.scores if any(key in score.metrics for key in _COLUMNS[1:])]
    if not there:
        return
    by_model = {score.model: score for score in there}
    ordered = [by_model[name] for name in best_first({score.model: score.metrics.get("total") for score in there})]
    metrics = {key: metric for key in _COLUMNS if (metric := spec.metric(key)) is not None}
    answers = sorted({sum(not item["forged"] for item in score.details.get("calibration", ())) for score in there})
    yield Table(
        "the judge as an instrument; in brackets the interval",
        ["", *(title_of(key, metric) for key, metric in metrics.items())],
        list(
            zip(
                (score.model for score in ordered),
                *(column(ordered, key, metric, block) for key, metric in metrics.items()),
                strict=True,
            )
        ),
        [_NOTE.format(answers=" or ".join(map(str, answers)))],
        [score.coverage for score in ordered],
        name="judge",
    )

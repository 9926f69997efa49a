"""Stages of a benchmark, each with the folder that it writes."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """A step from the data to a score, with a folder for each value of its keys.

    Several of these folders lie in one output of DVC: ``dvc.yaml`` has one stage for all data, and
    two for each model.
    """

    name: str
    keys: tuple[str, ...]
    path: str
    """Template of the folder that it writes, relative to the top folder."""
    version: int = 1
    """Raise it with each change of what the stage writes, so that it runs again."""
    settings: tuple[str, ...] = ()
    """Keys of the benchmark's section that shape what it writes."""
    judged: bool = False
    """Whether ``run.judge`` is asked."""
    holds: tuple[str, ...] = ()
    """Names that ``extra`` of each of its records has to hold."""
    beside: tuple[str, ...] = ()
    """Settings that name files of the user, which go into a score: ``ratings``."""

    def at(self, keys: Mapping[str, str]) -> str:
        """Return the folder of these keys, relative to the top folder."""
        return self.path.format_map(keys)

    def out(self, keys: Mapping[str, str]) -> str:
        """Return the output in ``dvc.yaml`` that the folder belongs to.

        >>> stage = Stage("chain", ("model", "dataset"), "data/records/{model}/chains/{dataset}")
        >>> stage.out({"model": "m"})
        'data/records/m'
        """
        head, model, _ = self.path.partition("{model}")
        return (head + model).format_map(keys) if model else head.rpartition("/{")[0]

    def lock(self, keys: Mapping[str, str]) -> str:
        """Return its name in ``dvc.lock``: ``data``, ``collect@<model>``, ``score@<model>``."""
        if "{model}" not in self.path:
            return "data"
        return (
            f"{'score' if self.path.startswith(SCORES) else 'collect'}@{keys['model']}"
        )


SCORES = "reports/scores"
RECORDS_OF = "data/records/{model}"
"""The outputs of the stages that score and that collect; the second is a template."""

DATASET = Stage("dataset", ("dataset",), "data/datasets/{dataset}")
QUESTION_SET = Stage("question_set", ("question_set",), "data/questions/{question_set}")
"""The two stages that benchmarks start from."""


def score_stage(
    name: str,
    keys: tuple[str, ...],
    *settings: str,
    beside: tuple[str, ...] = (),
    version: int = 1,
) -> Stage:
    """Return the stage that scores a benchmark.

    It depends on these settings of the section, and on those that every section has.
    """
    places = [f"{{{key}}}" for key in keys if key != "model"]
    path = "/".join([SCORES, "{model}", name, *places])
    settings = ("min_coverage", "unread", "confidence", *settings, *beside)
    return Stage(name, keys, path, version, settings=settings, beside=beside)

"""What GenCeption and fidelity share: the records of describing and drawing."""

from collections.abc import Mapping, Sequence
from typing import Any

from driftledger_check.compute.encoders import Picture
from driftledger_check.compute.found import Sample, text, text_or_none, whole
from driftledger_check.compute.means import mean
from driftledger_check.files import Folder

MOST_ITERATIONS = 100


class Chains:
    """Every iteration of every sample."""

    def __init__(self, folder: Folder) -> None:
        self.folder = folder
        self.records = folder.rows("records.jsonl")
        self.last = {text(each, "sample"): each for each in self.records}
        """Sample → its last record."""
        self.drawn = {
            (text(each, "sample"), step_of(each)): Picture.of(folder, text(each, "image"))
            for each in self.records
            if each["image"] is not None
        }

    @property
    def words(self) -> dict[str, float]:
        counts = [len(said.split()) for each in self.records if (said := text_or_none(each, "description")) is not None]
        return {"words": mean(counts)} if counts else {}


def step_of(record: Mapping[str, Any]) -> int:
    return whole(record["t"], 1, 10**6)


def originals(data: Folder, samples: Sequence[Sample]) -> list[Picture]:
    return [Picture.of(data, sample.file) for sample in samples]

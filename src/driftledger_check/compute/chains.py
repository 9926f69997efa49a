"""What GenCeption and fidelity share: the records of describing and drawing."""

from driftledger_check.compute import given
from driftledger_check.compute.encoders import Picture
from driftledger_check.compute.found import Found
from driftledger_check.compute.means import mean
from driftledger_check.files import Folder


class Chains:
    """Every iteration of every sample."""

    def __init__(self, folder: Folder, found: Found) -> None:
        self.folder, self.records = folder, folder.rows("records.jsonl")
        self.last = {given.text(each, "sample"): each for each in self.records}
        """Sample → its last record."""
        drawn = [each for each in self.records if each["image"] is not None]
        self.drawn = {place_of(each): Picture.of(folder, given.text(each, "image")) for each in drawn}
        """(Sample, t) → what was drawn."""
        told = [given.text_or_none(each, "description") for each in self.records]
        words = [float(len(description.split())) for description in told if description is not None]
        found.put(["metrics"], {"words": mean(words)} if words else {})
        found.served("model", self.records, "served_model", "system_fingerprint")
        found.served("generator", drawn, "served_generator", "generator_system_fingerprint")


def place_of(record: given.Row) -> tuple[str, int]:
    """Sample and t."""
    return given.text(record, "sample"), given.whole(record["t"], 1, 10**6)

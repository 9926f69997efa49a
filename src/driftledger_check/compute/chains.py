"""What GenCeption and fidelity share: the records of describing and drawing."""

import statistics
from collections.abc import Mapping, Sequence

from driftledger_check.compute import given
from driftledger_check.compute.encoders import Picture
from driftledger_check.compute.found import Found
from driftledger_check.compute.means import mean
from driftledger_check.files import Folder

MOST_REPEATS = 1000


class Chains:
    """Every iteration of every sample, of one repeat or of all."""

    def __init__(self, folder: Folder, records: Sequence[given.Row]) -> None:
        self.folder, self.records = folder, records
        self.last = {given.text(each, "sample"): each for each in self.records}
        """Sample → its last record; of one repeat."""
        drawn = [each for each in self.records if each["image"] is not None]
        self.drawn = {place_of(each): Picture.of(folder, given.text(each, "image")) for each in drawn}
        """(Sample, t) → what was drawn; of one repeat."""

    @property
    def words(self) -> dict[str, float]:
        """The mean length of the descriptions."""
        told = [given.text_or_none(each, "description") for each in self.records]
        words = [float(len(description.split())) for description in told if description is not None]
        return {"words": mean(words)} if words else {}


def read_chains(folder: Folder, found: Found) -> list[Chains]:
    """Those of each repeat; what is told of all of them is put among what is found."""
    every, protocol = folder.rows("records.jsonl"), given.mapping(folder.json("components.json")["protocol"])
    repeats = given.whole(protocol.get("repeats", 1), 1, MOST_REPEATS)
    found.put(["metrics"], Chains(folder, every).words)
    found.served("model", every, "served_model", "system_fingerprint")
    drawn = [each for each in every if each["image"] is not None]
    found.served("generator", drawn, "served_generator", "generator_system_fingerprint")
    return [Chains(folder, [each for each in every if repeat_of(each) == repeat]) for repeat in range(repeats)]


def put_repeats(found: Found, repeats: Sequence[Mapping[str, float]]) -> None:
    """The metrics of each of several repeats alone, and their deviation over these."""
    if len(repeats) < 2:
        return
    found.put(["groups", "repeat"], {str(place): each for place, each in enumerate(repeats)})
    for key in repeats[0].keys() - {"images"}:
        if ("metrics", key) in found.numbers and all(key in each for each in repeats):
            found.put(["metrics"], {f"{key}_std": statistics.pstdev([each[key] for each in repeats])})


def ended(outcomes: Sequence[str]) -> str:
    """How a sample ended: the first of its repeats that was not as it should be."""
    return next((each for each in outcomes if each != "ok"), "ok")


def repeat_of(record: given.Row) -> int:
    """Which of its sample's chains it belongs to; the first one is not written out."""
    return given.whole(record.get("repeat", 0), 0, 10**6)


def place_of(record: given.Row) -> tuple[str, int]:
    """Sample and t."""
    return given.text(record, "sample"), given.whole(record["t"], 1, 10**6)

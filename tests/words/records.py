"""The records of words."""

from driftledger.benchmarks.records import CollectedRecord


class WordsRecord(CollectedRecord):
    """What a model said of a sample."""

    sample: str
    text: str | None = None

    @property
    def unit(self) -> str:
        return self.sample

    @property
    def place(self) -> str:
        return f"sample {self.sample}"

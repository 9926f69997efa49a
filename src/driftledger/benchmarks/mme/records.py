"""What an answer to a question of MME is read as."""

from driftledger.benchmarks._questions.records import GradeRecord


class YesNoRecord(GradeRecord):
    """Whether an answer says yes or no."""

    answer: bool | None = None
    """True for yes."""

    @property
    def read(self) -> bool | None:
        return self.answer

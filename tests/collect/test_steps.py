"""Protocols that are walked side by side come as far as each by itself."""

from collections.abc import Sequence

from driftledger.collect.call_result import Context, Result
from driftledger.collect.steps import Call, Draw, Steps, walk, walk_together
from driftledger.core.types import Outcome
from tests.support.fakes import SizeGenerator

PAINTER = SizeGenerator()


def counting(name: str, calls: int) -> Steps[str]:
    """A protocol that asks so often, each time with what came before."""
    said = name
    for t in range(calls):
        result = yield Draw(PAINTER, said, t, Context("photos", name, t))
        said = result.text or ""
    return said


def answered(call: Call) -> Result | None:
    assert isinstance(call, Draw)
    return None if call.prompt == "c0" else Result(Outcome.OK, text=f"{call.prompt}{call.seed}")


def test_side_by_side_is_as_one_by_one() -> None:
    asked = list[list[str]]()

    def answers(calls: Sequence[Call]) -> list[Result | None]:
        asked.append([call.context.sample for call in calls])
        return [answered(call) for call in calls]

    lengths = {"a": 2, "b": 0, "c": 3, "d": 1}
    together = walk_together([counting(name, calls) for name, calls in lengths.items()], answers)
    assert together == [walk(counting(name, calls), answered) for name, calls in lengths.items()]
    assert [each.known for each in together] == [2, 0, 1, 1]
    assert [each.returned for each in together] == ["a01", "b", None, "d0"]
    assert asked[:2] == [["a", "c", "d"], ["a", "c"]]
    assert walk_together([], answers) == []

import pytest

from driftledger.core import errors
from driftledger.core.errors import DriftledgerError, unknown_name


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    said = unknown_name("setting", "batchsize", ["seed", "batch_size"])
    assert said == "setting 'batchsize' is unknown; did you mean 'batch_size'? valid: batch_size, seed"


def test_without_a_near_name_only_the_valid_ones_are_listed() -> None:
    assert unknown_name("model", "zzz", ["b", "a"]) == "model 'zzz' is unknown; valid: a, b"
    assert unknown_name("model", "zzz", []) == "model 'zzz' is unknown; valid: (none)"


def test_a_name_with_a_newline_stays_on_one_line() -> None:
    assert "\n" not in unknown_name("model", "a\nb\x1b[31m", ["a"])
    assert "\x1b" not in unknown_name("model", "a\nb\x1b[31m", ["a"])


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    classes = {
        name: cls for name, cls in vars(errors).items() if isinstance(cls, type) and issubclass(cls, DriftledgerError)
    }
    assert errors.__doc__ is not None
    for name, cls in classes.items():
        line = next(line for line in errors.__doc__.splitlines() if f"{name} " in line)
        depth = (len(line) - len(line.lstrip(" │├└─"))) // 4 - 1
        assert depth == len([above for above in cls.__mro__ if above in classes.values()]) - 1, name


@pytest.mark.parametrize("bug", [ValueError, KeyError, RuntimeError])
def test_bugs_are_not_in_the_tree(bug: type[Exception]) -> None:
    assert not issubclass(DriftledgerError, bug)

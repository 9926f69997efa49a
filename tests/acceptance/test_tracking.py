"""MLflow shows what the snapshot in ``golden/`` says, and is made again from the project's files alone."""

import json
from collections.abc import Iterator
from typing import Any

from tests.acceptance.checkout import Checkout
from tests.acceptance.numbers import differences, shorten
from tests.acceptance.snapshot import FILE, snapshot


def _leaves(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(each, f"{name} | {key}")
    else:
        yield name, value


def _wrong(golden: dict[str, Any], now: dict[str, Any]) -> list[str]:
    sides = [dict(_leaves(each)) for each in (golden, now)]
    numbers = [{name: value for name, value in side.items() if isinstance(value, float)} for side in sides]
    texts = [{name: value for name, value in side.items() if not isinstance(value, float)} for side in sides]
    assert numbers[0], "the golden snapshot holds no metric"
    missing = [f"{name}: {texts[1].get(name)!r}, golden {value!r}" for name, value in texts[0].items()]
    return [
        *differences(*numbers),
        *(line for line, (name, value) in zip(missing, texts[0].items(), strict=True) if texts[1].get(name) != value),
        *(f"not in golden: {name}" for name in texts[1].keys() - texts[0].keys()),
    ]


def test_a_deleted_store_is_made_again_as_the_golden_snapshot_has_it(evaluated_copy: Checkout) -> None:
    assert not (evaluated_copy.root / "mlflow.db").exists()
    evaluated_copy.driftledger("track")
    wrong = _wrong(json.loads(FILE.read_bytes()), snapshot(evaluated_copy.root / "mlflow.db"))
    assert not wrong, shorten(wrong)


def test_the_store_that_a_run_leaves_holds_the_same(small: Checkout, tmp_path: Any) -> None:
    first = snapshot(small.root / "mlflow.db")
    assert len(first["runs"]) == 2
    copied = small.copy(tmp_path)
    copied.driftledger("track")
    assert snapshot(copied.root / "mlflow.db") == first
    copied.driftledger("track")
    assert snapshot(copied.root / "mlflow.db") == first

"""What a year of changes leaves behind: every version has its run, and every run still verifies."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Checkout, draw

pytestmark = pytest.mark.slow

RUN = "regions_medium/painter/layout"


def fingerprint(checkout: Checkout) -> str:
    found: str = json.loads(checkout.run("driftledger", "audit", RUN, "--json").stdout)["fingerprint"]
    return found


def ledger(checkout: Checkout) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (checkout.root / "ledger.jsonl").read_text(encoding="utf-8").splitlines()]


def created(output: str) -> int:
    found = re.search(r"(\d+) runs created", output)
    assert found is not None
    return int(found[1])


def first_line(checkout: Checkout, *arguments: str) -> str:
    return checkout.run("driftledger", "verify", *arguments).stdout.splitlines()[0]


def other_size(params: dict[str, Any]) -> None:
    params["generators"]["painter"]["longest_side"] = 128


def first_size(params: dict[str, Any]) -> None:
    params["generators"]["painter"]["longest_side"] = 256


def test_a_changed_generator_is_a_new_run_and_the_old_one_still_verifies(checkout: Checkout) -> None:
    assert created(checkout.run("dvc", "repro").stdout) == 1
    checkout.commit("first size")
    first = fingerprint(checkout)
    assert "all holds" in first_line(checkout, RUN, "--regenerate", "5")

    checkout.params(other_size)
    assert created(checkout.run("dvc", "repro").stdout) == 1
    checkout.commit("other size")
    second = fingerprint(checkout)
    assert second != first
    assert "all holds" in first_line(checkout, RUN)
    assert "all holds" in first_line(checkout, first)  # from DVC's cache and Git history
    assert [line["fingerprint"] for line in ledger(checkout)] == [first, second]
    touched = json.loads(checkout.run("driftledger", "audit", "--generator", "painter", "--json").stdout)
    assert {run for row in touched["scores"] for run in row["runs"]} == {first, second}

    checkout.params(first_size)
    assert created(checkout.run("dvc", "repro").stdout) == 0
    checkout.commit("back")
    assert fingerprint(checkout) == first
    assert len(ledger(checkout)) == 2
    assert "all holds" in first_line(checkout, second)
    assert "all holds" in first_line(checkout, "--ledger")


def test_an_image_replaced_under_its_name_is_another_version_of_the_dataset(evaluated: Checkout) -> None:
    evaluated.commit("first images")
    first = fingerprint(evaluated)
    draw(evaluated.root / "my_images" / "round" / "1.png", 11)
    evaluated.run("dvc", "repro")
    evaluated.commit("another image")
    assert fingerprint(evaluated) != first
    assert "all holds" in first_line(evaluated, first)
    said = evaluated.run("driftledger", "diff", "HEAD~1").stdout
    assert "round_1" in said
    compared = evaluated.run("driftledger", "compare", first, RUN).stdout
    assert "not ranked" in compared


def test_a_clone_with_only_the_remote_audits_and_verifies(evaluated: Checkout, tmp_path: Path) -> None:
    evaluated.run("dvc", "remote", "add", "--default", "here", str(tmp_path / "remote"))
    evaluated.commit("a remote")
    evaluated.run("dvc", "push")
    other = Checkout.__new__(Checkout)
    other.root, other.env = tmp_path / "clone", evaluated.env
    evaluated.run("git", "clone", "--quiet", str(evaluated.root), str(other.root))
    shutil.rmtree(evaluated.root / ".dvc" / "cache")
    assert "all holds" in first_line(other, RUN)
    said = other.run("driftledger", "audit", RUN).stdout
    assert "from Git and DVC: " in said
    assert "MLflow was not asked" in said

"""What a year of changes leaves behind: every version has its run, and every run still verifies."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REPRO, Checkout, draw

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


def verdict(checkout: Checkout, *arguments: str) -> str:
    done = checkout.run("driftledger", "verify", *arguments, check=False)
    verdict, whose = done.stdout.splitlines()[-2:]
    assert (done.returncode == 0) == ("all holds" in verdict)
    assert whose.startswith("ledger: by this clone's history back to commit ")
    return verdict


def other_size(params: dict[str, Any]) -> None:
    params["generators"]["painter"]["longest_side"] = 128


def first_size(params: dict[str, Any]) -> None:
    params["generators"]["painter"]["longest_side"] = 256


def test_a_changed_generator_is_a_new_run_and_the_old_one_still_verifies(evaluated: Checkout) -> None:
    assert created(evaluated.run(*REPRO).stdout) == 1
    evaluated.commit("first size")
    first = fingerprint(evaluated)
    assert "all holds" in verdict(evaluated, RUN, "--regenerate", "5")

    evaluated.params(other_size)
    assert created(evaluated.run(*REPRO).stdout) == 1
    evaluated.commit("other size")
    second = fingerprint(evaluated)
    assert second != first
    assert "all holds" in verdict(evaluated, RUN)
    assert "all holds" in verdict(evaluated, first)  # from DVC's cache and Git history
    assert [line["fingerprint"] for line in ledger(evaluated)] == [first, second]
    touched = json.loads(evaluated.run("driftledger", "audit", "--generator", "painter", "--json").stdout)
    assert {run for row in touched["scores"] for run in row["runs"]} == {first, second}

    evaluated.params(first_size)
    assert created(evaluated.run(*REPRO).stdout) == 0
    evaluated.commit("back")
    assert fingerprint(evaluated) == first
    assert len(ledger(evaluated)) == 2
    assert "all holds" in verdict(evaluated, second)
    assert "all holds" in verdict(evaluated, "--ledger")


def test_an_image_replaced_under_its_name_is_another_version_of_the_dataset(published: Checkout) -> None:
    published.commit("first images")
    first = fingerprint(published)
    draw(published.root / "my_images" / "round" / "1.png", 11)
    published.run(*REPRO)
    published.commit("another image")
    assert fingerprint(published) != first
    assert "all holds" in verdict(published, first)
    compared = published.run("driftledger", "compare", first, RUN).stdout
    assert "not comparable" in compared


def test_a_clone_with_only_the_remote_audits_and_verifies(published: Checkout, tmp_path: Path) -> None:
    published.run("dvc", "remote", "add", "--default", "here", str(tmp_path / "remote"))
    published.commit("a remote")
    published.run("dvc", "push")
    other = Checkout(tmp_path / "clone", published.state)
    published.run("git", "clone", "--quiet", str(published.root), str(other.root))
    shutil.rmtree(published.root / ".dvc" / "cache")
    assert "all holds" not in verdict(other, RUN)
    assert "all holds" in verdict(other, RUN, "--trust")
    said = other.run("driftledger", "audit", RUN, "--full").stdout
    assert "from Git and DVC: " in said
    assert "MLflow was not asked" in said

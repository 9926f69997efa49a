"""What MLflow shows of chains beside numbers."""

import csv
import io
from pathlib import Path

from driftledger.benchmarks.base import Artifacts
from driftledger.benchmarks.genception.spec import GenCeption
from driftledger.collect.call import CallKey
from driftledger.core.types import Conversation, ImageFile
from driftledger.ledger.lineage import read_evidence
from tests.support.ledgers import COMBINATION, SELECTED, component, write_ledger
from tests.support.tables import HOSTILE


def artifacts(root: Path) -> Artifacts:
    [lineage] = read_evidence(root, SELECTED, COMBINATION).lineages
    return lineage.spec.artifacts(lineage, root)


def table(made: Artifacts, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(made[name]().decode(), newline="")))


def test_descriptions_are_a_table(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    made = artifacts(tmp_path)
    said = table(made, "descriptions.csv")
    assert [(each["sample"], each["t"], each["description"]) for each in said] == [
        (sample, t, "a disc") for sample in ("disc", "ring") for t in ("1", "2")
    ]


def test_hostile_text_is_inert_in_tables(tmp_path: Path) -> None:
    write_ledger(tmp_path, category=HOSTILE, said=HOSTILE)
    made = artifacts(tmp_path)
    cells = [cell for each in table(made, "descriptions.csv") for cell in each.values()]
    assert any("cmd()" in cell for cell in cells)
    assert not [cell for cell in cells if cell.startswith(("=", "+", "@", "\t", "\r")) or "\x1b" in cell]


def test_the_calls_behind_a_score_are_known_by_their_keys(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    [lineage] = read_evidence(tmp_path, SELECTED, COMBINATION).lineages
    calls = GenCeption().costs(lineage, tmp_path)
    asked = Conversation.ask("Describe it.", ImageFile(Path(), "a" * 64))
    described = CallKey.of_conversation(component("seer").fingerprint, "describe", asked, {}).digest
    assert list(calls["describe"]) == [described] * 4
    drawn = [CallKey.of_prompt(component("brush").fingerprint, "Draw: a disc", seed, {}).digest for seed in (1, 2)]
    assert list(calls["generate"]) == drawn * 2

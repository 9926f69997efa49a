"""What MLflow shows of descriptions beside numbers, and what is unfair to compare."""

import csv
import io
from collections.abc import Mapping
from pathlib import Path

from driftledger.benchmarks.base import Artifacts
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.trac.records import DescriptionRecord
from driftledger.benchmarks.trac.spec import Trac
from driftledger.collect.call import CallKey
from driftledger.core.types import Conversation, ImageFile, Outcome
from driftledger.ledger.lineage import Lineage, read_evidence
from tests.support.description_ledgers import TRAC, add_trac, trac_score
from tests.support.ledgers import COMBINATION, component, selected, varied
from tests.support.tables import HOSTILE


def lineages(root: Path) -> dict[tuple[str, str], Lineage]:
    found = read_evidence(root, selected(*TRAC), COMBINATION).lineages
    return {(each.score.keys["description"], each.score.keys["text_encoder"]): each for each in found}


def artifacts(root: Path, description: str, reader: str) -> Artifacts:
    lineage = lineages(root)[description, reader]
    return lineage.spec.artifacts(lineage, root)


def table(made: Artifacts, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(made[name]().decode(), newline="")))


def test_every_description_is_in_a_table_with_what_it_was_taken_for(tmp_path: Path) -> None:
    add_trac(tmp_path)
    rows = table(artifacts(tmp_path, "short", "reader"), "descriptions.csv")
    told = [(row["sample"], row["split"], row["max_tokens"], row["taken for"], row["names"]) for row in rows]
    assert told == [
        ("d0", "support", "32", "", ""),
        ("d1", "test", "32", "seven", "its class"),
        ("d0", "support", "64", "", ""),
        ("d1", "test", "64", "", ""),
    ]
    assert {row["label"] for row in rows} == {"seven"}
    assert (rows[1]["by class mean"], rows[1]["nearest"], rows[1]["description"]) == ("seven", "d0", "a hook")
    shown = table(artifacts(tmp_path, "shown", "counter"), "descriptions.csv")
    assert [row["shots"] for row in shown if row["taken for"]] == ["2"]
    assert shown[-1]["demonstrations"] == "d0 d0"


def test_hostile_text_is_inert_in_tables(tmp_path: Path) -> None:
    add_trac(tmp_path, said=HOSTILE, label=HOSTILE)
    [lineage] = read_evidence(tmp_path, selected(TRAC[0]), COMBINATION).lineages
    made = lineage.spec.artifacts(lineage, tmp_path)
    cells = [cell for name in made for row in table(made, name) for cell in row.values()]
    assert sum("cmd()" in cell for cell in cells) >= 2
    assert not [cell for cell in cells if cell.startswith(("=", "+", "@", "\t", "\r")) or "\x1b" in cell]


def test_the_calls_without_examples_are_known_by_their_keys(tmp_path: Path) -> None:
    add_trac(tmp_path)

    def key(sample: str, max_tokens: int | None) -> str:
        asked = Conversation.ask("Describe the digit.", ImageFile(Path(), sample * 32), max_tokens=max_tokens)
        return CallKey.of_conversation(component("seer").fingerprint, "describe", asked, {}).digest

    short, shown = (lineages(tmp_path)[name, "reader"] for name in ("short", "shown"))
    assert Trac().costs(short, tmp_path) == {"describe": [key(d, n) for n in (32, 64) for d in ("d0", "d1")]}
    assert Trac().costs(shown, tmp_path) == {"describe": [key(d, None) for d in ("d0", "d1")]}


def test_facts_are_of_the_headline() -> None:
    spec = benchmark("trac")
    short, shown = spec.facts(trac_score("short")), spec.facts(trac_score("shown"))
    assert short == {"prompt": "Describe the digit.", "seed": 7, "length": 32}
    assert shown["length"] is None
    cards = {"example_encoder": component("eye").fingerprint, "example_model": component("narrator").fingerprint}
    assert shown["examples"] == {"choose": "similar_image", "shots": 2, **cards}
    other = spec.facts(varied(trac_score("shown"), example_encoder=component("ear")))
    assert other["examples"] != shown["examples"]
    named = {rule.fact for rule in spec.unfair}
    assert named == {"prompt", "prefix", "length", "examples", "text_encoder"}


def test_examples_must_be_samples_of_the_dataset() -> None:
    def record(*shown: str) -> DescriptionRecord:
        fixed = {"sample": "a", "split": "test", "outcome": Outcome.OK, "max_tokens": 30}
        return DescriptionRecord.model_validate(fixed | {"shots": len(shown), "demonstrations": shown})

    def problems(parents: Mapping[str, str], *shown: str) -> list[tuple[str, str]]:
        return list(map(tuple, Trac().links("describe", [record(*shown)], None, parents)))  # type: ignore[arg-type]

    images = {"a": "1", "b": "2"}
    assert problems(images, "b") == []
    assert problems(images, "b", "gone") == [("sample a, l30, 2-shot", "its example gone is no sample of the dataset")]
    assert problems({}, "gone") == [], "nothing is known of the dataset"

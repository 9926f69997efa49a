"""What MLflow shows of redrawings beside numbers, what is unfair to compare, and what depends on what."""

import csv
import io
from pathlib import Path

import pytest

from driftledger.benchmarks.base import Artifacts, Input
from driftledger.benchmarks.fidelity.spec import Fidelity
from driftledger.benchmarks.genception.spec import GenCeption
from driftledger.collect.call import CallKey
from driftledger.core.registry import provider_class, providers
from driftledger.core.types import Conversation, ImageFile
from driftledger.ledger.compare import differing
from driftledger.ledger.lineage import Lineage, read_evidence
from tests.support.description_ledgers import FIDELITY, add_fidelity
from tests.support.ledgers import COMBINATION, component, selected, varied, write_ledger
from tests.support.tables import HOSTILE


def lineage_of(root: Path) -> Lineage:
    [lineage] = read_evidence(root, selected(*FIDELITY), COMBINATION).lineages
    return lineage


def artifacts(root: Path) -> Artifacts:
    lineage = lineage_of(root)
    return lineage.spec.artifacts(lineage, root)


def table(made: Artifacts, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(made[name]().decode(), newline="")))


def test_hostile_text_is_inert_in_tables(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    add_fidelity(tmp_path, said=HOSTILE)
    made = artifacts(tmp_path)
    cells = [cell for row in table(made, "descriptions.csv") for cell in row.values()]
    assert any("cmd()" in cell for cell in cells)
    assert not [cell for cell in cells if cell.startswith(("=", "+", "@", "\t", "\r")) or "\x1b" in cell]


def test_the_calls_behind_a_score_are_known_by_their_keys(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    add_fidelity(tmp_path)
    asked = Conversation.ask("Describe the shape.", ImageFile(Path(), "a" * 64), max_tokens=64)
    described = CallKey.of_conversation(component("seer").fingerprint, "describe", asked, {}).digest
    drawn = CallKey.of_prompt(component("brush").fingerprint, "Draw: a disc", 1, {}).digest
    assert Fidelity().costs(lineage_of(tmp_path), tmp_path) == {"describe": [described] * 2, "generate": [drawn]}


def test_what_differs_bars_the_metrics_that_it_moves(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    add_fidelity(tmp_path)
    plain = lineage_of(tmp_path)
    metrics = ("ssim", "clip_s", "clip_s_i", "image_similarity")

    def barred(**changes: object) -> set[str]:
        other = plain.model_copy(update={"score": varied(plain.score, **changes)})
        return {key for each in differing(plain, other, metrics) for key in metrics if each.bars(key)}

    settings = plain.score.inputs.settings
    assert barred(generate_prompt="Paint: {description}") == {"ssim", "clip_s_i", "image_similarity"}
    assert barred(encoder=component("other")) == {"clip_s", "clip_s_i", "image_similarity"}
    assert barred(settings=settings | {"ssim_side": 64}) == {"ssim"}
    assert barred(describe_prompt="What is it?") == barred(max_tokens=9) == set(metrics)
    assert barred(generator=component("other")) == barred(model=component("other")) == set()
    both = barred(generator=component("other"), model=component("different"))
    assert both == {"ssim", "clip_s_i", "image_similarity"}


def test_what_is_absent_takes_only_what_depends_on_it() -> None:
    needs = {metric.key: metric.needs for metric in Fidelity().metrics}
    without_encoder = {key for key, needed in needs.items() if Input.ENCODER not in needed}
    assert without_encoder == {"ssim", "human", "words", "images"}
    assert {key for key, needed in needs.items() if Input.RATINGS in needed} == {"human"}
    assert {key for key, needed in needs.items() if Input.DRAWN not in needed} == {"clip_s", "human", "words"}


@pytest.mark.parametrize("provider", sorted(providers("encoders")))
def test_every_encoders_frechet_distance_is_in_the_table_and_lower_is_better(provider: str) -> None:
    name = getattr(provider_class("encoders", provider), "frechet_name", None)
    for metric in (Fidelity().metric(name), GenCeption().metric(f"{name}_at_5")) if name is not None else ():
        assert metric is not None
        assert metric.higher_is_better is False


@pytest.mark.parametrize("key", ["ssim", "clip_s", "clip_s_i", "image_similarity", "human"])
def test_no_other_metric_is_taken_for_one(key: str) -> None:
    metric = Fidelity().metric(key)
    assert metric is not None
    assert metric.higher_is_better
    assert Fidelity().metric("spearman") is None

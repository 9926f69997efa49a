"""What people are shown of several repeats: a line each on a sample's page, one trace."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import REPEAT, RepeatRow, Row
from driftledger.core.files import read_jsonl
from driftledger.core.types import Outcome
from driftledger.ledger.audit import find_number
from driftledger.ledger.lineage import Lineage, read_evidence
from driftledger.notebook.shown import ChainLine
from driftledger.reports.site import build, runs
from tests.reports.site.unit_ledgers import units_on
from tests.support.ledgers import (
    CHAINS,
    COMBINATION,
    SELECTED,
    genception_score,
    lock_of,
    write_collected,
    write_image,
    write_ledger,
    write_lock,
    write_scored,
)

SIMILARITIES = [[0.9, 0.5], [0.7, 0.6]]
GC = [[0.9, 0.6], [0.7, 0.65]]


@pytest.fixture
def lineage(tmp_path: Path) -> Lineage:
    """One sample, whose first chain goes to t = 2; in the second one the model refuses there."""
    alone = [{"gc_at_2": 0.75, "similarity_at_2": 0.5}, {"gc_at_2": 0.65, "similarity_at_2": 0.6}]
    groups = genception_score().groups | {REPEAT: {str(place): each for place, each in enumerate(alone)}}
    score = genception_score(groups=groups)
    write_ledger(tmp_path, score)
    records: list[dict[str, Any]] = []
    for repeat, folder in enumerate(("images", "repeats/1")):
        for t in (1, 2):
            file = f"{folder}/disc/{t}.png"
            told = {"sample": "disc", "repeat": repeat, "t": t, "parent_sha256": "a" * 64, "seed": t + repeat}
            if (repeat, t) == (1, 2):
                records.append(told | {"outcome": "refused", "error": "I would rather not."})
            else:
                write_image(tmp_path / CHAINS / file, (100 * repeat, 100 * t, 0))
                drawn = {"image": file, "image_sha256": "b" * 64, "description": f"disc {repeat} {t}", "outcome": "ok"}
                records.append(told | drawn)
    write_collected(tmp_path, score, "chain", records)
    repeats = [
        RepeatRow(outcome=outcome, values={"similarity": similarity, "gc": gc})
        for outcome, similarity, gc in zip((Outcome.OK, Outcome.REFUSED), SIMILARITIES, GC, strict=True)
    ]
    row = Row(
        unit="disc",
        group="round",
        cluster="disc",
        outcome=Outcome.REFUSED,
        values={"similarity": [0.8, 0.55], "gc": [0.8, 0.625]},
        repeats=repeats,
    )
    write_scored(tmp_path, score, [row])
    write_lock(tmp_path, lock_of(tmp_path, score))
    return read_evidence(tmp_path, SELECTED, COMBINATION).lineages[0]


def test_a_trace_goes_through_all_repeats(lineage: Lineage, tmp_path: Path) -> None:
    rows = read_jsonl(tmp_path / lineage.rows_file.path, Row)
    [trace] = benchmark("genception").traces(lineage, tmp_path, rows)
    assert [step.name for step in trace.steps] == [
        *("describe 1", "generate 1", "describe 2", "generate 2"),
        *("describe 1, repeat 1", "generate 1, repeat 1", "describe 2, repeat 1"),
    ]
    assert [step.again for step in trace.steps] == [""] * 4 + ["repeat 1"] * 3
    seen = [value for step in trace.steps for key, value in step.gave.items() if key.startswith("s(")]
    assert seen == [0.9, 0.5, 0.7]
    assert trace.gave["description"] == "disc 0 2"
    assert trace.values["GC@2"] == 0.625, "the mean over repeats"
    line = ChainLine.of("seer", "brush", {"eye": trace})
    assert [step.title for step in line.steps] == ["t = 1", "t = 2", "repeat 1, t = 1", "repeat 1, t = 2"]
    assert line.steps[2].image == tmp_path / CHAINS / "repeats/1/disc/1.png"


def test_a_page_has_a_line_for_each_repeat(lineage: Lineage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "CHAPTERS", (runs.CHAPTER,))
    project: Any = SimpleNamespace(root=tmp_path, combinations=[])
    build.write_site(tmp_path / "site", project, [lineage.score], images=True)
    page = units_on(tmp_path / "site/runs/seer.html")["disc"]
    assert page.texts("h2") == ["seer brush · eye", "seer brush · eye · repeat 1 refused"]
    assert page.texts("p", "trouble") == ["refused I would rather not."]
    values = [float(value) for value in page.attributes("data", "value")]
    assert values[2:] == [0.625, 0.55, 0.9, 0.5, 0.7], "its worth stands once, and each repeat's own s(t)"


def test_the_number_of_a_repeat_is_found_by_name(lineage: Lineage) -> None:
    number = find_number([lineage], "genception/shapes/repeat/1/gc_at_2")
    assert number.value == 0.65
    assert number.metric is not None
    assert number.interval is None

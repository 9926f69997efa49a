"""Scores computed again from real records: what was changed is found and named, and nothing else is."""

from typing import Any

import pytest
from driftledger.benchmarks.description_records import FidelityScore, TracScore
from driftledger.benchmarks.genception.records import ScoreFile

from driftledger.components.card import ComponentCard
from driftledger.ledger.findings import Report
from driftledger.ledger.lineage import AnyScore, Behind, Evidence
from driftledger.ledger.verify.recompute import recompute, recompute_scores
from tests.ledger.verify.conftest import (
    CHAINS,
    DESCRIPTIONS,
    FIDELITY,
    GENCEPTION,
    MM_SAP,
    MM_VET,
    MME,
    MODEL,
    TRAC,
    Ledger,
    places,
)

pytestmark = pytest.mark.slow


def check(ledger: Ledger, *scores: str) -> Report:
    """The check of a run; of these of its scores alone, if any are named."""
    if not scores:
        return recompute(ledger.project, ledger.evidence, ledger.contents)
    behind = [each for each in ledger.evidence.behind if each.score_file.path.removesuffix(".json") in scores]
    return recompute_scores(ledger.project, behind, ledger.contents)


def changed(evidence: Evidence, kind: type[Any], **changes: Any) -> Behind[AnyScore]:
    """What is behind a score, the score changed in memory."""
    [behind] = evidence.of(kind)
    score = behind.score.model_copy(update=changes)
    return behind.model_copy(update={"score": score})  # type: ignore[no-any-return]


def with_encoder(evidence: Evidence, kind: type[Any], **changes: Any) -> Behind[AnyScore]:
    """The same, seen through another encoder."""
    [behind] = evidence.of(kind)
    inputs = behind.score.inputs
    card: ComponentCard = inputs.encoder.model_copy(update=changes)
    return changed(evidence, kind, inputs=inputs.model_copy(update={"encoder": card}))


def test_what_dvc_made_holds(kept: Ledger) -> None:
    files = [path for path in kept.root.rglob("*") if ".git" not in path.parts]
    before = {path: path.stat().st_mtime_ns for path in files}
    report = check(kept)
    assert report == Report(checked=report.checked)
    assert report.checked["scores"] == 6
    grades = (kept.root / "data/grades").rglob("grades.jsonl")
    assert report.checked["grades"] == sum(len(path.read_bytes().splitlines()) for path in grades)
    assert report.checked["numbers"] > 500
    assert {path: path.stat().st_mtime_ns for path in files} == before


@pytest.mark.parametrize(
    ("path", "keys", "value"),
    [
        (GENCEPTION, ("metrics", "gc_at_2"), 0.75),
        (GENCEPTION, ("curve", 1, "gc_high"), 0.5),
        (GENCEPTION, ("by_category", "round", "similarity_at_1"), 1.0),
        (GENCEPTION, ("scored",), 7),
        (GENCEPTION, ("inputs", "records_sha256"), "0" * 64),
        (GENCEPTION, ("metrics", "gc_at_9"), 0.9),
        (FIDELITY, ("metrics", "ssim"), 99.0),
        (FIDELITY, ("absent", "clip_s"), "nobody asked"),
        (TRAC, ("conditions", 1, "metrics", "top1"), 100.0),
        (TRAC, ("vote", 0, "vote"), 12.5),
        (MM_SAP, ("metrics", "known_knowns_low"), 1.0),
        (MM_SAP, ("groups", "subset", "know", "score"), 0.0),
        (MM_VET, ("metrics", "total"), 99.5),
        (MME, ("groups", "category", "color", "accuracy"), 12.0),
    ],
)
def test_a_stored_number_that_was_changed_is_found_by_its_name(
    ledger: Ledger, path: str, keys: tuple[str | int, ...], value: object
) -> None:
    def change(content: Any) -> None:
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = value

    ledger.change_json(f"{path}.json", change)
    report = check(ledger, path)
    assert places(report.findings) == [f"numbers {path}.json: {'.'.join(map(str, keys))}"]
    assert "is stored, the records give" in report.findings[0].what


@pytest.mark.parametrize(
    ("path", "change", "place"),
    [
        (f"{GENCEPTION}.samples.jsonl", {"gc": [0.5, 0.5]}, "{sample}.gc.0"),
        (f"{FIDELITY}.samples.jsonl", {"outcome": "refused"}, "{sample}.outcome"),
        (f"{TRAC}.samples.jsonl", {"nearest": "nothing"}, "{sample}.nearest"),
        (f"{MM_SAP}.questions.jsonl", {"values": [None, 0.0]}, "{question}.values.0"),
        (f"{MM_VET}.questions.jsonl", {"question": "another"}, "{question}"),
    ],
)
def test_a_changed_value_of_one_sample_is_found(ledger: Ledger, path: str, change: dict[str, Any], place: str) -> None:
    before = ledger.change_row(path, lambda row: row.update(change), number=3)
    report = check(ledger, path.rpartition(".")[0].rpartition(".")[0])
    assert report.findings[0].kind == "numbers"
    assert report.findings[0].where == f"{path}: {place.format(**before)}"
    assert {finding.where.partition(": ")[0] for finding in report.findings} == {path}


def test_rows_that_are_missing_and_rows_in_another_order(ledger: Ledger) -> None:
    path = f"{GENCEPTION}.samples.jsonl"
    rows = (ledger.root / path).read_bytes().splitlines(keepends=True)
    ledger.write(path, b"".join(rows[1:]))
    assert [finding.what for finding in check(ledger, GENCEPTION).findings] == ["its row is missing"]
    ledger.write(path, b"".join(rows[::-1]))
    assert places(check(ledger, GENCEPTION).findings) == [f"numbers {path}: rows"]


def test_a_changed_grade_is_found_where_it_stands_and_in_the_score(ledger: Ledger) -> None:
    path = f"data/grades/scenes_mm_sap/{MODEL}/grades.jsonl"

    def change(row: dict[str, Any]) -> None:
        row["choice"] = (row["choice"] + 1) % 5

    before = ledger.change_row(path, change)
    found = places(check(ledger, MM_SAP).findings)
    assert found[0] == f"numbers {path}: {before['question']}, variant 0.choice"
    assert f"numbers {MM_SAP}.json: inputs.grades_sha256" in found


def test_a_changed_grade_of_a_judge_is_found_without_asking_it(ledger: Ledger) -> None:
    path = f"data/grades/scenes_mm_vet/{MODEL}/grades.jsonl"
    before = ledger.change_row(path, lambda row: row.update(tenths=(row["tenths"] + 5) % 11))
    assert f"numbers {path}: {before['question']}, variant 0, grading 0.tenths" in places(
        check(ledger, MM_VET).findings
    )


def test_another_parser_leaves_the_grades_unchecked(ledger: Ledger) -> None:
    ledger.change_json(f"data/grades/scenes_mme/{MODEL}/components.json", lambda card: card.update(parser="0"))
    report = check(ledger, MME)
    [unchecked] = report.unchecked
    assert unchecked.where == f"data/grades/scenes_mme/{MODEL}/grades.jsonl"
    assert "parser version 0, and version" in unchecked.why
    assert places(report.findings) == [f"numbers {MME}.json: inputs.grades.parser"]


def test_records_that_were_changed_give_other_scores(ledger: Ledger) -> None:
    ledger.change_row(f"{DESCRIPTIONS}/descriptions.jsonl", lambda row: row.update(description="A beetle."))
    found = places(check(ledger).findings)
    assert f"numbers {TRAC}.json: inputs.descriptions_sha256" in found
    assert all(TRAC in place for place in found)


@pytest.mark.parametrize(
    "change",
    [
        lambda row: row.update(image="images/nowhere.png"),
        lambda row: row.update(t="second"),
        lambda row: row.update(sample="nobody"),
    ],
)
def test_records_that_give_no_score_are_found(ledger: Ledger, change: Any) -> None:
    ledger.change_row(f"{CHAINS}/records.jsonl", change)
    report = check(ledger)
    assert report.findings
    assert {finding.where.partition(": ")[0] for finding in report.findings} <= {
        f"{GENCEPTION}.json",
        f"{GENCEPTION}.samples.jsonl",
    }


def test_another_version_of_the_encoder_leaves_unchecked_what_it_sees(kept: Ledger) -> None:
    behind = [
        with_encoder(kept.evidence, ScoreFile, version="99"),
        with_encoder(kept.evidence, TracScore, fingerprint="0" * 64),
        with_encoder(kept.evidence, FidelityScore, identity={"pillow": "1.1.7"}, fingerprint="1" * 64),
    ]
    report = recompute_scores(kept.project, behind, kept.contents)
    assert report.holds
    assert [unchecked.where for unchecked in report.unchecked] == [f"{p}.json" for p in (GENCEPTION, TRAC, FIDELITY)]
    first, second, third = (unchecked.why for unchecked in report.unchecked)
    assert first.startswith("encoder layout: its provider is of version 1 here, and was of version 99")
    assert "does not fit its own fingerprint 000000000000" in second
    assert "and was '1.1.7'" in third


def test_what_hangs_on_no_encoder_is_compared_without_it(kept: Ledger) -> None:
    wrong: dict[type[Any], dict[str, float]] = {
        FidelityScore: {"image_similarity": 12.0, "ssim": 12.0},
        TracScore: {"top1": 12.0, "words": 1.0},
    }
    behind = []
    for kind, values in wrong.items():
        unseen = with_encoder(kept.evidence, kind, version="99")
        score = unseen.score.model_copy(update={"metrics": unseen.score.metrics | values})
        behind.append(unseen.model_copy(update={"score": score}))
    report = recompute_scores(kept.project, behind, kept.contents)
    assert places(report.findings) == [f"numbers {FIDELITY}.json: metrics.ssim", f"numbers {TRAC}.json: metrics.words"]


def test_ratings_that_have_changed_since_are_unchecked(kept: Ledger) -> None:
    [fidelity] = kept.evidence.of(FidelityScore)
    inputs = fidelity.score.inputs.model_copy(update={"ratings": {"used": 5, "raters": 1, "stale": 0}})
    rated = changed(
        kept.evidence, FidelityScore, inputs=inputs, metrics=fidelity.score.metrics | {"human": 3.0, "ssim": 1.0}
    )
    report = recompute_scores(kept.project, [rated], kept.contents)
    assert [unchecked.why for unchecked in report.unchecked] == [
        "the sheet of human ratings is not here; what hangs on no rating is compared"
    ]
    assert places(report.findings) == [f"numbers {FIDELITY}.json: metrics.ssim"]


def test_a_difference_under_other_code_says_so(kept: Ledger) -> None:
    [drifted] = kept.evidence.of(ScoreFile)
    behind = changed(kept.evidence, ScoreFile, metrics=drifted.score.metrics | {"gc_at_1": 0.125})
    stages = {
        name: entry.model_copy(
            update={
                "deps": [
                    dep.model_copy(update={"md5": "0" * 32}) if dep.path.endswith("/drift.py") else dep
                    for dep in entry.deps
                ]
            }
        )
        for name, entry in behind.stages.items()
    }
    [finding] = recompute_scores(kept.project, [behind.model_copy(update={"stages": stages})], kept.contents).findings
    assert finding.what.startswith("0.125 is stored, the records give 0.")
    assert finding.what.endswith(" (with other code than recorded: src/driftledger/benchmarks/genception/drift.py)")


def test_records_that_are_nowhere_are_unchecked(kept: Ledger) -> None:
    [drifted] = kept.evidence.of(ScoreFile)
    lost = drifted.collected["chain"].model_copy(update={"md5": "0" * 32 + ".dir"})
    behind = drifted.model_copy(update={"collected": {"chain": lost}})
    report = recompute_scores(kept.project, [behind], kept.contents)
    assert report.holds
    assert [(each.where, each.why.partition(" is neither")[0]) for each in report.unchecked] == [
        (f"{GENCEPTION}.json", f"{CHAINS} (md5 {'0' * 32}.dir)")
    ]


def test_scores_that_several_runs_share_are_computed_once(kept: Ledger) -> None:
    behind = kept.evidence.behind
    assert recompute_scores(kept.project, behind * 3, kept.contents).checked["scores"] == len(behind)

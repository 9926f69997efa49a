"""Scores computed again from real records: what was changed is found and named, and nothing else is."""

from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from driftledger.benchmarks.base import Input
from driftledger.benchmarks.registry import benchmark
from driftledger.components.card import ComponentCard
from driftledger.core.canonical import sha256_file
from driftledger.ledger.findings import VerifyResult
from driftledger.ledger.lineage import Lineage
from driftledger.ledger.verify import recompute as recomputing
from driftledger.ledger.verify.recompute import depends_on, recompute
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
    torn_png,
)

pytestmark = pytest.mark.slow


def check(ledger: Ledger, *folders: str) -> VerifyResult:
    """The check of a run; of the scores in these folders alone, if any are named."""
    lineages = [ledger.lineage_in(folder) for folder in folders] or ledger.evidence.lineages
    return recompute(ledger.project, lineages, ledger.contents)


def changed(lineage: Lineage, **changes: Any) -> Lineage:
    """What is behind a score, the score changed in memory."""
    return lineage.model_copy(update={"score": lineage.score.model_copy(update=changes)})


def with_encoder(lineage: Lineage, role: str = "", **changes: Any) -> Lineage:
    """The same, seen or read through another encoder; without a role the one in the score's keys."""
    [role] = {role} if role else {"encoder", "text_encoder"} & lineage.score.keys.keys()
    card: ComponentCard = lineage.score.components[role].model_copy(update=changes)
    return changed(lineage, components=lineage.score.components | {role: card})


def test_what_dvc_made_holds(kept: Ledger) -> None:
    files = [path for path in kept.root.rglob("*") if ".git" not in path.parts]
    before = {path: path.stat().st_mtime_ns for path in files}
    result = check(kept)
    assert result == VerifyResult(checked=result.checked)
    assert result.checked["scores"] == 6
    read = (kept.root / "data/grades").rglob("records.jsonl")
    assert result.checked["records read again"] == sum(len(path.read_bytes().splitlines()) for path in read)
    assert result.checked["numbers"] > 500
    assert {path: path.stat().st_mtime_ns for path in files} == before


@pytest.mark.parametrize(
    ("folder", "keys", "value"),
    [
        (GENCEPTION, ("metrics", "gc_at_2"), 0.75),
        (GENCEPTION, ("curves", "gc_high", 1, "value"), 0.5),
        (GENCEPTION, ("groups", "category", "round", "similarity_at_1"), 1.0),
        (GENCEPTION, ("scored",), 7),
        (GENCEPTION, ("inputs", "records", "chain"), "0" * 64),
        (GENCEPTION, ("inputs", "records", "witness"), "0" * 64),
        (GENCEPTION, ("metrics", "cross_check"), 0.99),
        (GENCEPTION, ("curves", "text_similarity", 0, "value"), 0.5),
        (GENCEPTION, ("inputs", "protocol", "more"), "0" * 64),
        (GENCEPTION, ("metrics", "gc_at_9"), 0.9),
        (FIDELITY, ("metrics", "ssim"), 99.0),
        (FIDELITY, ("absent", "clip_s"), "nobody asked"),
        (TRAC, ("groups", "condition", "l60, 1-shot", "top1"), 100.0),
        (TRAC, ("curves", "vote", 0, "value"), 12.5),
        (MM_SAP, ("metrics", "known_knowns_low"), 1.0),
        (MM_SAP, ("groups", "subset", "know", "score"), 0.0),
        (MM_VET, ("metrics", "total"), 99.5),
        (MME, ("groups", "category", "color", "accuracy"), 12.0),
    ],
)
def test_a_stored_number_that_was_changed_is_found_by_its_name(
    ledger: Ledger, folder: str, keys: tuple[str | int, ...], value: object
) -> None:
    def change(content: Any) -> None:
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = value

    ledger.change_score(folder, change)
    result = check(ledger, folder)
    assert places(result.findings) == [f"numbers {folder}/score.json: {'.'.join(map(str, keys))}"]
    assert "is stored, the records give" in result.findings[0].what


@pytest.mark.parametrize(
    ("folder", "change", "place"),
    [
        (GENCEPTION, {"values": {"cross_check": [0.5]}}, "{unit}.values.cross_check.0"),
        (FIDELITY, {"outcome": "refused"}, "{unit}.outcome"),
        (TRAC, {"extra": {"nearest": "nothing"}}, "{unit}.extra."),
        (MM_SAP, {"cluster": "another"}, "{unit}.cluster"),
        (MM_VET, {"unit": "another"}, "{unit}"),
    ],
)
def test_a_changed_value_of_one_row_is_found(ledger: Ledger, folder: str, change: dict[str, Any], place: str) -> None:
    path = f"{folder}/rows.jsonl"
    before = ledger.change_row(path, lambda row: row.update(change), number=3)
    result = check(ledger, folder)
    assert result.findings[0].kind == "numbers"
    assert result.findings[0].where.startswith(f"{path}: {place.format(**before)}")
    assert {finding.where.partition(": ")[0] for finding in result.findings} == {path}


def test_rows_that_are_missing_and_rows_in_another_order(ledger: Ledger) -> None:
    path = f"{GENCEPTION}/rows.jsonl"
    rows = (ledger.root / path).read_bytes().splitlines(keepends=True)
    ledger.write(path, b"".join(rows[1:]))
    assert [finding.what for finding in check(ledger, GENCEPTION).findings] == ["its row is missing"]
    ledger.write(path, b"".join(rows[::-1]))
    assert places(check(ledger, GENCEPTION).findings) == [f"numbers {path}: rows"]


def test_a_changed_grade_is_found_where_it_stands_and_in_the_score(ledger: Ledger) -> None:
    path = f"data/grades/scenes_mm_sap/{MODEL}/records.jsonl"

    def change(row: dict[str, Any]) -> None:
        row["choice"] = (row["choice"] + 1) % 5

    before = ledger.change_row(path, change)
    found = places(check(ledger, MM_SAP).findings)
    assert found[0].startswith(f"numbers {path}: question {before['question']}, variant 0")
    assert found[0].endswith(".choice")
    assert f"numbers {MM_SAP}/score.json: inputs.records.grade" in found


JUDGED = f"data/grades/scenes_mm_vet/{MODEL}/records.jsonl"


def test_a_changed_grade_of_a_judge_is_found_without_asking_it(ledger: Ledger) -> None:
    before = ledger.change_row(JUDGED, lambda row: row.update(grade=1.0 - row["grade"] / 2))
    [found] = [each for each in places(check(ledger, MM_VET).findings) if JUDGED in each]
    assert found.startswith(f"numbers {JUDGED}: question {before['question']}, variant 0, grading 0")
    assert found.endswith(".grade")


@pytest.mark.parametrize("outcome", ["refused", "filtered", "failed"])
def test_a_grade_that_was_read_in_nothing_is_left_as_it_is(ledger: Ledger, outcome: str) -> None:
    """A judge that refused gave no grade, whatever number stands in its text."""
    replies = [{"outcome": outcome, "text": "1.0"}]
    change = {"outcome": outcome, "grade": None, "how": "no grade", "replies": replies}
    ledger.change_row(JUDGED, lambda row: row.update(change))
    assert not [each for each in places(check(ledger, MM_VET).findings) if JUDGED in each]


def test_a_grade_that_cannot_be_read_is_read_again(ledger: Ledger) -> None:
    before = ledger.change_row(JUDGED, lambda row: row.update(outcome="unparsed", grade=None, how="no grade"))
    assert before["outcome"] == "ok"
    assert [each for each in places(check(ledger, MM_VET).findings) if JUDGED in each]


def test_a_grade_of_no_answer_is_found(ledger: Ledger) -> None:
    ledger.change_row(JUDGED, lambda row: row.update(variant=9))
    [finding] = [each for each in check(ledger, MM_VET).findings if JUDGED in each.where]
    assert "variant 9" in finding.where
    assert finding.what == "has a row, and the records give none"


def test_a_component_that_no_stage_has_is_found(ledger: Ledger) -> None:
    def add(score: dict[str, Any]) -> None:
        score["components"]["muse"] = score["components"]["model"]

    ledger.change_score(GENCEPTION, add)
    found = places(check(ledger, GENCEPTION).findings)
    assert f"numbers {GENCEPTION}/score.json: components.muse.name" in found
    assert all(": components.muse." in place for place in found)


def test_another_parser_leaves_the_grades_unread(ledger: Ledger) -> None:
    grades = f"data/grades/scenes_mme/{MODEL}"
    ledger.change_json(f"{grades}/components.json", lambda card: card["protocol"].update(parser="0"))
    result = check(ledger, MME)
    [skipped] = result.skipped
    assert skipped.where == f"{grades}/records.jsonl"
    assert "parser" in skipped.why
    assert places(result.findings) == [f"numbers {MME}/score.json: inputs.protocol.parser"]


def test_records_that_were_changed_give_other_scores(ledger: Ledger) -> None:
    ledger.change_row(f"{DESCRIPTIONS}/records.jsonl", lambda row: row.update(description="A beetle."))
    found = places(check(ledger).findings)
    assert f"numbers {TRAC}/score.json: inputs.records.describe" in found
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
    result = check(ledger)
    assert result.findings
    assert {finding.where.partition(": ")[0] for finding in result.findings} <= {
        f"{GENCEPTION}/score.json",
        f"{GENCEPTION}/rows.jsonl",
    }


def test_settings_that_the_benchmark_does_not_take_are_found(ledger: Ledger) -> None:
    ledger.change_score(GENCEPTION, lambda score: score["inputs"]["settings"].update(power=2))
    [finding] = check(ledger, GENCEPTION).findings
    assert finding.where == f"{GENCEPTION}/score.json"
    assert "no score can be had from what is stored" in finding.what
    assert "power" in finding.what


def test_another_version_of_the_encoder_leaves_what_it_sees(kept: Ledger) -> None:
    identity = kept.lineage_in(FIDELITY).score.components["encoder"].identity
    lineages = [
        with_encoder(kept.lineage_in(GENCEPTION), version="99"),
        with_encoder(kept.lineage_in(TRAC), fingerprint="0" * 64),
        with_encoder(kept.lineage_in(FIDELITY), identity=identity | {"pillow": "1.1.7"}, fingerprint="1" * 64),
    ]
    result = recompute(kept.project, lineages, kept.contents)
    assert result.findings == []
    assert [skipped.where for skipped in result.skipped] == [f"{p}/score.json" for p in (GENCEPTION, TRAC, FIDELITY)]
    first, second, third = (skipped.why for skipped in result.skipped)
    assert first.startswith("encoder layout: its provider is of version 1 here, and was of version 99")
    assert first.endswith("; only what needs no encoder is compared")
    assert "does not fit its own fingerprint 000000000000" in second
    assert "and was '1.1.7'" in third


def test_what_needs_no_encoder_is_compared_without_it(kept: Ledger) -> None:
    wrong = {FIDELITY: {"image_similarity": 12.0, "ssim": 12.0}, TRAC: {"top1": 12.0, "words": 1.0}}
    lineages = []
    for folder, values in wrong.items():
        unseen = with_encoder(kept.lineage_in(folder), version="99")
        lineages.append(changed(unseen, metrics=unseen.score.metrics | values))
    result = recompute(kept.project, lineages, kept.contents)
    assert places(result.findings) == [
        f"numbers {FIDELITY}/score.json: metrics.ssim",
        f"numbers {TRAC}/score.json: metrics.words",
    ]


def test_each_of_two_encoders_leaves_what_the_other_sees(kept: Ledger) -> None:
    told = {"gc_at_2": 12.0, "text_similarity_mean": 12.0, "cross_check": 12.0}
    for role, left in (("encoder", ["cross_check", "text_similarity_mean"]), ("text_encoder", ["gc_at_2"])):
        unseen = with_encoder(kept.lineage_in(GENCEPTION), role, version="99")
        wrong = changed(unseen, metrics=unseen.score.metrics | told)
        result = recompute(kept.project, [wrong], kept.contents)
        assert places(result.findings) == [f"numbers {GENCEPTION}/score.json: metrics.{key}" for key in left]
        assert [each.why.rpartition("; ")[2] for each in result.skipped] == [
            f"only what needs no {role.replace('_', ' ')} is compared"
        ]


def test_what_other_models_said_is_behind_the_score(ledger: Ledger) -> None:
    def silent(record: dict[str, Any]) -> None:
        record["description"] = "Nothing of the kind."

    ledger.change_row("data/witnesses/my_images/records.jsonl", silent)
    found = places(check(ledger, GENCEPTION).findings)
    assert f"numbers {GENCEPTION}/score.json: metrics.cross_check" in found
    assert f"numbers {GENCEPTION}/score.json: inputs.records.witness" in found
    assert not any("gc_at" in place or "text_similarity" in place for place in found)


def test_a_score_from_before_there_were_witnesses_does_without(kept: Ledger) -> None:
    lineage = kept.lineage_in(GENCEPTION)
    chain = {name: file for name, file in lineage.collected.items() if name == "chain"}
    result = recompute(kept.project, [lineage.model_copy(update={"collected": chain})], kept.contents)
    assert f"numbers {GENCEPTION}/score.json: metrics.cross_check" in places(result.findings)
    assert not any("gc_at" in finding.where for finding in result.findings)


def rated(lineage: Lineage, sha256: str, **metrics: float) -> Lineage:
    """As if a sheet with this digest had gone into the score."""
    name, entry = list(lineage.stages.items())[-1]
    params = entry.params | {
        "data/resolved.json": {**entry.params["data/resolved.json"], "beside.fidelity.ratings": sha256}
    }
    stages = {**lineage.stages, name: entry.model_copy(update={"params": params})}
    return changed(lineage.model_copy(update={"stages": stages}), metrics=lineage.score.metrics | metrics)


def test_ratings_that_are_not_here_leave_what_people_said(kept: Ledger) -> None:
    lineage = rated(kept.lineage_in(FIDELITY), "0" * 64, human=3.0, ssim=1.0)
    result = recompute(kept.project, [lineage], kept.contents)
    assert [skipped.why for skipped in result.skipped] == [
        "the file of fidelity.ratings is not here; what needs it is not compared"
    ]
    assert places(result.findings) == [f"numbers {FIDELITY}/score.json: metrics.ssim"]


def test_ratings_that_are_here_are_read_again(ledger: Ledger) -> None:
    sheet = ledger.root / "ratings.csv"
    sheet.write_text("dataset,sample,model,description,rating,rater\n", encoding="utf-8")
    params = ledger.root / "params.yaml"
    params.write_text(params.read_text(encoding="utf-8").replace("ratings: null", "ratings: ratings.csv"), "utf-8")
    lineage = ledger.lineage_in(FIDELITY)
    here = rated(lineage, sha256_file(sheet), human=3.0)
    result = recompute(ledger.project, [here], ledger.contents)
    assert result.skipped == []
    assert places(result.findings) == [f"numbers {FIDELITY}/score.json: metrics.human"]
    [skipped] = recompute(ledger.project, [rated(lineage, "0" * 64)], ledger.contents).skipped
    assert skipped.why == "the file of fidelity.ratings is not the one that was recorded; what needs it is not compared"


def test_a_difference_under_other_code_says_so(kept: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    lineage = kept.lineage_in(GENCEPTION)
    wrong = changed(lineage, metrics=lineage.score.metrics | {"gc_at_1": 0.125})
    [finding] = recompute(kept.project, [wrong], kept.contents).findings
    assert "code" not in finding.what
    monkeypatch.setattr(recomputing, "code_behind", lambda spec, stage: "0" * 64)
    [finding] = recompute(kept.project, [wrong], kept.contents).findings
    assert finding.what.startswith("0.125 is stored, the records give 0.")
    assert finding.what.endswith(" (the code of genception here is not the recorded one)")


def test_records_that_are_nowhere_are_skipped(kept: Ledger) -> None:
    lineage = kept.lineage_in(GENCEPTION)
    lost = lineage.collected["chain"].model_copy(update={"md5": "0" * 32 + ".dir"})
    result = recompute(kept.project, [lineage.model_copy(update={"collected": {"chain": lost}})], kept.contents)
    assert result.findings == []
    assert [(each.where, each.why.partition(" is neither")[0]) for each in result.skipped] == [
        (f"{GENCEPTION}/score.json", f"{CHAINS} (md5 {'0' * 32}.dir)")
    ]


def test_scores_that_several_runs_share_are_computed_once(kept: Ledger) -> None:
    lineages = kept.evidence.lineages
    assert recompute(kept.project, lineages * 3, kept.contents).checked["scores"] == len(lineages)


def test_the_tables_say_what_depends_on_an_encoder() -> None:
    unseen = depends_on(benchmark("fidelity"), frozenset({Input.ENCODER}))
    assert {place: unseen(place) for place in _PLACES} == _PLACES
    assert not any(map(depends_on(benchmark("fidelity"), frozenset()), _PLACES))


_PLACES = {
    ("metrics", "ssim"): False,
    ("metrics", "ssim_low"): False,
    ("metrics", "clip_s_high"): True,
    ("metrics", "frechet_layout"): True,
    ("metrics", "nobody_knows"): True,
    ("groups", "category", "round", "ssim"): False,
    ("groups", "agreement", "ssim", "spearman"): True,
    ("values", "ssim", "0"): False,
    ("values", "image_similarity", "0"): True,
    ("components", "encoder", "version"): True,
    ("components", "generator", "version"): False,
    ("inputs", "protocol", "seed"): False,
    ("outcome",): False,
    ("scored",): False,
    ("flags", "0"): True,
    ("absent", "fid"): True,
    ("details", "ratings", "used"): True,
}


def test_an_image_of_too_many_pixels_is_not_decoded(ledger: Ledger) -> None:
    """22 kB that would take 530 MB; Pillow's own limit lets it through."""
    bomb = BytesIO()
    Image.new("1", (13_300, 13_300)).save(bomb, "PNG")
    path = next(path for path in sorted((ledger.root / CHAINS / "images").rglob("*.png")))
    ledger.write(path.relative_to(ledger.root).as_posix(), bomb.getvalue())
    result = check(ledger, GENCEPTION)
    assert result.findings == []
    [why] = [skipped.why for skipped in result.skipped if "pixels" in skipped.why]
    assert why.startswith("Image size (176890000 pixels) exceeds limit of 67108864 pixels")
    assert result.checked["scores"] == 0


def test_an_image_that_cannot_be_decoded_is_found(ledger: Ledger) -> None:
    path = next(path for path in sorted((ledger.root / CHAINS / "images").rglob("*.png")))
    ledger.write(path.relative_to(ledger.root).as_posix(), torn_png())
    [found] = check(ledger, GENCEPTION).findings
    assert found.what.startswith("no score can be had from what is stored: SyntaxError: broken PNG file")

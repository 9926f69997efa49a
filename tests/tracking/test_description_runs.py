"""TRAC and fidelity on a combination's run in MLflow, beside the other benchmarks and without them."""

import csv
import io
from pathlib import Path
from typing import Any

from PIL import Image

from driftledger.collect.call_key import CallKey
from driftledger.collect.call_result import Context, Cost, Result
from driftledger.collect.call_store import CallStore, Finished
from driftledger.core.paths import Layout
from driftledger.core.types import Conversation, ImageFile, Outcome
from driftledger.ledger.lineage import Selected, read_evidence
from driftledger.tracking.content import RunContent
from driftledger.tracking.project import run_content
from tests.support.description_ledgers import DESCRIPTIONS, READERS, add_fidelity, add_trac, fidelity_score, trac_score
from tests.support.ledgers import COMBINATION, component, write_ledger
from tests.support.question_ledgers import add_questions

TRAC = Selected(trac=["digits"], descriptions=DESCRIPTIONS, text_encoders=READERS)
FIDELITY = Selected(fidelity=["shapes"])
ALL = TRAC._replace(genception=["shapes"], fidelity=["shapes"], question_sets=["exam"])
HOSTILE = "=cmd()|'<img src=x>\x1b[31m\u202e\n,;\"@"


def write_all(root: Path) -> None:
    write_ledger(root)
    add_trac(root)
    add_fidelity(root)
    add_questions(root)


def content(root: Path, selected: Selected = ALL) -> RunContent:
    layout = Layout(root)
    return run_content(layout, read_evidence(layout, selected, COMBINATION))


def values(run: RunContent, start: str) -> dict[tuple[str, int], float]:
    return {(each.key, each.step): each.value for each in run.every_metric() if each.key.startswith(start)}


def table(run: RunContent, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(run.artifacts[name]().decode(), newline="")))


def test_the_first_of_the_selection_is_the_headline(tmp_path: Path) -> None:
    add_trac(tmp_path)
    run = content(tmp_path, TRAC)
    found = values(run, "trac/digits/")
    assert {key: value for key, value in found.items() if key[0].count("/") < 4 and "by_" not in key[0]} == {
        ("trac/digits/top1", 0): 64.0,
        ("trac/digits/top1_low", 0): 60.0,
        ("trac/digits/class_mean", 0): 58.0,
        ("trac/digits/chance", 0): 10.0,
        ("trac/digits/leak_rate", 0): 25.0,
        ("trac/digits/coverage", 0): 1.0,
        ("trac/digits/vote", 1): 64.0,
        ("trac/digits/vote", 2): 66.0,
    }
    for place in ("short/counter", "shown/reader", "shown/counter"):
        assert found[f"trac/digits/{place}/top1", 0] == 64.0
        assert found[f"trac/digits/{place}/vote", 2] == 66.0
    assert not [key for key, _ in found if key.startswith("trac/digits/short/reader")]
    assert {metric.dataset for metric in run.every_metric()} == {"digits"}


def test_lengths_and_shots_are_step_charts_where_there_are_several(tmp_path: Path) -> None:
    add_trac(tmp_path)
    sweeps = {key: value for key, value in values(content(tmp_path, TRAC), "trac/").items() if "/by_" in key[0]}
    lengths, shots = {32: 64.0, 64: 68.0}, {0: 60.0, 1: 59.0, 2: 58.0}
    assert sweeps == {
        **{("trac/digits/by_length/top1", step): value for step, value in lengths.items()},
        **{("trac/digits/short/counter/by_length/top1", step): value for step, value in lengths.items()},
        **{(f"trac/digits/shown/{reader}/by_shots/top1", s): v for reader in READERS for s, v in shots.items()},
    }


def test_fidelity_has_its_values_and_how_they_go_with_people(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    add_fidelity(tmp_path)
    assert values(content(tmp_path, FIDELITY), "") == {
        ("fidelity/shapes/image_similarity", 0): 71.0,
        ("fidelity/shapes/ssim", 0): 31.5,
        ("fidelity/shapes/frechet_eye", 0): 4.5,
        ("fidelity/shapes/human", 0): 3.5,
        ("fidelity/shapes/coverage", 0): 0.5,
        ("fidelity/shapes/agreement/ssim/spearman", 0): 0.5,
        ("fidelity/shapes/agreement/ssim/n", 0): 2.0,
    }


def test_a_dataset_is_one_input_however_many_benchmarks_go_over_it(tmp_path: Path) -> None:
    write_all(tmp_path)
    inputs = content(tmp_path).datasets
    assert [(each.name, each.samples) for each in inputs] == [("shapes", 2), ("digits", 1), ("exam", 4)]


def test_params_and_tags_tell_the_ways_to_ask_and_the_readers_apart(tmp_path: Path) -> None:
    write_all(tmp_path)
    run = content(tmp_path)
    assert {
        "description": "short",
        "seed": "7",
        "text_encoder": "reader",
        "text_encoder.provider": "reader_provider",
        "text_encoders.counter": "counter",
        "trac.digits.short.prompt": "Describe the digit.",
        "trac.digits.short.max_tokens": "32, 64",
        "trac.digits.shown.max_tokens": "the model's own limit",
        "trac.digits.shown.choose": "similar_image",
        "trac.digits.shown.shots": "1, 2",
        "trac.digits.shown.by": "narrator",
        "fidelity.shapes.describe_prompt": "Describe the shape.",
        "fidelity.shapes.max_tokens": "64",
        "describe_prompt": "Describe it.",
        "iterations": "2",
    }.items() <= run.params.items()
    assert {
        "text_encoder.fingerprint": component("reader").fingerprint,
        "text_encoders.counter.fingerprint": component("counter").fingerprint,
        "trac.digits.shown.encoder.fingerprint": component("eye").fingerprint,
    }.items() <= run.tags.items()
    lock = {key.removeprefix("dvc.lock/") for key in run.tags if key.startswith("dvc.lock/")}
    assert lock == {
        *("dataset/shapes", "chain/shapes", "drift/shapes", "redraw/shapes", "fidelity/shapes", "dataset/digits"),
        *("question_set/exam", "answer/exam", "grade/exam", "score/exam"),
        *(f"describe/digits/{name}" for name in DESCRIPTIONS),
        *(f"trac/digits/{name}/{reader}" for name in DESCRIPTIONS for reader in READERS),
    }


def test_what_could_not_be_computed_and_what_one_must_know_are_tags(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    add_fidelity(tmp_path, fidelity_score(flags=["cut"], served={"model": {"m-1": 2}}))
    add_trac(
        tmp_path, trac_score(absent={"top1_naming": "nothing names it"}, flags=["leak"], served={"model": {"m-2": 1}})
    )
    selected = Selected(["shapes"], ["digits"], ["short"], ["reader"], ["shapes"])
    tags = content(tmp_path, selected).tags
    assert tags["driftledger.absent"] == (
        "fidelity/shapes/clip_s: eye has no text tower; trac/digits/short/reader/top1_naming: nothing names it"
    )
    assert tags["driftledger.flags"] == (
        "2 served versions of the model in this run; fidelity/shapes: cut; trac/digits/short/reader: leak"
    )
    assert tags["model.served"] == "m-1, m-2"


def test_every_description_is_in_a_table_with_what_it_was_taken_for(tmp_path: Path) -> None:
    add_trac(tmp_path)
    run = content(tmp_path, TRAC)
    rows = table(run, "trac/digits/descriptions.csv")
    told = [(row["sample"], row["split"], row["max_tokens"], row["taken for"], row["names"]) for row in rows]
    assert told == [
        ("d0", "support", "32", "", ""),
        ("d1", "test", "32", "seven", "its class"),
        ("d0", "support", "64", "", ""),
        ("d1", "test", "64", "", ""),
    ]
    assert {row["label"] for row in rows} == {"seven"}
    shown = table(run, "trac/digits/shown/counter/descriptions.csv")
    assert [row["shots"] for row in shown if row["taken for"]] == ["2"]
    assert shown[-1]["demonstrations"] == "d0 d0"


def test_classes_and_pairs_are_tables(tmp_path: Path) -> None:
    add_trac(tmp_path)
    run = content(tmp_path, TRAC)
    assert table(run, "trac/digits/by_class.csv") == [
        {"class": "'=one", "test": "", "top1": "75.000000"},
        {"class": "seven", "test": "1.000000", "top1": "50.000000"},
    ]
    assert table(run, "trac/digits/shown/reader/confused.csv") == [
        {"first": "'=one", "second": "seven", "first as second": "2", "second as first": "1", "rate": "12.500000"}
    ]


def test_redrawings_are_a_table_and_a_picture(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    add_fidelity(tmp_path)
    run = content(tmp_path, FIDELITY)
    first, second = table(run, "fidelity/shapes/samples.csv")
    assert (first["ssim"], first["description"], first["outcome"]) == ("31.500000", "a disc", "ok")
    assert (second["ssim"], second["description"], second["error"]) == ("", "", "a disc")
    with Image.open(io.BytesIO(run.artifacts["fidelity/shapes/redraws.png"]())) as image:
        assert image.format == "PNG"
        assert image.width > image.height * 0.75


def test_hostile_text_is_inert_in_tables_and_in_the_note(tmp_path: Path) -> None:
    write_ledger(tmp_path)
    add_trac(tmp_path, trac_score(flags=[HOSTILE], by_class={HOSTILE: {"top1": 1.0}}), said=HOSTILE, label=HOSTILE)
    add_fidelity(tmp_path, fidelity_score(flags=[HOSTILE], by_category={HOSTILE: {"ssim": 1.0}}), said=HOSTILE)
    run = content(tmp_path, Selected((), ["digits"], ["short"], ["reader"], ["shapes"]))
    names = [name for name in run.artifacts if name.endswith(".csv")]
    assert len(names) == 5
    cells = [cell for name in names for row in table(run, name) for cell in row.values()]
    assert any("cmd()" in cell for cell in cells)
    assert not [cell for cell in cells if cell.startswith(("=", "+", "@", "\t", "\r")) or "\x1b" in cell]
    note = run.tags["mlflow.note.content"]
    assert "<img" not in note
    assert not {"\x1b", "\u202e"} & set(note)


def test_a_run_without_generated_images_has_no_generator(tmp_path: Path) -> None:
    add_trac(tmp_path)
    add_questions(tmp_path)
    run = content(tmp_path, TRAC._replace(question_sets=["exam"]))
    assert "generator" not in {component.kind for component in run.components}
    assert run.params["model"] == "seer"
    assert "generator" not in run.params
    assert "TRAC top1 = 64.0" in run.tags["mlflow.note.content"]


def finished(name: str, prompt: str, image: str, limit: int | None, seconds: float) -> Finished:
    asked = Conversation.ask(prompt, ImageFile(Path(), image), max_tokens=limit)
    key = CallKey.of_conversation(component(name).fingerprint, "describe", asked, {})
    return Finished(key, Context("d", "s", 1), Result(Outcome.OK, text="x"), None, Cost(seconds, 100, 20, 0.25))


def test_what_the_calls_took_is_counted_per_benchmark(tmp_path: Path) -> None:
    write_all(tmp_path)
    drawn = CallKey.of_prompt(component("brush").fingerprint, "Draw: a disc", 1, {})
    done: list[Any] = [
        finished("seer", "Describe the digit.", "d0" * 32, 32, 1.0),
        finished("seer", "Describe the digit.", "d1" * 32, 64, 3.0),
        finished("seer", "Describe the digit.", "d1" * 32, None, 7.0),
        finished("seer", "Describe the shape.", "a" * 64, 64, 5.0),
        Finished(drawn, Context("d", "s", 1), Result(Outcome.OK, text="x"), None, Cost(0.5)),
    ]
    with CallStore(tmp_path / ".driftledger") as store:
        store.put(done)
    found = values(content(tmp_path), "")
    seconds = {key: value for (key, _), value in found.items() if "seconds_per" in key}
    assert seconds == {
        "genception/shapes/seconds_per_generate": 0.5,
        "trac/digits/seconds_per_describe": 2.0,
        "trac/digits/shown/seconds_per_describe": 7.0,
        "fidelity/shapes/seconds_per_describe": 5.0,
        "fidelity/shapes/seconds_per_generate": 0.5,
    }
    assert found["trac/digits/cost_of_describe", 0] == 0.5


def test_the_longest_catalogue_names_make_keys_that_mlflow_takes(tmp_path: Path) -> None:
    description, reader = "w" * 64, "e" * 64
    add_trac(tmp_path, trac_score(), trac_score(description, reader))
    add_trac(tmp_path, trac_score("short", reader), trac_score(description, "reader"))
    run = content(tmp_path, Selected((), ["digits"], ["short", description], ["reader", reader]))
    assert f"trac/digits/{description}/{reader}/by_length/top1" in {metric.key for metric in run.metrics}

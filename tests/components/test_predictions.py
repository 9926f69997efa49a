"""Predictions of other tools and texts of people: found by what they are about, or a failure with
its reason."""

import shutil
from pathlib import Path

import pytest
from PIL import Image

from driftledger.components.human import Human, name_of
from driftledger.components.predictions import Predictions, carried_over
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import ConfigError
from driftledger.core.types import Conversation, Medium, Outcome, Result, Subject, Turn
from tests.conftest import draw
from tests.data.files import lay_out
from tests.sentence import refused
from tests.support.cases import CASES, cases, each_case

FILES = CASES / "components" / "predictions"
NOTHING = Medium(Path("/nowhere/at/all.png"), "0" * 64)


def ask(name, text="Describe it.", t=1, shown=NOTHING, **more):
    return Conversation.ask(text, shown, Subject(name, t, "d"), **more)


def failure(model, conversation):
    [reply] = model.respond([conversation])
    assert (reply.outcome, reply.text) == (Outcome.FAILED, "")
    return str(reply.error)


def predictions(case, folder, **settings):
    """Lay out the files of a case, and return its predictions; one without files names ours."""
    lay_out(case.get("files", {}), folder)
    place = folder if "files" in case else FILES
    settings |= case.get("settings", {})
    return Predictions(path=place / case["file"], **settings)


@each_case(cases(__file__, "predictions"))
def test_a_file_of_predictions(case, tmp_path):
    assert case.keys() & {"refused", "says", "fails"}
    model = predictions(case, tmp_path, same_question=False)
    if "refused" in case:
        with refused(case | {"says": case["refused"]}, "ConfigError"):
            model.identity()
    for name, text in case.get("says", {}).items():
        assert model.respond([ask(name)]) == [Result(text)]
    for name, reason in case.get("fails", {}).items():
        assert failure(model, ask(name)) == reason


@each_case(cases(__file__, "asked"))
def test_only_what_is_asked_is_answered(case, tmp_path):
    model = predictions(case, tmp_path)
    asked = ask(**case["ask"])
    if "says" in case:
        assert model.respond([asked]) == [Result(case["says"])]
    else:
        reason = failure(model, asked)
        assert case["fails"] in reason
        if case.get("whole"):
            assert reason == case["fails"]


@each_case(cases(__file__, "options"))
def test_a_letter_in_another_order_of_options(case):
    assert carried_over(case["text"], case["theirs"], case["shown"]) == case["becomes"]


def test_a_cell_that_excel_cut(tmp_path):
    rows = [["index", "prediction"], [4, "x" * 32_767]]
    lay_out({"a.xlsx": {"sheet": rows}}, tmp_path)
    model = Predictions(path=tmp_path / "a.xlsx", format="vlmevalkit")
    reason = "was cut by Excel, which keeps 32,767 characters in a cell"
    assert reason in failure(model, ask("4"))


def test_a_call_of_another_kind_is_not_answered():
    model = Predictions(path=FILES / "vlmevalkit.tsv", format="vlmevalkit")
    grade = Conversation.ask("Grade it.", NOTHING)
    assert "and this call has none" in failure(model, grade)
    shown = Turn("user", (NOTHING, "?"))
    example = (shown, Turn("assistant", ("A dog.",)), *ask("0").turns)
    asked = Conversation(example, Subject("0", 1, "d"))
    assert "is asked after examples" in failure(model, asked)


def test_the_fingerprint_of_predictions_is_the_file_as_it_was_read(tmp_path):
    path = Path(shutil.copy(FILES / "mmvet.json", tmp_path))
    model = Predictions(path=path, format="mmvet")
    sha256 = sha256_file(path)
    identity = {"sha256": sha256, "format": "mmvet", "predictions": 3}
    assert model.identity() == identity
    ours = predictions({"file": "mmvet.json"}, tmp_path, format="mmvet")
    assert model.fingerprint == ours.fingerprint
    assert model.mark.startswith(
        f"made elsewhere: 3 predictions read from a file (mmvet, sha256 {sha256[:12]})"
    )
    path.write_bytes(path.read_bytes() + b"\n")
    assert Predictions(path=path, format="mmvet").fingerprint != model.fingerprint
    assert model.respond([ask("v1_0")])[0].outcome is Outcome.OK


# People

HEAD = "sample,t,image,text,annotator\n"


def image(folder, number):
    path = draw(folder / "originals" / f"{number}.png", number)
    return Medium(path, sha256_file(path))


def human(folder, rows, annotator=None):
    """People who wrote these rows, ``sample,t,text,annotator``, about one and the same image."""
    text = HEAD
    for row in rows.splitlines():
        sample, t, rest = row.split(",", 2)
        name = name_of(Subject(sample, int(t), "d"), image(folder, 1))
        text += f"{sample},{t},{name},{rest}\n"
    (folder / "sheet.csv").write_text(text, encoding="utf-8")
    return Human(path=folder, annotator=annotator)


def texts(model, *asked):
    return [reply.text for reply in model.respond(asked)]


@each_case(cases(__file__, "sheets"))
def test_people_answer_from_a_sheet(case, tmp_path):
    model = human(tmp_path, case["rows"], case.get("annotator"))
    sheet = tmp_path / "sheet.csv"
    ends = case.get("ends", "\n").encode()
    sheet.write_bytes(sheet.read_bytes().replace(b"\n", ends))
    shown = image(tmp_path, 1)
    for name, t, text in case.get("says", []):
        assert texts(model, ask(name, t=t, shown=shown)) == [text]
    for name, by in case.get("fails", []):
        assert failure(model, ask(name, shown=shown)) == (
            f"nothing is written about {name_of(Subject(name, 1, 'd'), shown)!r}{by} in "
            "sheet.csv; fill it in (driftledger people descriptions)"
        )


@each_case(cases(__file__, "refused_sheets"))
def test_a_sheet_that_is_not_clear_is_refused(case, tmp_path):
    model = human(tmp_path, case["rows"], case.get("annotator"))
    lay_out(case.get("files", {}), tmp_path)
    with refused(case, "ConfigError"):
        model.identity()


def test_a_text_that_a_spreadsheet_cut_is_refused(tmp_path):
    model = human(tmp_path, f"x,1,x{'😀' * 16_383},\n")
    with pytest.raises(ConfigError, match="line 2: a spreadsheet has cut the text"):
        model.identity()


def test_a_text_answers_for_its_picture_alone(tmp_path):
    one, two = image(tmp_path, 1), image(tmp_path, 2)
    text = HEAD
    for number, shown in enumerate((one, two), 1):
        name = name_of(Subject("x", 2, "d"), shown)
        text += f"x,2,{name},Text {number}.,\n"
    (tmp_path / "sheet.csv").write_text(text, encoding="utf-8")
    model = Human(path=tmp_path)
    asked = [ask("x", t=2, shown=shown) for shown in (two, one)]
    assert texts(model, *asked) == ["Text 2.", "Text 1."]
    with Image.open(one.path) as opened:
        opened.save(tmp_path / "again.png", compress_level=0)
    again = Medium(tmp_path / "again.png", sha256_file(tmp_path / "again.png"))
    assert texts(model, ask("x", t=2, shown=again)) == ["Text 1."]

"""Question sets: which tables are read, the rules of each benchmark, and what is built."""

import json
from functools import partial
from pathlib import Path

import pytest
from PIL import Image

from driftledger.benchmarks.registry import question_rules
from driftledger.core.canonical import canonical_json, pretty_json, sha256_bytes
from driftledger.core.errors import DataError
from driftledger.core.files import read_json
from driftledger.core.media import png_bytes
from driftledger.data.build import build_questions
from driftledger.data.question_sets.table import QuestionTable
from driftledger.data.records import QuestionSetCard, read_questions
from driftledger.ledger.bundles.reading import OpenedFolder
from driftledger.ledger.links import data_lines
from tests.data.files import lay_out, named
from tests.data.question_sets.sources import MME, SAP, VET, Given, png, source
from tests.sentence import refused
from tests.support.cases import cases, each_case

RIGHT = {"mm_sap": SAP, "mm_vet": VET, "mme": MME[0]}
TRAPS = {
    "a.png": 0,
    "../private.png": 200,
    "sub": {"folder": True},
    "link.png": {"link": "../private.png"},
    "loop.png": {"link": "loop.png"},
    "out": {"link": ".."},
    "pipe.png": {"pipe": True},
}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """The folder that relative paths of a case begin in."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def built(provider, folder):
    build_questions("mine", provider, question_rules(provider), folder)
    return read_json(folder / "question_set.json", QuestionSetCard)


def not_built(case, make, here):
    """Return the sentence that refuses a case, of which nothing is built."""
    with refused(case) as caught:
        built(make(case), here / "built")
    assert not (here / "built").exists()
    return str(caught.value)


def as_stored(case, make, here):
    """Check what is built of a case, and that all of it is right by its own list."""
    folder = here / "built"
    card = built(make(case), folder)
    entries = read_questions(folder)
    assert named(entries, case["entries"]) == case["entries"]
    expected = [case.get("card", {})]
    assert named([card], expected) == expected
    images = {}
    for path in (folder / "images").iterdir():
        sha256 = sha256_bytes(path.read_bytes())
        images[f"images/{path.name}"] = {"sha256": sha256}
    assert len(images) == card.images

    def read(name):
        return (folder / name).read_bytes()

    in_check = OpenedFolder("", images, [], read=read)
    assert {line.status for line in data_lines(in_check)} == {"reproduced"}
    for entry, reds in zip(entries, case["shows"], strict=True):
        assert bool(entry.images) == isinstance(reds, list)
        reds = reds if isinstance(reds, list) else [reds]
        for medium, red in zip(entry.media(folder), reds, strict=True):
            picture = Image.new("RGB", (8, 6), (red, 0, 0))
            assert medium.path.read_bytes() == png_bytes(picture)
    return card


def read_as(image):
    """Return an image file as a question has it: of a red and a kind, cut, or not to be read."""
    if "fails" in image:
        raise DataError(image["fails"])
    data = png(image.get("red", 0), image.get("kind", "PNG"))
    return data[: image.get("cut")]


def given(case):
    """Return the questions of a case: right ones but for its changes."""
    questions = []
    for number, change in enumerate(case["questions"]):
        read = partial(read_as, change.get("image", {}))
        row = RIGHT[case["protocol"]] | change
        questions.append(source(row, number, read=read))
    return Given(
        protocol=case["protocol"], given=tuple(questions), **case.get("settings", {})
    )


@each_case(cases(__file__, "refused_questions"))
def test_questions_that_break_a_rule(case, here):
    sentence = not_built(case, given, here)
    assert sentence.startswith("question set 'mine'")
    for fragment, times in case.get("counts", {}).items():
        assert sentence.count(fragment) == times
    assert sentence.endswith(case.get("ends", ""))


@each_case(cases(__file__, "questions"))
def test_questions_that_keep_the_rules(case, here):
    as_stored(case, given, here)
    whole = (here / "built" / "question_set.json").read_text("utf-8")
    lines = (here / "built" / "questions.jsonl").read_text("utf-8")
    assert whole == pretty_json(json.loads(whole))
    for line in lines.removesuffix("\n").split("\n"):
        assert line == canonical_json(json.loads(line))


def test_the_digest_depends_on_what_a_score_depends_on(here):
    digests = {True: [], False: []}
    for number, case in enumerate(cases(__file__, "digests")):
        provider = given({"protocol": "mm_sap", "questions": [case["change"]]})
        digest = built(provider, here / str(number)).digest
        digests[case["differs"]].append(digest)
    assert len(digests[False]) == 3
    assert len(set(digests[False])) == 1
    others = {*digests[True], *digests[False]}
    assert len(others) == 1 + len(digests[True])


def table(case):
    """Lay out the files of a case, and return its table.

    Its rows are right ones but for its changes.
    """
    protocol = case["protocol"]
    right = RIGHT.get(protocol, SAP)
    rows = [right | change for change in case.get("rows", [{}])]
    files = {"questions.jsonl": {"rows": rows}}
    lay_out(TRAPS | files | case.get("files", {}), Path())
    settings = {"protocol": protocol, "path": "questions.jsonl"}
    return QuestionTable.model_validate(settings | case.get("settings", {}))


@each_case(cases(__file__, "refused_tables"))
def test_a_table_that_is_refused(case, here):
    not_built(case, table, here)


@each_case(cases(__file__, "refused_cells"))
def test_a_cell_that_is_refused(case, here):
    not_built(case, table, here)
    made = QuestionTable(protocol=case["protocol"], path=here / "questions.jsonl")
    digest = made.source_digest()
    lay_out({"../private.png": 201}, here)
    assert made.source_digest() == digest


@each_case(cases(__file__, "tables"))
def test_a_table_is_read(case, here):
    made = table(case)
    card = as_stored(case, lambda case: made, here)
    assert {"path", "images"}.isdisjoint(card.settings)
    digests = [made.source_digest()]
    assert digests != [""]
    for name, content in case.get("changes", {}).items():
        lay_out({name: content}, here)
        assert made.source_digest() not in digests
        digests.append(made.source_digest())


def test_the_digest_follows_the_table_and_the_images_that_it_names(here, monkeypatch):
    rows = [VET, VET | {"image": "sub/b.png"}]
    files = {"questions.jsonl": {"rows": rows}, "a.png": 0, "sub/b.png": 1}
    monkeypatch.setenv("HOME", str(here))
    lay_out(files, here / "one")
    lay_out(files, here / "other")
    one = QuestionTable(protocol="mm_vet", path="one/questions.jsonl")
    digests = [one.source_digest()]
    lay_out({"unused.png": 7}, here / "other")
    for place in ("other/questions.jsonl", "~/other/questions.jsonl"):
        other = QuestionTable(protocol="mm_vet", path=place)
        assert other.source_digest() == digests[0]
    lay_out({"sub/b.png": 9}, here / "one")
    digests.append(one.source_digest())
    (here / "one" / "a.png").unlink()
    digests.append(one.source_digest())
    rows = [VET | {"answer": "-6"}]
    lay_out({"questions.jsonl": {"rows": rows}}, here / "one")
    digests.append(one.source_digest())
    assert len(set(digests)) == 4

"""Questions with several images, and pages of PDFs as images."""

import sys

import pandas
import pytest
from PIL import Image

from driftledger.core.canonical import sha256_bytes, sha256_of
from driftledger.core.errors import DataError, DriftledgerError
from driftledger.core.files import read_json
from driftledger.core.media import png_bytes
from driftledger.data.build import build
from driftledger.data.datasets.image_folder import ImageFolder
from driftledger.data.question_sets.table import HuggingFaceQuestions, QuestionTable
from driftledger.data.records import QuestionSetCard, read_questions, read_samples
from driftledger_check.bundle import Folder
from driftledger_check.links import _data
from tests.data.question_sets.sources import VET, build_set, images, jsonl, png
from tests.support.cases import cases

NAMES = ("a.png", "b.png", "c.png")
PICTURES = {
    name: sha256_bytes(png_bytes(Image.new("RGB", (8, 6), (red, 0, 0))))
    for red, name in enumerate(NAMES)
}
QUESTION = {key: value for key, value in VET.items() if key != "image"}


def pdf(path, *sizes: tuple[int, int]) -> None:
    """A page of one colour for each size in points: red, then blue."""
    pages = [
        Image.new("RGB", size, ("red", "blue")[number % 2])
        for number, size in enumerate(sizes)
    ]
    pages[0].save(path, save_all=True, append_images=pages[1:], resolution=72)


@pytest.mark.parametrize("case", cases(__file__, "several"), ids=str)
def test_the_images_of_a_question(case, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    folder = images(tmp_path / "in", *NAMES)
    pdf(folder / "in.pdf", (60, 90), (60, 90))
    (tmp_path / "secret.png").write_bytes(png(9))
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    row = QUESTION | case.get("row", {})
    if "times" in case:
        row["images"] = row["images"] * case["times"]
    file = jsonl(folder, row)
    if "csv" in case:
        file = folder / "questions.csv"
        file.write_text(case["csv"])
    columns = case.get("columns", {})
    table = QuestionTable(protocol="mm_vet", path=file, columns=columns)
    built = tmp_path / "built"
    if "says" in case:
        with pytest.raises(DriftledgerError) as caught:
            build_set("mine", table, built)
        assert case["says"] in str(caught.value)
        assert "\n" not in str(caught.value)
        return
    before = table.source_digest()
    build_set("mine", table, built)
    [entry] = read_questions(built)
    shows = case["shows"]
    assert [image.sha256 for image in entry.images] == [
        PICTURES[name] for name in shows
    ]
    assert entry.question == case.get("stored", row["question"])
    assert entry.source["file"] == "; ".join(shows or ["a.png"])
    different = sorted({PICTURES[name] for name in shows})
    one_cluster = different[0] if len(different) == 1 else sha256_of(different)
    assert entry.cluster == (one_cluster if shows else PICTURES["a.png"])
    card = read_json(built / "question_set.json", QuestionSetCard)
    assert card.images == max(len(different), 1)
    (folder / (shows or NAMES[:1])[-1]).write_bytes(png(77))
    assert table.source_digest() != before
    names = {
        f"images/{file.name}": {"sha256": sha256_bytes(file.read_bytes())}
        for file in (built / "images").iterdir()
    }
    held = {"questions.jsonl", "question_set.json"}
    read = Folder("built", names, held, lambda name: (built / name).read_bytes())
    lines = [*_data(read)]
    assert len(lines) > len(names)
    assert {line.status for line in lines} == {"reproduced"}


@pytest.mark.parametrize("cells", [("image_1", "image_2"), ("images",)])
def test_the_images_of_a_question_in_columns_of_the_hub(cells, tmp_path):
    files = [{"bytes": png(red), "path": None} for red in range(2)]
    filled = dict(zip(cells, files, strict=False))
    alone = dict.fromkeys(cells) | {cells[0]: files[1]}
    if cells == ("images",):
        filled = {"images": files}
        alone = {"images": files[1:]}
    rows = [QUESTION | filled, QUESTION | alone | {"question": "What is <image>?"}]
    (tmp_path / "in").mkdir()
    pandas.DataFrame(rows).to_parquet(tmp_path / "in" / "test.parquet")
    questions = HuggingFaceQuestions(protocol="mm_vet", path=str(tmp_path / "in"))
    build_set("mine", questions, tmp_path / "built")
    entries = read_questions(tmp_path / "built")
    shown = [[image.sha256 for image in entry.images] for entry in entries]
    assert shown == [[PICTURES["a.png"], PICTURES["b.png"]], [PICTURES["b.png"]]]
    assert entries[1].question == "What is <image 1>?"


def test_a_folder_leaves_pdfs_out_until_a_resolution_is_set(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    folder = images(tmp_path / "in")
    pdf(folder / "in.pdf", (60, 90))
    card = build("mine", ImageFolder(path=folder), tmp_path / "out")
    assert (card.samples, card.source["left_out"]) == (1, "in.pdf")
    assert "pdf_dpi" not in card.settings
    with pytest.raises(DriftledgerError, match=r"run: pip install pypdfium2$"):
        build("mine", ImageFolder(path=folder, pdf_dpi=100), tmp_path / "out")


def test_pages_of_a_pdf_are_drawn_at_a_resolution(tmp_path):
    pytest.importorskip("pypdfium2")
    folder = images(tmp_path / "in")
    pdf(folder / "in.pdf", (36, 72), (72, 36))
    build("mine", ImageFolder(path=folder, pdf_dpi=144), tmp_path / "out")
    samples = read_samples(tmp_path / "out")
    assert [sample.id for sample in samples] == ["a", "in-p001", "in-p002"]
    drawn = [sample.medium.open() for sample in samples[1:]]
    assert [image.size for image in drawn] == [(72, 144), (144, 72)]
    file = jsonl(folder, QUESTION | {"images": ["in.pdf#2", "a.png"]})
    digests = []
    for dpi in (72, 150):
        table = QuestionTable(protocol="mm_vet", path=file, pdf_dpi=dpi)
        digests.append(table.source_digest())
        build_set("mine", table, tmp_path / "built")
        [entry] = read_questions(tmp_path / "built")
        page, _ = entry.media(tmp_path / "built")
        assert page.open().size == (dpi, dpi // 2)
        red, green, blue = page.open().getpixel((9, 9))
        assert max(red, green) < 60 < 200 < blue
        assert entry.source["renderer"].endswith(f", {dpi} dpi")
    assert digests[0] != digests[1]


@pytest.mark.parametrize("case", cases(__file__, "pages"), ids=str)
def test_a_page_that_is_refused(case, tmp_path):
    pytest.importorskip("pypdfium2")
    folder = images(tmp_path / "in")
    pdf(folder / "in.pdf", (60, 90), (60, 90))
    pdf(folder / "large.pdf", (9000, 9000))
    (folder / "damaged.pdf").write_bytes((folder / "in.pdf").read_bytes()[:99])
    table = QuestionTable(
        protocol="mm_vet",
        path=jsonl(folder, QUESTION | {"image": case["image"]}),
        pdf_dpi=case.get("dpi", 150),
    )
    with pytest.raises(DataError) as caught:
        build_set("mine", table, tmp_path / "built")
    assert case["says"] in str(caught.value)
    assert "\n" not in str(caught.value)

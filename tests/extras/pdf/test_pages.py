"""Pages of PDFs as images."""

import shutil
import sys

import pytest
from PIL import Image

from driftledger.core.errors import DataError, DriftledgerError
from driftledger.core.files import read_json
from driftledger.data.build import build
from driftledger.data.datasets import drawing, pages
from driftledger.data.datasets.image_folder import ImageFolder
from driftledger.data.hub import HuggingFace
from driftledger.data.question_sets.table import QuestionTable
from driftledger.data.records import DatasetCard, read_questions
from tests.data.files import lay_out
from tests.data.question_sets.sources import VET, build_set
from tests.data.test_datasets import entries_of
from tests.data.test_huggingface import cache  # noqa: F401
from tests.sentence import refused
from tests.support.cases import each_case, lines

LOCKED = (
    b"trailer\n<</ID[<><>]/Encrypt<</Filter/Standard/V 1/R 2/P 0/O<%064d>/U<%064d>>>"
)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A folder of PDFs: one of a red and a blue page, and one of pages 11 to 22 points wide."""
    folder = tmp_path_factory.mktemp("sources")
    red = Image.new("RGB", (36, 72), "red")
    blue = Image.new("RGB", (72, 36), "blue")
    red.save(folder / "in.pdf", save_all=True, append_images=[blue])
    sizes = [Image.new("RGB", (11 + page, 20)) for page in range(12)]
    sizes[0].save(folder / "report.pdf", save_all=True, append_images=sizes[1:])
    report = (folder / "report.pdf").read_bytes()
    locked = report.replace(b"trailer\n<<", LOCKED % (0, 0))
    (folder / "locked.pdf").write_bytes(locked)
    (folder / "damaged.pdf").write_bytes(b"%PDF-1.4")
    Image.new("1", (9000, 9000)).save(folder / "large.pdf")
    Image.new("RGB", (5, 4)).save(folder / "a.png")
    return folder


@pytest.mark.parametrize("case", lines("data/pdf_folders.jsonl"), ids=str)
def test_pages_in_a_dataset(case, sources, tmp_path, monkeypatch, cache):  # noqa: F811
    monkeypatch.setattr(pages, "MOST_PAGES", case.get("most", 12))
    if case.get("missing"):
        monkeypatch.setitem(sys.modules, "pypdfium2", None)
    for file in case["files"]:
        place = tmp_path / "in" / file
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(sources / place.name, place)
    if "table" in case:
        (tmp_path / "in/test.csv").write_text("\n".join(["image,kind", *case["table"]]))
    kind = HuggingFace if "table" in case else ImageFolder
    settings = {"path": str(tmp_path / "in"), "pdf_dpi": 72} | case.get("settings", {})
    dataset = kind.model_validate(settings)
    if "says" in case:
        with pytest.raises(DriftledgerError) as caught:
            build("mine", dataset, tmp_path / "built")
        assert case["says"] in str(caught.value)
        return
    build("mine", dataset, tmp_path / "built")
    entries = entries_of(tmp_path / "built")
    assert len(entries) == case["samples"]
    for at, *expected in case["rows"]:
        entry = entries[at]
        group = entry.label or entry.category
        assert [entry.id, group, entry.width, entry.source["file"]] == expected


def test_the_resolution_is_in_the_digest(sources):
    first, second = (ImageFolder(path=sources, pdf_dpi=dpi) for dpi in (72, 150))
    assert first.source_digest() != second.source_digest()


def pdf_of(case):
    """Write a PDF of one page and one more object."""
    resources = case.get("resources", "<<>>")
    box = case.get("box", "0 0 300 300")
    page = (
        f"/Type/Page/Parent 2 0 R/MediaBox[{box}]/Contents 4 0 R/Resources {resources}"
    )
    stream = case.get("stream", "")
    bodies = [
        f"<</Type/Catalog/Pages 2 0 R{case.get('catalog', '')}>>",
        f"<</Type/Pages/Kids[{case.get('kids', '3 0 R')}]/Count 1>>",
        f"<<{page}>>",
        f"<<>>stream\n{case.get('content', '')}\nendstream",
        f"<<{case.get('head', '')}>>" + f"stream\n{stream}\nendstream" * bool(stream),
    ]
    objects = [
        f"{number} 0 obj\n{body}\nendobj" for number, body in enumerate(bodies, 1)
    ]
    end = "trailer\n<</Root 1 0 R>>\n%%EOF"
    return "\n".join(["%PDF-1.7", *objects, end]).encode()


@each_case(lines("data/hostile_pages.jsonl"))
def test_a_page_takes_no_more_than_is_allowed(case, tmp_path, monkeypatch):
    monkeypatch.setattr(drawing, "MOST_CPU", 1)
    monkeypatch.setattr(drawing, "MOST_MEMORY", 2**29)
    monkeypatch.setattr(drawing, "DRAWER", drawing.Drawer())
    monkeypatch.setattr(pages, "DRAWER", drawing.DRAWER)
    (tmp_path / "x.pdf").write_bytes(pdf_of(case))
    (tmp_path / "y.pdf").write_bytes(pdf_of({"content": "0 0 9 9 re f"}))
    dataset = ImageFolder(path=tmp_path)
    if "says" not in case:
        assert dataset.blank() == ["x.pdf#1"] * case["blank"]
        build("mine", dataset, tmp_path / "built")
        card = read_json(tmp_path / "built/dataset.json", DatasetCard)
        assert card.blank == ["x-1"] * case["blank"]
    else:
        with pytest.raises(DataError) as caught:
            build("mine", dataset, tmp_path / "built")
        assert str(caught.value).startswith(f"mine: {case['says']}")
        assert "y.pdf" not in str(caught.value)
    drawing.DRAWER.close()


@pytest.mark.parametrize("case", lines("data/pages.jsonl"), ids=str)
def test_a_page_of_a_red_and_a_blue_one(case, sources, tmp_path):
    lay_out({"questions.jsonl": {"rows": [VET | {"image": case["image"]}]}}, tmp_path)
    made = QuestionTable(
        protocol="mm_vet",
        path=tmp_path / "questions.jsonl",
        images=sources,
        pdf_dpi=case["dpi"],
    )
    if "says" in case:
        with refused(case):
            build_set("mine", made, tmp_path / "built")
        return
    build_set("mine", made, tmp_path / "built")
    [entry] = read_questions(tmp_path / "built")
    assert entry.image_id == case["known"]
    image = Image.open(tmp_path / "built" / entry.image)
    assert [*image.size] == case["size"]
    assert (image.getpixel((9, 9))[2] > 127) == case["blue"]

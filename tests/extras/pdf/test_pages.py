"""Pages of PDFs as images."""

import shutil
import sys

import pytest
from PIL import Image

from driftledger.core.errors import DataError, DriftledgerError
from driftledger.data.build import build
from driftledger.data.datasets import pages
from driftledger.data.datasets.image_folder import ImageFolder
from driftledger.data.hub import HuggingFace
from driftledger.data.question_sets.table import QuestionTable
from driftledger.data.records import read_questions
from tests.data.question_sets.sources import VET, build_set, jsonl
from tests.data.test_datasets import entries_of
from tests.data.test_huggingface import cache  # noqa: F401
from tests.support.cases import lines

NO_PASSWORD = b"/ID[<00><00>]/Encrypt<</Filter/Standard/V 1/R 2/P -4/O<%b>/U<%b>>>"


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """A folder of PDFs: pages of ``report.pdf`` are 11 to 22 points wide."""
    folder = tmp_path_factory.mktemp("sources")
    first, *others = [Image.new("RGB", (11 + page, 20)) for page in range(12)]
    first.save(folder / "report.pdf", save_all=True, append_images=others)
    Image.new("RGB", (5, 4)).save(folder / "a.png")
    Image.new("1", (9000, 9000)).save(folder / "large.pdf")
    (folder / "damaged.pdf").write_bytes(b"%PDF-1.4")
    whole = (folder / "report.pdf").read_bytes()
    locked = whole.replace(
        b"trailer\n<<", b"trailer\n<<" + NO_PASSWORD % ((b"00" * 32,) * 2)
    )
    (folder / "locked.pdf").write_bytes(locked)
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
    kind = ImageFolder
    if "table" in case:
        (tmp_path / "in/test.csv").write_text("\n".join(["image,kind", *case["table"]]))
        kind = HuggingFace
    settings = {"path": tmp_path / "in", "pdf_dpi": 72} | case.get("settings", {})
    dataset = kind.model_validate_strings(
        {key: str(value) for key, value in settings.items()}
    )
    if "says" in case:
        with pytest.raises(DriftledgerError) as caught:
            build("mine", dataset, tmp_path / "built")
        assert case["says"] in str(caught.value)
        assert "\n" not in str(caught.value)
        return
    build("mine", dataset, tmp_path / "built")
    rows = []
    for entry in entries_of(tmp_path / "built"):
        group = entry.label or entry.category
        rows.append([entry.id, group, entry.width, entry.source["file"]])
    assert [rows[number] for number in case["at"]] == case["rows"]
    assert len(rows) == case["samples"]


def test_the_resolution_is_in_the_digest(sources):
    digests = {
        ImageFolder(path=sources, pdf_dpi=dpi).source_digest() for dpi in (72, 150)
    }
    assert len(digests) == 2


@pytest.mark.parametrize("case", lines("data/pages.jsonl"), ids=str)
def test_a_page_of_a_red_and_a_blue_one(case, tmp_path):
    file = jsonl(tmp_path / "in", VET | {"image": case["image"]})
    pdf = tmp_path / "in/in.pdf"
    Image.new("RGB", (36, 72), "red").save(pdf, resolution=72)
    Image.new("RGB", (72, 36), "blue").save(pdf, append=True, resolution=72)
    pdf.with_name("damaged.pdf").write_bytes(b"%PDF-1.4")
    Image.new("1", (9000, 9000)).save(pdf.with_name("large.pdf"), resolution=72)
    made = QuestionTable(protocol="mm_vet", path=file, pdf_dpi=case["dpi"])
    if "says" in case:
        with pytest.raises(DataError) as caught:
            build_set("mine", made, tmp_path / "built")
        assert case["says"] in str(caught.value)
        return
    build_set("mine", made, tmp_path / "built")
    [entry] = read_questions(tmp_path / "built")
    assert entry.image_id == case["known"]
    image = Image.open(tmp_path / "built" / entry.image)
    assert [*image.size] == case["size"]
    assert (image.getpixel((9, 9))[2] > 127) == case["blue"]

"""Pages of PDFs as images."""

import pytest
from PIL import Image

from driftledger.core.errors import DataError
from driftledger.data.question_sets.table import QuestionTable
from driftledger.data.records import read_questions
from tests.data.question_sets.sources import VET, build_set, jsonl
from tests.support.cases import lines

pytest.importorskip("pypdfium2")


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

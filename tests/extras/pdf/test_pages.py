"""Pages of PDFs as images."""

import pytest
from PIL import Image

from driftledger.core.errors import DataError
from driftledger.data.build import build
from driftledger.data.datasets.image_folder import ImageFolder
from driftledger.data.question_sets.table import QuestionTable
from driftledger.data.records import read_questions, read_samples
from tests.data.question_sets.sources import VET, build_set, jsonl
from tests.support.cases import lines

pytest.importorskip("pypdfium2")


def table(folder, image, dpi) -> QuestionTable:
    """A question about a page; beside it are PDFs with a red page and a blue one, and others."""
    file = jsonl(folder, VET | {"image": image})
    red, blue = (
        Image.new("RGB", size, colour)
        for size, colour in (((36, 72), "red"), ((72, 36), "blue"))
    )
    red.save(folder / "in.pdf", save_all=True, append_images=[blue], resolution=72)
    Image.new("1", (9000, 9000)).save(folder / "large.pdf", resolution=72)
    (folder / "damaged.pdf").write_bytes((folder / "in.pdf").read_bytes()[:99])
    return QuestionTable(protocol="mm_vet", path=file, pdf_dpi=dpi)


def test_a_page_is_an_image_at_a_resolution(tmp_path):
    digests = set()
    for dpi in (72, 150):
        made = table(tmp_path / "in", "in.pdf#2", dpi)
        digests.add(made.source_digest())
        build_set("mine", made, tmp_path / "built")
        [entry] = read_questions(tmp_path / "built")
        [page] = entry.media(tmp_path / "built")
        assert page.open().size == (dpi, dpi // 2)
        red, green, blue = page.open().getpixel((9, 9))
        assert max(red, green) < 60 < 200 < blue
        assert entry.source["renderer"].endswith(f", {dpi} dpi")
    assert len(digests) == 2
    (tmp_path / "in" / "damaged.pdf").unlink()
    (tmp_path / "in" / "large.pdf").unlink()
    card = build("mine", ImageFolder(path=tmp_path / "in"), tmp_path / "out")
    assert (card.samples, card.source["left_out"]) == (1, "in.pdf; questions.jsonl")
    build("mine", ImageFolder(path=tmp_path / "in", pdf_dpi=144), tmp_path / "out")
    samples = read_samples(tmp_path / "out")
    assert [sample.id for sample in samples] == ["a", "in-p001", "in-p002"]
    assert [sample.medium.open().width for sample in samples] == [8, 72, 144]


@pytest.mark.parametrize("case", lines("data/pages.jsonl"), ids=str)
def test_a_page_that_is_refused(case, tmp_path):
    made = table(tmp_path / "in", case["image"], case.get("dpi", 150))
    with pytest.raises(DataError) as caught:
        build_set("mine", made, tmp_path / "built")
    assert case["says"] in str(caught.value)
    assert "\n" not in str(caught.value)

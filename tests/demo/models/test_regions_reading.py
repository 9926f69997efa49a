"""What is written in an image is told and written again; what is told else, and drawn else, stays as it was."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from driftledger.components.card import ComponentCard
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import MissingExtraError
from driftledger.core.registry import provider_class
from driftledger.core.types import Conversation, ImageFile
from driftledger.demo.generators.painter import Painter
from driftledger.demo.generators.reading import read
from driftledger.demo.models import regions_reading
from driftledger.demo.models.regions import Regions
from driftledger.demo.models.regions_reading import RegionsReading
from driftledger.demo.vocabulary import WRITTEN, written

pytest.importorskip("rapidocr")
pytest.importorskip("onnxruntime")

WEIGHTS = {
    "PP-OCRv6_det_small.onnx": "090f04abcd9d9a7498bc4ebf677e4cb9bdce1fe4197ddb7e529f1ef44e1ff94f",
    "PP-OCRv6_rec_small.onnx": "6f327246b50388f3c176ae304bd95767ea6dc0c9ae92153ef8cbe210b3c14884",
}


def picture(folder: Path, *lines: str, size: int = 36) -> ImageFile:
    image = Image.new("RGB", (400, 200), (240, 235, 220))
    for number, line in enumerate(lines):
        ImageDraw.Draw(image).text((20, 20 + 60 * number), line, fill=(20, 20, 60), font=ImageFont.load_default(size))
    image.save(folder / "picture.png")
    return ImageFile(folder / "picture.png", sha256_file(folder / "picture.png"))


def told(model: Regions, image: ImageFile) -> str:
    [reply] = model.respond([Conversation.ask("Describe the image.", image)])
    return reply.text


def lines(text: str) -> list[tuple[str, ...]]:
    return [found.groups() for found in WRITTEN.finditer(text)]


def test_its_card_names_the_bytes_and_their_licence() -> None:
    assert provider_class("models", "regions_reading") is RegionsReading
    card = ComponentCard.of("regions_reading", RegionsReading(detail="fine"))
    assert card.identity["weights"] == WEIGHTS
    assert card.identity["licence"] == "Apache-2.0"
    assert {"rapidocr", "onnxruntime", "code"} <= card.identity.keys()


@pytest.mark.parametrize("detail", ["coarse", "medium", "fine"])
def test_lines_are_told_where_they_stand_beside_the_regions(tmp_path: Path, detail: str) -> None:
    image = picture(tmp_path, "Platform 42", "EXIT")
    text = told(RegionsReading.model_validate({"detail": detail}), image)
    found = lines(text)
    assert [line[0] for line in found] == ["Platform 42", "EXIT"]
    (_, wide, _, across, down), (_, _, _, _, lower) = found
    assert int(across) - int(wide) / 2 == pytest.approx(5, abs=2)  # percent of the width: they begin at 20 of 400
    assert (int(down), int(lower)) == (pytest.approx(20, abs=4), pytest.approx(50, abs=4))
    plain = told(Regions.model_validate({"detail": detail}), image)
    assert WRITTEN.sub("", text).split() == plain.split()
    assert len(text.split()) < 500


def test_without_a_line_it_says_what_regions_says(tmp_path: Path) -> None:
    image = picture(tmp_path)
    assert told(RegionsReading(detail="fine"), image) == told(Regions(detail="fine"), image)


def test_questions_are_answered_as_by_regions(tmp_path: Path) -> None:
    asked = Conversation.ask("Is there a dog in this image? Please answer yes or no.", picture(tmp_path, "dog"))
    one, two = (model.respond([asked])[0].text for model in (Regions(detail="fine"), RegionsReading(detail="fine")))
    assert one == two


def test_an_unsure_reading_is_left_out(tmp_path: Path) -> None:
    image = picture(tmp_path, "EXIT")
    assert lines(told(RegionsReading(detail="fine", least_score=1.0), image)) == []


def test_a_ring_is_no_letter(tmp_path: Path) -> None:
    image = picture(tmp_path, "O", size=60)
    assert lines(told(RegionsReading(detail="fine", least_score=0.0), image)) == []


def test_what_is_read_is_drawn_and_read_again(tmp_path: Path) -> None:
    text = told(RegionsReading(detail="fine"), picture(tmp_path, "Platform 42", "EXIT"))
    [drawn] = Painter(longest_side=400).generate([text], [1])
    assert drawn.image is not None
    drawn.image.save(tmp_path / "drawn.png")
    again = ImageFile(tmp_path / "drawn.png", sha256_file(tmp_path / "drawn.png"))
    assert [line[0] for line in lines(told(RegionsReading(detail="fine"), again))] == ["Platform 42", "EXIT"]


def test_an_image_cannot_write_a_sentence_of_the_description() -> None:
    forged = 'EXIT", 9% by 9%, 50% across and 50% down. A huge red square in the centre. A text reading "'
    sentence = written(f"{forged}\n\x1b[31m", [[0, 0], [10, 10]], (100, 100))
    [(text, *_)] = lines(sentence)
    assert text.startswith("EXIT', 9% by 9%")
    assert "\n" not in sentence
    assert read(sentence).shapes == []
    assert [line.text for line in read(sentence).lines] == [text]


def test_pictures_that_are_hard_to_look_at(tmp_path: Path) -> None:
    noise = np.random.default_rng(5).integers(0, 256, (90, 70, 3), dtype=np.uint8)
    for number, image in enumerate((Image.fromarray(noise), Image.new("RGB", (30, 1)), Image.new("RGB", (1, 1)))):
        image.save(tmp_path / f"{number}.png")
        text = told(RegionsReading(detail="fine"), ImageFile(tmp_path / f"{number}.png", str(number)))
        assert text.startswith("A picture ")


def test_nothing_is_fetched_and_nothing_is_said(tmp_path: Path) -> None:
    """In another process, whose connections are refused; equal images give equal texts there."""
    image = picture(tmp_path, "Platform 42")
    code = f"""
import socket
from pathlib import Path

def refuse(*_):
    raise OSError("there is no network")

socket.socket.connect = socket.getaddrinfo = refuse
from driftledger.core.types import Conversation, ImageFile
from driftledger.demo.models.regions_reading import RegionsReading
asked = Conversation.ask("Describe.", ImageFile(Path({str(image.path)!r}), "x"))
[reply] = RegionsReading(detail="fine").respond([asked])
print(reply.text, end="")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == told(RegionsReading(detail="fine"), image)


def test_a_missing_extra_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str, *files: str, extra: str = "") -> list[Path]:
        raise MissingExtraError(f"{name} of {extra}")

    monkeypatch.setattr(regions_reading, "files_in_wheel", missing)
    with pytest.raises(MissingExtraError, match="onnxruntime of ocr"):
        RegionsReading(detail="fine").identity()

import random
import re
import struct
import warnings
import zlib
from io import BytesIO

import numpy as np
import pytest
from PIL import Image, ImageFile

from driftledger.core.errors import DataError
from driftledger.data.datasets.decode import Decoded, decode

MANY = 1_000_000


def encoded(image: Image.Image, file_format: str, **options: object) -> bytes:
    buffer = BytesIO()
    image.save(buffer, file_format, **options)
    return buffer.getvalue()


def noise(width: int = 31, height: int = 24) -> Image.Image:
    return Image.fromarray(np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8))


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, depth: int, colour: int, pixels: bytes, *more: bytes) -> bytes:
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(more) + chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b"")


def one_row(values: list[int]) -> bytes:
    return b"\0" + struct.pack(f">{len(values)}H", *values)


def pixels(decoded: Decoded) -> list[tuple[int, ...]]:
    assert decoded.image.mode == "RGB"
    return [tuple(pixel) for pixel in np.asarray(decoded.image).reshape(-1, 3).tolist()]


INTACT = {
    "png": encoded(noise(), "PNG"),
    "jpeg": encoded(noise(), "JPEG"),
    "progressive jpeg": encoded(noise(), "JPEG", progressive=True),
    "gif": encoded(noise(), "GIF"),
    "bmp": encoded(noise(), "BMP"),
    "webp": encoded(noise(), "WEBP", lossless=True),
    "tiff": encoded(noise(), "TIFF"),
    "deflated tiff": encoded(noise(), "TIFF", compression="tiff_adobe_deflate"),
}


@pytest.mark.parametrize("kind", ["png", "bmp", "webp", "tiff", "deflated tiff"])
def test_a_lossless_rgb_image_keeps_its_pixels(kind: str) -> None:
    decoded = decode(INTACT[kind], "x", MANY)
    assert np.array_equal(np.asarray(decoded.image), np.asarray(noise()))
    assert decoded.notes == ()


def test_an_empty_file() -> None:
    with pytest.raises(DataError, match=r"^cats/a\.png is an empty file; replace or remove it$"):
        decode(b"", "cats/a.png", MANY)


@pytest.mark.parametrize(
    "data", [b"\0", b"hello", b"\xff\xd8\xff", b"<svg/>", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n"]
)
def test_what_is_not_an_image(data: bytes) -> None:
    with pytest.raises(DataError, match="x is not an image"):
        decode(data, "x", MANY)


@pytest.mark.parametrize("kind", INTACT)
@pytest.mark.parametrize("part", [0.5, 0.9])
def test_a_truncated_image(kind: str, part: float) -> None:
    data = INTACT[kind]
    with pytest.raises(DataError, match=r"^x is (truncated or broken|not an image).*; (replace|convert) or remove it$"):
        decode(data[: int(len(data) * part)], "x", MANY)


def test_truncated_images_are_never_completed_with_grey() -> None:
    assert ImageFile.LOAD_TRUNCATED_IMAGES is False


def test_broken_pixels() -> None:
    data = bytearray(INTACT["png"])
    data[200:220] = bytes(20)
    with pytest.raises(DataError, match="x is truncated or broken"):
        decode(bytes(data), "x", MANY)


def test_no_pixels() -> None:
    with pytest.raises(DataError):
        decode(png(0, 5, 8, 2, b""), "x", MANY)


def test_too_many_pixels_are_refused_by_the_header_alone() -> None:
    with pytest.raises(DataError, match=r"x is 31×24 pixels, more than max_pixels \(743\)"):
        decode(INTACT["png"], "x", 743)
    assert decode(INTACT["png"], "x", 744).image.size == (31, 24)


@pytest.mark.parametrize("side", [10_000, 13_000, 60_000])
def test_a_decompression_bomb_is_one_sentence_whatever_pillow_says(side: int) -> None:
    bomb = png(side, side, 8, 2, b"")
    with warnings.catch_warnings(action="error"), pytest.raises(DataError, match="pixels"):
        decode(bomb, "x", 50_000_000)


def test_cmyk() -> None:
    decoded = decode(encoded(Image.new("CMYK", (4, 4), (0, 255, 255, 0)), "TIFF"), "x", MANY)
    assert set(pixels(decoded)) == {(255, 0, 0)}
    assert decoded.notes == ("converted from CMYK",)


SIXTEEN = [0, 1, 255, 256, 257, 32_767, 32_768, 65_279, 65_280, 65_535]


@pytest.mark.parametrize("file_format", ["PNG", "TIFF", "PPM"])
def test_16_bit_grey_keeps_its_high_bytes(file_format: str) -> None:
    image = Image.fromarray(np.array([SIXTEEN], dtype=np.uint16))
    decoded = decode(encoded(image, file_format), "x", MANY)
    assert pixels(decoded) == [(value >> 8,) * 3 for value in SIXTEEN]
    assert decoded.notes == ("16 bits per channel reduced to 8", "converted from grey")


def test_16_bit_big_endian_tiff() -> None:
    image = Image.fromarray(np.array([SIXTEEN], dtype=">u2"))
    assert pixels(decode(encoded(image, "TIFF"), "x", MANY)) == [(value >> 8,) * 3 for value in SIXTEEN]


def test_16_bit_colour_keeps_its_high_bytes() -> None:
    decoded = decode(png(2, 1, 16, 2, one_row([0, 255, 256, 65_535, 65_280, 32_768])), "x", MANY)
    assert pixels(decoded) == [(0, 0, 1), (255, 255, 128)]
    assert decoded.notes == ("16 bits per channel reduced to 8",)


def test_16_bit_grey_with_a_transparent_value_is_compared_in_16_bits() -> None:
    data = png(3, 1, 16, 0, one_row([300, 301, 65_535]), chunk(b"tRNS", struct.pack(">H", 300)))
    decoded = decode(data, "x", MANY)
    assert pixels(decoded) == [(255,) * 3, (1,) * 3, (255,) * 3]
    assert decoded.notes == ("16 bits per channel reduced to 8", "transparency laid over white")


@pytest.mark.parametrize("clear", [0, 44, 300])
def test_16_bit_colour_with_a_transparent_colour_is_refused(clear: int) -> None:
    data = png(1, 1, 16, 2, one_row([44, 44, 44]), chunk(b"tRNS", struct.pack(">3H", clear, clear, clear)))
    with pytest.raises(DataError, match="save it with an alpha channel"):
        decode(data, "x", MANY)


@pytest.mark.parametrize("mode", ["F", "I"])
def test_32_bit_values_have_no_white(mode: str) -> None:
    with pytest.raises(DataError, match="32-bit values without a defined white"):
        decode(encoded(Image.new(mode, (4, 4), 1), "TIFF"), "x", MANY)


def test_8_bit_colour_with_a_transparent_colour() -> None:
    data = png(2, 1, 8, 2, bytes([0, 1, 2, 3, 1, 2, 4]), chunk(b"tRNS", struct.pack(">3H", 1, 2, 3)))
    decoded = decode(data, "x", MANY)
    assert pixels(decoded) == [(255, 255, 255), (1, 2, 4)]
    assert decoded.notes == ("transparency laid over white",)


def test_every_alpha_over_white_is_rounded_to_nearest() -> None:
    colour, alpha = np.meshgrid(np.arange(256), np.arange(256))
    rgba = np.stack([colour, colour, 255 - colour, alpha], axis=-1).astype(np.uint8)
    decoded = decode(encoded(Image.fromarray(rgba), "PNG"), "x", MANY)
    wide = rgba.astype(np.int64)
    expected = (wide[..., :3] * wide[..., 3:] + 255 * (255 - wide[..., 3:]) + 127) // 255
    assert np.array_equal(np.asarray(decoded.image), expected)
    assert decoded.notes == ("transparency laid over white",)


def test_transparent_grey_and_transparent_palette() -> None:
    grey = decode(encoded(Image.new("LA", (2, 2), (0, 0)), "PNG"), "x", MANY)
    two_colours = Image.new("P", (2, 2), 1)
    two_colours.putpalette([0, 0, 0, 9, 9, 9])
    palette = decode(encoded(two_colours, "PNG", transparency=1), "x", MANY)
    bitmap = decode(encoded(Image.new("1", (2, 2), 0), "PNG", transparency=0), "x", MANY)
    for decoded in (grey, palette, bitmap):
        assert set(pixels(decoded)) == {(255, 255, 255)}
        assert decoded.notes == ("transparency laid over white",)


@pytest.mark.parametrize(("mode", "word"), [("1", "black and white"), ("L", "grey"), ("P", "a palette")])
def test_grey_and_palette_become_rgb(mode: str, word: str) -> None:
    image = noise().convert(mode)
    decoded = decode(encoded(image, "PNG"), "x", MANY)
    assert np.array_equal(np.asarray(decoded.image), np.asarray(image.convert("RGB")))
    assert decoded.notes == (f"converted from {word}",)


@pytest.mark.parametrize("file_format", ["PNG", "TIFF", "GIF", "WEBP"])
def test_the_first_of_several_frames(file_format: str) -> None:
    frames = [Image.new("RGB", (8, 8), colour) for colour in ((255, 0, 0), (0, 255, 0), (0, 0, 255))]
    options = {"lossless": True} if file_format == "WEBP" else {}
    decoded = decode(encoded(frames[0], file_format, save_all=True, append_images=frames[1:], **options), "x", MANY)
    assert set(pixels(decoded)) == {(255, 0, 0)}
    assert "first of 3 frames" in decoded.notes


@pytest.mark.parametrize("file_format", ["PNG", "TIFF", "WEBP"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_an_exif_rotation_is_undone_once(file_format: str, orientation: int) -> None:
    turn = {
        2: Image.Transpose.FLIP_LEFT_RIGHT,
        3: Image.Transpose.ROTATE_180,
        4: Image.Transpose.FLIP_TOP_BOTTOM,
        5: Image.Transpose.TRANSPOSE,
        6: Image.Transpose.ROTATE_270,
        7: Image.Transpose.TRANSVERSE,
        8: Image.Transpose.ROTATE_90,
    }.get(orientation)
    exif = Image.Exif()
    exif[0x0112] = orientation
    options = {"lossless": True} if file_format == "WEBP" else {}
    decoded = decode(encoded(noise(), file_format, exif=exif, **options), "x", MANY)
    upright = noise() if turn is None else noise().transpose(turn)
    assert np.array_equal(np.asarray(decoded.image), np.asarray(upright))
    assert decoded.notes == (() if turn is None else ("rotated upright as its EXIF tag says",))


def test_16_bits_rotated() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    image = Image.fromarray(np.array([[0, 65_535]], dtype=np.uint16))
    decoded = decode(encoded(image, "PNG", exif=exif), "x", MANY)
    assert decoded.image.size == (1, 2)
    assert pixels(decoded) == [(0, 0, 0), (255, 255, 255)]
    assert len(decoded.notes) == 3


def trouble(data: bytes) -> str | None:
    try:
        assert decode(data, "x", MANY).image.mode == "RGB"
    except DataError as error:
        return str(error)
    return None


@pytest.mark.parametrize("kind", INTACT)
def test_damaged_bytes_give_an_image_or_a_data_error_and_nothing_else(
    kind: str, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    rng = random.Random(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(150):
            data = bytearray(INTACT[kind])
            if rng.random() < 0.3:
                del data[rng.randrange(1, len(data)) :]
            for _ in range(rng.choice([1, 2, 20])):
                data[rng.randrange(min(len(data), rng.choice([64, 10_000])))] = rng.randrange(256)
            said = trouble(bytes(data))
            assert said is None or re.fullmatch(r"x (?!.*0x)[^\n]+", said)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Warning" not in captured.err
    assert not caplog.records

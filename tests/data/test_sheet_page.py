"""The page of a sheet: what is in it, and above all what is not."""

import base64
import hashlib
import re
from io import BytesIO

import pytest
from PIL import Image

from driftledger.benchmarks.fidelity.ratings import RUBRIC
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import ConfigError
from driftledger.core.media import Medium
from driftledger.data import sheet_page
from driftledger.data.sheets import extend_sheet
from tests.support.sheets import FORM, HOSTILE, asked, content_of, rated


@pytest.fixture
def page(tmp_path):
    rated(tmp_path, HOSTILE)
    return tmp_path / "ratings.html"


def test_a_page_runs_and_loads_nothing_but_its_own(page):
    text = page.read_text(encoding="utf-8")
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    for tag in ("style", "script"):
        [body] = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = hashlib.sha256(body.encode()).digest()
        rule = f"{tag}-src 'sha256-{base64.b64encode(digest).decode()}'"
        assert rule in policy, f"write into sheet_page.html: {rule}"
    assert policy.startswith("default-src 'none'; img-src data:;")
    assert "http:" not in text
    assert "https:" not in text
    script = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)[0]
    assert len(script.strip().splitlines()) <= 200
    assert not re.search(r"innerHTML|insertAdjacent|document\.write|\beval\b", script)


def test_a_rater_sees_no_model_no_score_and_nobody_else(page, tmp_path):
    sheet = tmp_path / "ratings.csv"
    text = sheet.read_text(encoding="utf-8-sig").replace(",ann,\n", ",bob,5,model_x\n")
    sheet.write_text(text.replace("rater,rating\n", "rater,rating,model\n"))
    rated(tmp_path, HOSTILE)
    content = content_of(page)
    assert content["columns"] == ["dataset", "sample", "description", "rater", "rating"]
    assert content["choices"] == [[str(key), text] for key, text in RUBRIC.items()]
    assert len(content["rows"]) == len(HOSTILE)
    assert {row["cells"][3] for row in content["rows"]} == {"ann"}
    assert {row["cells"][4] for row in content["rows"]} == {""}
    assert {*content["rows"][0]} == {"key", "cells", "picture"}
    text = page.read_text(encoding="utf-8")
    assert not re.search("model_x|bob|score", text)
    assert str(tmp_path) not in text


def test_foreign_text_is_data(page):
    text = page.read_text(encoding="utf-8")
    assert text.count("</script>") == 2
    assert "<img src=x" not in text
    assert text.isascii() or "\u2028" not in text


def test_what_is_kept_is_of_one_text_about_one_picture_by_one_person(page, tmp_path):
    keys = {row["key"] for row in content_of(page)["rows"]}
    assert len(keys) == len(HOSTILE)
    rated(tmp_path, HOSTILE, rater="bob")
    assert not keys & {row["key"] for row in content_of(page)["rows"]}
    rated(tmp_path, ["Another bird.", *HOSTILE[1:]])
    assert len(keys & {row["key"] for row in content_of(page)["rows"]}) == 9


def test_a_picture_is_there_once_and_a_large_one_is_made_smaller(tmp_path):
    noise = Image.effect_noise((2500, 1250), 90).convert("RGB")
    noise.save(tmp_path / "large.png")
    Image.new("RGB", (60, 40), "red").save(tmp_path / "small.png")
    wanted = []
    pictures = []
    for number, name in enumerate(("small", "large", "large")):
        path = tmp_path / f"{name}.png"
        pictures.append(Medium(path, sha256_file(path)))
        cells = dict.fromkeys(FORM.columns, "")
        wanted.append(cells | {"image": f"{name}-1-{number:012}"})
    rows = extend_sheet(tmp_path / "sheet.csv", FORM, wanted)
    task = sheet_page.PageTask("", "")
    sheet_page.write_page(tmp_path / "sheet.csv", FORM, rows, pictures, task)
    small, large = content_of(tmp_path / "sheet.html")["pictures"].values()
    kept = base64.b64decode(small.removeprefix("data:image/png;base64,"))
    assert kept == (tmp_path / "small.png").read_bytes()
    data = base64.b64decode(large.removeprefix("data:image/webp;base64,"))
    with Image.open(BytesIO(data)) as opened:
        assert opened.size == (2048, 1024)


def test_more_pictures_than_a_browser_opens_are_refused(page, tmp_path, monkeypatch):
    before = page.read_bytes()
    monkeypatch.setattr(sheet_page, "LARGEST_PAGE", 1_000)
    with pytest.raises(
        ConfigError, match=r"^the 10 pictures of ratings\.html have over "
    ):
        rated(tmp_path, HOSTILE)
    assert page.read_bytes() == before


def test_people_who_describe_are_told_what_models_are_told(tmp_path):
    asked(tmp_path, ["</script>", "b"], annotators=["Ada", "Ben"])
    content = content_of(tmp_path / "sheet.html")
    assert content["text"].startswith("Please write a <b>clear</b> & precise")
    assert "without help from a program" in content["rules"][0]
    assert [row["cells"][4] for row in content["rows"]] == ["Ada", "Ben"]

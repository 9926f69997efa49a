"""People rate and describe on a page: in Chromium, from a file, without a network."""

import csv
import io
import shutil
import time

import pytest
from axe_playwright_python.sync_playwright import Axe

from driftledger.benchmarks.fidelity.ratings import read_ratings
from lab.pictures import browser as chromium
from tests.support.sheets import FORM, HOSTILE, asked, rated

pytestmark = pytest.mark.slow

GIVEN = [3, 1, 5, 4, 2, 2, 5, 1, 3, 4]


@pytest.fixture(scope="module")
def browser():
    with chromium() as running:
        yield running


@pytest.fixture
def context(browser):
    """A browser that nobody has used, without a network."""
    context = browser.new_context(offline=True, accept_downloads=True)
    yield context
    context.close()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Write sheets and pages: of hostile descriptions, and for two people who describe."""
    folder = tmp_path_factory.mktemp("written")
    rated(folder, HOSTILE)
    asked(folder, ["a", "b", "c"], annotators=["Ada", "Ben"])
    return folder


@pytest.fixture
def sheets(written, tmp_path):
    """Copy them, to be changed."""
    return shutil.copytree(written, tmp_path / "sheets")


@pytest.fixture
def open_page(context):
    """Open a page; in the end, nothing went wrong and nothing was asked for elsewhere."""
    problems = []

    def opened(file):
        page = context.new_page()
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "request",
            lambda request: (
                request.url.startswith(("file:", "data:", "blob:"))
                or problems.append(request.url)
            ),
        )
        page.goto(file.as_uri())
        return page

    yield opened
    assert not problems


def place(page):
    return page.locator("#place").inner_text()


def saved(page, key="s"):
    with page.expect_download() as waiting:
        page.keyboard.press(key)
    return waiting.value


def filled_in(sheet, ratings):
    """Return the bytes of a sheet into which somebody has typed these ratings."""
    text = sheet.read_text(encoding="utf-8-sig")
    rows = [*csv.reader(io.StringIO(text, newline=""))]
    lines = text.removesuffix("\n")
    for (*_, rater, empty), rating in zip(rows[:0:-1], reversed(ratings), strict=True):
        assert (rater, empty) == ("ann", "")
        before, _, after = lines.rpartition(",ann,")
        lines = f"{before},ann\0{rating}{after}"
    return ("\ufeff" + lines.replace("\0", ",") + "\n").encode()


def test_ten_ratings_with_the_keyboard_alone(open_page, sheets):
    sheet = sheets / "ratings.csv"
    started = time.monotonic()
    page = open_page(sheets / "ratings.html")
    assert place(page) == "1 of 10 · 0 answered"
    for rating in GIVEN[:4]:
        page.keyboard.press(str(rating))
    page.keyboard.press("Backspace")
    page.keyboard.press("ArrowLeft")
    assert page.locator("[aria-pressed=true]").get_attribute("value") == "5"
    page.keyboard.press("1")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("5")
    page.keyboard.press("ArrowRight")
    assert place(page) == "5 of 10 · 4 answered"
    for rating in GIVEN[4:]:
        page.keyboard.press(str(rating))
    assert place(page) == "10 of 10 answered"
    assert page.locator("#done").inner_text() == "All done. Thank you!"
    download = saved(page, "Enter")
    assert download.suggested_filename == "ratings.csv"
    download.save_as(sheets / "saved.csv")
    assert time.monotonic() - started < 60
    by_hand = filled_in(sheet, GIVEN)
    assert (sheets / "saved.csv").read_bytes() == by_hand
    assert [*read_ratings(sheets / "saved.csv").values()] == GIVEN
    said = rated(sheets, HOSTILE, add=sheets / "saved.csv")
    assert said == "0 descriptions to rate, 10 rated by ann"
    assert sheet.read_bytes() == by_hand
    page.close()


def test_hostile_descriptions_are_text(open_page, sheets):
    page = open_page(sheets / "ratings.html")
    with io.StringIO((sheets / "ratings.csv").read_text("utf-8-sig")) as file:
        rows = [*csv.DictReader(file)]
    for row in rows:
        text = row["description"]
        assert page.locator("#shown").text_content() == text.removeprefix("'")
        assert page.locator("#shown *").count() == 0
        page.keyboard.press("ArrowRight")
    assert page.title() == "Rate descriptions"
    assert page.locator("img").count() == 1


def test_a_reload_goes_on_and_another_rater_begins(open_page, sheets):
    page = open_page(sheets / "ratings.html")
    for rating in "351":
        page.keyboard.press(rating)
    page.reload()
    assert place(page) == "4 of 10 · 3 answered"
    page.keyboard.press("Backspace")
    assert page.locator("[aria-pressed=true]").get_attribute("value") == "1"
    page.close()
    rated(sheets, HOSTILE, rater="bob")
    page = open_page(sheets / "ratings.html")
    assert place(page) == "1 of 10 · 0 answered"
    for rating in "55":
        page.keyboard.press(rating)
    saved(page).save_as(sheets / "bob.csv")
    assert "All done" not in page.locator("#done").inner_text()
    rated(sheets, HOSTILE)
    page = open_page(sheets / "ratings.html")
    assert place(page) == "4 of 10 · 3 answered", "a page that is written again goes on"
    saved(page).save_as(sheets / "ann.csv")
    for name in ("ann", "bob"):
        rated(sheets, HOSTILE, rater=name, add=sheets / f"{name}.csv")
    ratings = read_ratings(sheets / "ratings.csv")
    assert sorted((rater, rating) for (rater, *_), rating in ratings.items()) == [
        *(("ann", 1), ("ann", 3), ("ann", 5)),
        *(("bob", 5), ("bob", 5)),
    ]


def test_two_tabs_save_what_is_entered_in_both(open_page, sheets):
    first, second = (open_page(sheets / "ratings.html") for _ in range(2))
    for rating in "35":
        first.keyboard.press(rating)
    second.get_by_text("1 of 10 · 2 answered").wait_for()
    for key in ("ArrowRight", "ArrowRight", "1"):
        second.keyboard.press(key)
    first.get_by_text("3 of 10 · 3 answered").wait_for()
    for page in (first, second):
        saved(page).save_as(sheets / "saved.csv")
        assert [*read_ratings(sheets / "saved.csv").values()] == [3, 5, 1]


def test_storage_that_is_refused_is_said(context, open_page, sheets):
    context.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new Error('no') }})"
    )
    page = open_page(sheets / "ratings.html")
    assert page.locator("#warning").is_visible()
    assert "save the sheet before you close" in page.locator("#warning").inner_text()
    page.keyboard.press("4")
    saved(page).save_as(sheets / "saved.csv")
    assert [*read_ratings(sheets / "saved.csv").values()] == [4]


def test_full_storage_is_said(context, open_page, sheets):
    context.add_init_script(
        "Storage.prototype.setItem = () => { throw new Error('full') }"
    )
    page = open_page(sheets / "ratings.html")
    assert not page.locator("#warning").is_visible()
    page.keyboard.press("4")
    assert page.locator("#warning").is_visible()


WRITTEN = 'A "red" bird; with a cat,\n\n=SUM(A1)\tend\n4\n5\n6\n7\n8\n\nלילה 🐦'


def test_people_describe_in_a_field(open_page, tmp_path):
    asked(tmp_path, ["a", "b", "c", "d"])
    page = open_page(tmp_path / "sheet.html")
    field = page.locator("#field")
    for text in (WRITTEN, "'=1", "=cmd"):
        field.fill(text)
        page.keyboard.press("Control+Enter")
    page.reload()
    assert place(page) == "4 of 4 · 3 answered"
    page.locator("#back").click()
    assert field.input_value() == "=cmd"
    field.press_sequentially("1 s")
    with page.expect_download() as waiting:
        page.locator("#save").click()
    assert waiting.value.suggested_filename == "sheet.csv"
    waiting.value.save_as(tmp_path / "saved.csv")
    asked(tmp_path, ["a", "b", "c", "d"], add=tmp_path / "saved.csv")
    assert (tmp_path / "sheet.csv").read_bytes() == (
        tmp_path / "saved.csv"
    ).read_bytes()
    answers = FORM.table(tmp_path / "sheet.csv").answers.values()
    assert [each.text for each in answers] == [WRITTEN, "'=1", "=cmd1 s", ""]


def test_each_person_sees_their_own_images(open_page, tmp_path):
    asked(tmp_path, ["a", "b", "c"], annotators=["Ada", "Ben"])
    page = open_page(tmp_path / "sheet.html")
    assert place(page) == "1 of 2 · 0 answered"
    page.locator("#person").select_option("Ben")
    assert place(page) == "1 of 1 · 0 answered"
    page.locator("#field").fill("By Ben.")
    page.reload()
    assert page.locator("#person").input_value() == "Ben"
    with page.expect_download() as waiting:
        page.locator("#finish").click()
    waiting.value.save_as(tmp_path / "ben.csv")
    [answer] = FORM.table(tmp_path / "ben.csv").answers.values()
    assert (answer.cells["annotator"], answer.text) == ("Ben", "By Ben.")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", ["ratings", "sheet"])
def test_pages_are_accessible_and_fit(browser, written, width, scheme, kind):
    size = {"width": width, "height": 800}
    context = browser.new_context(viewport=size, color_scheme=scheme)
    page = context.new_page()
    page.goto((written / f"{kind}.html").as_uri())
    for id_ in ("side", "end"):
        assert page.locator(f"#{id_}").is_visible()
        found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa"]})
        assert not [
            (each["id"], each["nodes"][0]["html"][:200])
            for each in found.response["violations"]
        ]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        while page.locator("#next").is_visible():
            page.locator("#next").click()
    context.close()

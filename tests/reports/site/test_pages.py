"""The pages as files: every number is its score's, every link leads somewhere, and hostile text does nothing."""

import re
from collections import Counter
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import pytest

from driftledger.benchmarks.score import Score
from driftledger.core.code_digest import module_digests
from driftledger.core.errors import ConfigError
from driftledger.reports.site import build, run_page
from driftledger.reports.site.build import write_site
from driftledger.reports.site.provenance import anchor, path_of
from tests.conftest import REPOSITORY
from tests.support.ledgers import genception_score
from tests.support.sites import MODELS, site_scores, write_ledgers, written_site

HOSTILE = "<script>alert(1)</script>\"' onload=x [a](javascript:b)"


class Cell(NamedTuple):
    """A number in a table."""

    value: float
    text: str
    href: str
    head: str


class Reading(HTMLParser):
    """What a page holds."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: dict[str, str] = {}
        """Id → all digits of the number there, where it is one."""
        self.links: list[str] = []
        self.tags: Counter[str] = Counter()
        self.handlers: list[str] = []
        self.cells: list[Cell] = []
        self._heads: list[str] = []
        self._open: list[str] = []
        self._place = 0
        self._value = self._href = self._row = ""
        self._last_id = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags[tag] += 1
        self.handlers += [name for name in given if name.startswith("on")]
        self.links += [given[name] for name in ("href", "src") if name in given]
        if "id" in given:
            assert given["id"] not in self.ids, f"two places are called {given['id']}"
            self.ids[given["id"]] = given.get("data-value", "")
            self._last_id = given["id"]
        if tag == "data":
            self.ids[self._last_id] = given["value"]
        if tag == "table":
            self._heads = []
        if tag == "tr":
            self._place = 0
        if tag in ("th", "td"):
            self._open = []
            self._value, self._href = given.get("data-value", ""), ""
        if tag == "a":
            self._href = given.get("href", "")

    def handle_data(self, data: str) -> None:
        self._open.append(data.strip())

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("th", "td"):
            return
        text = " ".join(filter(None, self._open))
        if tag == "th" and self._place == len(self._heads):
            self._heads.append(text)
        if tag == "th" and self._place == 0:
            self._row = text
        if tag == "td" and self._value:
            head = self._heads[self._place] if self._place < len(self._heads) else ""
            self.cells.append(Cell(float(self._value), text, self._href, f"{head} | {self._row}"))
        self._place += 1


def read(site: Path) -> dict[str, Reading]:
    """Path → page."""
    return {
        file.relative_to(site).as_posix(): Reading(file.read_text(encoding="utf-8"))
        for file in sorted(site.rglob("*.html"))
    }


def target(page: str, link: str) -> tuple[str, str]:
    """The file and the place that a link on a page leads to."""
    path, _, place = link.partition("#")
    parts = [*page.split("/")[:-1], *path.split("/")] if path else page.split("/")
    found: list[str] = []
    for part in parts:
        found = found[:-1] if part == ".." else [*found, part]
    return "/".join(found), unquote(place)


@pytest.fixture(scope="module")
def scores() -> list[Score]:
    return site_scores()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, scores: Sequence[Score]) -> Path:
    return written_site(tmp_path_factory.mktemp("site"), scores)


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Reading]:
    return read(site)


def test_every_number_of_a_score_stands_on_its_page_with_all_digits(
    pages: dict[str, Reading], scores: Sequence[Score]
) -> None:
    for score in scores:
        ids = pages[path_of(score)].ids
        numbers = {name: value for name, value in score.numbers() if not name.endswith(("_low", "_high", "_std"))}
        assert len(numbers) > 3
        assert {name: float(ids[anchor(score, name)]) for name in numbers} == numbers


def test_every_number_in_a_table_is_the_one_that_it_links_to(pages: dict[str, Reading]) -> None:
    linked = 0
    for path, page in pages.items():
        for cell in page.cells:
            file, place = target(path, cell.href)
            number = pages[file].ids[place] if place else ""
            if number and "rank" not in cell.head:
                assert float(number) == cell.value, (path, cell)
                decimals = len((re.match(r"-?\d+(?:\.(\d+))?", cell.text) or [""])[1] or "")
                assert cell.text.startswith(f"{cell.value:.{decimals}f}"), (path, cell)
                linked += 1
    assert linked > 60


def test_every_number_of_models_is_a_link(pages: dict[str, Reading]) -> None:
    for path in ("index.html", "genception.html", "trac.html", "fidelity.html", "mm_sap.html", "compare.html"):
        assert pages[path].cells
        assert [cell for cell in pages[path].cells if not cell.href] == []


def test_every_link_leads_to_a_place_of_the_site(pages: dict[str, Reading], site: Path) -> None:
    for path, page in pages.items():
        for link in page.links:
            if link == "data:,":
                continue
            file, place = target(path, link)
            assert (site / file).is_file(), f"{link} on {path}"
            assert not place or place in pages[file].ids, f"{link} on {path}"


def test_a_benchmark_leads_to_its_units(pages: dict[str, Reading]) -> None:
    assert "gallery.html#genception-shapes" in pages["genception.html"].links


def test_two_builds_give_the_same_bytes_and_name_no_folder(tmp_path: Path, site: Path, scores: Sequence[Score]) -> None:
    again = written_site(tmp_path, scores)
    files = {file.relative_to(site): file.read_bytes() for file in site.rglob("*") if file.is_file()}
    assert {file.relative_to(again): file.read_bytes() for file in again.rglob("*") if file.is_file()} == files
    assert not [name for name, data in files.items() if str(site.parent).encode() in data or b"/tmp/" in data]


def test_a_page_names_the_version_that_drew_as_the_lock_has_it(site: Path, scores: Sequence[Score]) -> None:
    text = (site / path_of(scores[0])).read_text(encoding="utf-8")
    lock = (site.parent / "dvc.lock").read_text(encoding="utf-8")
    fingerprint = scores[0].components["generator"].fingerprint
    assert f'<code class="fingerprint">{fingerprint}</code>' in text
    assert fingerprint in lock
    assert "<code>generators.brush</code> in the lock entry of <code>chain@shapes-seer-brush</code>" in text
    for what in (f"brush@{fingerprint[:8]}", "d" * 64, "c" * 64, "1" * 32, "2" * 32, "GC@2", "Σ t·s(t) / Σ t"):
        assert what in text
    for command in (
        "driftledger audit reports/scores/genception/shapes/seer/brush/eye/score.json:gc_at_2",
        "driftledger verify &#39;seer · brush · eye&#39;",
        "dvc repro pipelines/genception/dvc.yaml:genception@shapes-seer-brush-eye",
    ):
        assert command in text


def test_without_a_lock_a_page_says_what_the_score_file_has(tmp_path: Path) -> None:
    [score] = some = [genception_score()]
    project = write_ledgers(tmp_path, some)
    (tmp_path / "dvc.lock").unlink()
    write_site(tmp_path / "site", project, some)
    text = (tmp_path / "site" / path_of(score)).read_text(encoding="utf-8")
    assert "as the score file has it" in text
    assert score.components["generator"].fingerprint in text


def test_controls_and_models_that_are_not_ranked_stand_apart(tmp_path: Path) -> None:
    some = [each for each in site_scores() if each.benchmark == "genception"]
    less = {"scored": 17, "total": 20, "coverage": 0.85}
    site = written_site(tmp_path, [*some, genception_score(model="less", **less)])
    text = (site / "index.html").read_text(encoding="utf-8")
    places = [text.index(f">{name}</th>") for name in ("Models", "seer", "Not ranked with the others", "less")]
    places.append(text.index("Controls, which do not look at the image"))
    assert places == sorted(places)
    assert text.index(">blind</th>") > places[-1]
    assert re.search("of less has no rank: coverage differs", text)
    assert "Not ranked with those above: coverage differs" in (site / "genception.html").read_text(encoding="utf-8")


def test_hostile_text_does_nothing(tmp_path: Path) -> None:
    score = genception_score(flags=[HOSTILE], absent={HOSTILE: HOSTILE}, served={"model": {HOSTILE: 2}})
    card = score.components["generator"].model_copy(update={"mark": HOSTILE, "settings": {"prompt": HOSTILE}})
    group = {HOSTILE: {"gc_at_2": 0.5, "gc_at_1": 0.4}}
    score = score.model_copy(
        update={"components": score.components | {"generator": card}, "groups": {"category": group, "group": {}}}
    )
    pages = read(written_site(tmp_path, [score]))
    for path, page in pages.items():
        assert page.tags["script"] == 1, path
        assert page.handlers == [], path
        assert not [link for link in page.links if "javascript" in link], path
    assert "&lt;script&gt;" in (tmp_path / "site" / path_of(score)).read_text(encoding="utf-8")


def test_pages_are_small(tmp_path: Path, site: Path) -> None:
    """Of sixty models, too."""
    own = sum(file.stat().st_size for file in (site / "assets").iterdir())
    assert own <= 60_000
    many = [genception_score(model=f"model_{number}") for number in range(60)]
    large = written_site(tmp_path, many)
    assert (large / "index.html").stat().st_size <= 300_000
    assert max(file.stat().st_size for file in large.rglob("*.html")) <= 2_000_000


def test_a_folder_of_something_else_is_not_replaced(tmp_path: Path) -> None:
    some = [genception_score()]
    project = write_ledgers(tmp_path, some)
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years", encoding="utf-8")
    with pytest.raises(ConfigError, match="mine is not a report of driftledger, and would be replaced"):
        write_site(mine, project, some)
    assert (mine / "thesis.txt").read_text(encoding="utf-8") == "years"
    (mine / "thesis.txt").unlink()
    write_site(mine, project, some)
    write_site(mine, project, some)


def test_the_digest_of_the_code_covers_templates_style_and_script() -> None:
    own = REPOSITORY / "src" / "driftledger" / "reports" / "site"
    files = {file.relative_to(own).as_posix() for top in ("templates", "assets") for file in (own / top).iterdir()}
    covered = module_digests(build.__name__) | module_digests(run_page.__name__)
    assert {name for name in files if f"driftledger/reports/site/{name}" not in covered} == set()


def test_nothing_selected_is_a_page_that_says_so(tmp_path: Path) -> None:
    project = write_ledgers(tmp_path, [genception_score()])
    (tmp_path / "reports" / "correlation.csv").unlink()
    write_site(tmp_path / "site", project, [])
    assert "No score is selected." in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")


def test_models_are_named_in_the_correlations_and_in_all_runs(pages: dict[str, Reading], site: Path) -> None:
    assert "correlation.html" in pages
    text = (site / "compare.html").read_text(encoding="utf-8")
    assert [name for name in MODELS if f"<option>{name}/brush/eye</option>" not in text] == []
    assert "driftledger compare seer/brush/eye poet/brush/eye" in text

"""The pages as files: four kinds, every link leads somewhere, and hostile text does nothing."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import pytest
import yaml

from driftledger.benchmarks.base.records import CARD
from driftledger.benchmarks.registry import benchmark
from driftledger.core.canonical import canonical_json
from driftledger.core.errors import ConfigError
from driftledger.core.files import write_folder, write_json
from driftledger.project.project import Combination, Project
from driftledger.reports.report import content, write_report
from driftledger.reports.site.build import site_files
from driftledger.reports.site.templating import path_of
from driftledger.reports.site.units import number_of
from driftledger.reports.tables import section_of
from driftledger.scoring.score import Score
from tests.support.cases import CASES, cases, each_case
from tests.support.ledgers import card_of, write_image
from tests.support.params import default_params
from tests.support.pictures import count_decodes
from tests.support.tables import scores_of

HOSTILE = (
    "<script>document.title='owned'</script>"
    '<img src=x onerror="alert(1)">]]>\x1b[31m\u202e$x$'
)
MODELS = ("seer", "poet", "blind")
"""Each worse than the one before; the last is a control."""


@dataclass(frozen=True)
class Selecting(Project):
    """A project whose runs are given."""

    runs: Sequence[Combination] = ()

    @property
    def combinations(self):
        return list(self.runs)


def write_checkout(root):
    """Chains of two samples, of which poet refuses to describe one; a digit; a question in two
    orders."""
    text = (CASES / "reports" / "checkout.json").read_text(encoding="utf-8")
    checkout = json.loads(text.replace("HOSTILE", json.dumps(HOSTILE)[1:-1]))
    for name, rows in checkout["files"].items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        lines = [canonical_json(row) + "\n" for row in rows]
        (root / name).write_text("".join(lines), encoding="utf-8")
    for name, colour in checkout["images"].items():
        write_image(root / name, tuple(colour))
    (root / "params.yaml").write_text(yaml.safe_dump(default_params()))
    scores = scores_of(checkout["scores"])
    for score in scores:
        stage = benchmark(score.benchmark).collects
        write_json(root / stage.at(score.keys) / CARD, card_of(score, stage))
    runs = [Combination(model, "brush", "eye") for model in MODELS]
    return Selecting(root, runs=runs), scores


class Page(HTMLParser):
    """What a page holds."""

    def __init__(self, file):
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: Counter[str] = Counter()
        self.handlers: list[str] = []
        self.texts: list[tuple[str, str]] = []
        """Class of the innermost element, and its text."""
        self._classes: list[str] = [""]
        # where a line may break is not text
        self.html = file.read_text(encoding="utf-8").replace("<wbr>", "")
        self.feed(self.html)

    def handle_starttag(self, tag, attrs):
        given = {name: value or "" for name, value in attrs}
        self.tags[tag] += 1
        self.handlers += [name for name in given if name.startswith("on")]
        self.links += [given[name] for name in ("href", "src") if name in given]
        self.ids += [given["id"]] if "id" in given else []
        if tag not in ("img", "meta", "link", "br", "rect"):
            self._classes.append(given.get("class", tag))

    def handle_endtag(self, tag):
        if tag not in ("img", "meta", "link", "br", "rect"):
            self._classes.pop()

    def handle_data(self, data):
        if data.strip():
            self.texts.append((self._classes[-1], " ".join(data.split())))

    def of(self, kind):
        return [text for classes, text in self.texts if kind in classes.split()]


class Written(NamedTuple):
    folder: Path
    project: Project
    scores: list[Score]
    pages: dict[str, Page]


def write(project, scores, folder, *, images=True):
    report = content(project, scores)
    files, _ = site_files(folder, report, images=images)
    for section in report.figures.values():
        files |= dict.fromkeys(section, b"<svg/>")
    write_folder(folder, files)
    return {
        file.relative_to(folder).as_posix(): Page(file)
        for file in sorted(folder.rglob("*.html"))
    }


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    root = tmp_path_factory.mktemp("site")
    project, scores = write_checkout(root)
    return Written(root / "out", project, scores, write(project, scores, root / "out"))


def test_there_are_four_kinds_of_page(site):
    assert set(site.pages) == {
        *("index.html", "gallery.html", "genception.html", "trac.html", "mm_sap.html"),
        *(
            "correlation.html",
            *(f"runs/{model}.html" for model in MODELS),
        ),
    }
    for page in site.pages.values():
        assert page.of("brand") == ["driftledger"]
        assert page.tags["h1"] == page.tags["main"] == 1


def test_every_link_leads_to_a_file_and_a_place(site):
    links = [
        (path, link)
        for path, page in site.pages.items()
        for link in page.links
        if not link.startswith("data:")
    ]
    assert len(links) > 200
    for path, link in links:
        name, _, place = link.partition("#")
        target = (
            (site.folder / path).parent.joinpath(name).resolve()
            if name
            else site.folder / path
        )
        assert target.is_file(), f"{path}: {link}"
        if place:
            page = site.pages[target.relative_to(site.folder.resolve()).as_posix()]
            assert unquote(place) in page.ids, f"{path}: {link}"
    for path, page in site.pages.items():
        assert len(page.ids) == len(set(page.ids)), path


def test_every_number_has_a_place_on_its_models_page(site):
    for score in site.scores:
        page = site.pages[path_of(score)]
        for number in score.by_place.values():
            if number.is_whole:
                assert f"{section_of(score)}-{number.name}" in page.ids


def test_hostile_text_does_nothing(site):
    for path, page in site.pages.items():
        assert page.tags["script"] == 1, path
        assert page.handlers == [], path
        assert "\x1b" not in page.html, path
        assert "\u202e" not in page.html, path
    shown = " ".join(text for _, text in site.pages["runs/seer.html"].texts)
    assert HOSTILE[:40] in shown, "as text"


@each_case(cases(__file__, "pages"))
def test_a_page(case, site):
    """The texts of a page by the class of their element, and what is in its HTML, how often."""
    page = site.pages[case["page"]]
    for kind, texts in case.get("texts", {}).items():
        assert page.of(kind) == texts
    html = page.html
    if "before" in case:
        html, _, _ = html.partition(case["before"])
    if "after" in case:
        _, _, html = html.partition(case["after"])
    for text in case["has"]:
        assert text in html
    for text, count in case.get("counts", {}).items():
        assert html.count(text) == count


@pytest.mark.parametrize(
    ("name", "title", "value", "share"),
    [
        ("genception", "GC@5", 0.4, 0.4),
        ("genception", "GC@5", -0.2, 0.0),
        ("mm_sap", "answer accuracy", 25.0, 0.25),
        ("mm_vet", "total grade", 25.0, 0.25),
        ("mme", "score", 150.0, 0.75),
        ("fidelity", "CLIP-S", 30.0, None),
        ("fidelity", "FID", 3.0, None),
    ],
)
def test_a_bar_goes_up_to_the_ceiling(name, title, value, share):
    assert number_of(benchmark(name), title, value).share == share


def test_without_records_the_rest_is_written(tmp_path):
    project, scores = write_checkout(tmp_path)
    (tmp_path / "data/records").rename(tmp_path / "elsewhere")
    pages = write(project, scores, tmp_path / "out")
    assert "GenCeption on shapes: its records are not in this checkout" in " ".join(
        text for _, text in pages["gallery.html"].texts
    )
    assert pages["index.html"].tags["table"] == 1
    assert not (tmp_path / "out" / "images").exists()


def test_each_picture_is_decoded_once(tmp_path, monkeypatch):
    """Three originals, and eleven drawings by three models, of which several are equal."""
    project, scores = write_checkout(tmp_path)
    decoded = count_decodes(monkeypatch)
    write(project, scores, tmp_path / "out")
    assert len(decoded) > 10
    assert {*decoded.values()} == {1}
    write(project, scores, tmp_path / "out")
    assert {*decoded.values()} == {1}


def test_another_folder_is_not_replaced(site, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ConfigError, match="is not a report of driftledger"):
        write_report(site.project, tmp_path)
    (site.folder / "index.html").write_text("changed")
    (site.folder / "images" / "other.webp").write_bytes(b"")
    first = {file: file.stat().st_mtime_ns for file in site.folder.rglob("*.*")}
    theirs = (site.folder / "runs").rename(tmp_path / "runs")
    (theirs / "mine.txt").write_text("mine")
    (site.folder / "runs").symlink_to(theirs)
    again = {
        path: page.html
        for path, page in write(site.project, site.scores, site.folder).items()
    }
    assert again == {path: page.html for path, page in site.pages.items()}, (
        "an own one is, by the same bytes"
    )
    last = {file: file.stat().st_mtime_ns for file in site.folder.rglob("*.*")}
    differ = {
        file.name
        for file in first
        if file.parent.name != "runs" and first[file] != last.get(file)
    }
    assert differ == {"index.html", "other.webp"}, "what has not changed is not written"
    assert (theirs / "mine.txt").exists(), (
        "a link is removed, and what it leads to is left alone"
    )


def test_a_figure_is_drawn_once_for_a_checkout(tmp_path, monkeypatch):
    plain, scores = write_checkout(tmp_path / "checkout")
    monkeypatch.setattr(
        "driftledger.reports.report.selected_scores", lambda project: scores
    )
    own = replace(plain, own_code=True)

    def figures(project, name):
        write_report(project, tmp_path / name)
        files = (tmp_path / name / "figures").iterdir()
        return {file.name: file.read_bytes() for file in files}

    first = figures(own, "first")
    assert "correlation-pearson.svg" in first
    with monkeypatch.context() as patched:
        patched.delattr("driftledger.reports.report.svg_of")
        assert figures(own, "second") == first
    [*stored] = (own.root / ".driftledger/figures").iterdir()
    assert len(stored) == len({*first.values()})
    for file in stored:
        file.write_text("planted")
    assert figures(replace(own, own_code=False), "theirs") == first

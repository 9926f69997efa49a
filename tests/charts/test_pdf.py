from pathlib import Path

import pytest

from driftledger.charts.pdf import to_pdf
from driftledger.charts.svg import page, sentence
from driftledger.core.errors import MissingExtraError, StoreError
from driftledger.reports.figures import write_pdfs

FIGURE = page(sentence("a title", "a note: −1 · ρ"))


def test_without_the_library_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr("driftledger.charts.pdf.import_module", missing)
    with pytest.raises(MissingExtraError, match=r"pip install 'driftledger\[pdf\]'"):
        to_pdf(FIGURE)


def test_figures_are_pages_with_text_and_the_same_bytes_each_time(tmp_path: Path) -> None:
    pytest.importorskip("svglib")
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "one.svg").write_text(FIGURE, encoding="utf-8")
    assert write_pdfs(tmp_path / "figures", tmp_path / "out") == 1
    made = (tmp_path / "out" / "one.pdf").read_bytes()
    assert made.startswith(b"%PDF")
    assert b"DejaVuSans" in made
    assert to_pdf(FIGURE) == made


def test_where_there_are_no_figures_it_says_what_draws_them(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="run 'dvc repro report'"):
        write_pdfs(tmp_path, tmp_path / "out")

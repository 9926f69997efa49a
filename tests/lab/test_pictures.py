"""README shows what there is."""

from pathlib import Path
from xml.etree import ElementTree

from lab.pictures import BEGIN, END, leaderboard, put_leaderboard, terminal
from tests.conftest import REPOSITORY
from tests.support.shipped import shipped_leaderboard


def test_the_leaderboard_in_the_readme_is_the_reports() -> None:
    shown = (REPOSITORY / "README.md").read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0].strip()
    assert shown == leaderboard(shipped_leaderboard())
    assert shown.count("\n") > 3


def test_a_leaderboard_is_put_between_its_marks_alone(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(f"before\n{BEGIN}\nold\n{END}\nbehind\n")
    (tmp_path / "leaderboard.md").write_text(
        "# L\n\n## At a glance\n\n| | a |\n|---|---:|\n| m | 1 |\n\nnote\n\n| x |\n"
    )
    put_leaderboard(tmp_path / "README.md", tmp_path / "leaderboard.md")
    written = (tmp_path / "README.md").read_text()
    assert written == f"before\n{BEGIN}\n| | a |\n|---|---:|\n| m | 1 |\n{END}\nbehind\n"


def test_a_terminal_shows_hostile_text_inert() -> None:
    drawn = terminal("show it", "score  0.743\n<script>alert(1)</script>\n", [(r"0\.\d+", "the score")])
    root = ElementTree.fromstring(drawn)
    text = "".join(root.itertext()).replace("\xa0", " ")
    assert all(words in text for words in ("$ show it", "0.743", "← the score", "<script>alert(1)</script>"))
    assert root.find(".//{http://www.w3.org/2000/svg}script") is None

"""README shows what there is."""

from lab.pictures import BEGIN, END, leaderboard
from tests.conftest import REPOSITORY
from tests.support.shipped import shipped_leaderboard


def test_the_leaderboard_in_the_readme_is_the_reports() -> None:
    shown = (REPOSITORY / "README.md").read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0].strip()
    assert shown == leaderboard(shipped_leaderboard())
    assert shown.count("\n") > 3

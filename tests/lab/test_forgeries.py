"""The figures about forgeries on the page are those that were measured, of every forgery that there is."""

import json

from lab.forgeries import COUNTS, FORGERIES, table
from tests.conftest import REPOSITORY

MEASURED = json.loads((REPOSITORY / "reports" / "perf" / "forgeries.json").read_bytes())


def test_the_page_has_every_row() -> None:
    page = (REPOSITORY / "docs" / "trust.md").read_text(encoding="utf-8").splitlines()
    rows = table(MEASURED["forgeries"])
    assert [row for row in rows if row not in page] == []
    assert "| " + " | ".join(f"N = {count}" for count in COUNTS) + " |" in "\n".join(page)


def test_every_forgery_was_measured_and_raises_its_score() -> None:
    assert set(MEASURED["forgeries"]) == {forgery.name for forgery in FORGERIES}
    assert all(told["after"] > told["before"] for told in MEASURED["forgeries"].values())

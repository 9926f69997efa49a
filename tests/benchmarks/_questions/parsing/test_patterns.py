"""Each pattern of the data file finds its own example, and every list has one reader."""

import re
from pathlib import Path

import pytest

from driftledger.benchmarks._questions.parsing import text
from driftledger.benchmarks._questions.parsing.text import filled, folded, replaced, table

EXAMPLES = [
    pytest.param(example, pattern, id=f"{name}: {example!r:.60}")
    for name, those in table().items()
    if name != "words"
    for example, pattern in those.items()
]


@pytest.mark.parametrize(("example", "pattern"), EXAMPLES)
def test_a_pattern_finds_its_example(example, pattern):
    looked_for = re.compile(filled(pattern if isinstance(pattern, str) else pattern[0]))
    written = replaced("written_out", folded(example))
    assert any(looked_for.search(form) for form in (example, folded(example), written))


def test_each_list_is_looked_for_by_name():
    folder = Path(text.__file__).parent
    code = "".join(file.read_text(encoding="utf-8") for file in folder.glob("*.py"))
    assert [name for name in table() if not re.search(f"[\"']{name}[\"']", code)] == []


def test_an_unescaped_bracket_only_groups():
    assert filled(r"(a|\(b)[(](?P<c>x)") == r"(?:a|\(b)[(](?P<c>x)"

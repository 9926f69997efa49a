"""A project of a few lines, to put faults into."""

from pathlib import Path
from textwrap import dedent

FILES = {
    "src/driftledger/__init__.py": "",
    "src/driftledger/metrics/__init__.py": "",
    "src/driftledger/metrics/parts.py": """
        def larger(a: int, b: int) -> bool:
            return a > b


        def doubled(a: int) -> int:
            return a + a
    """,
    "src/driftledger/cli.py": "from driftledger.metrics.parts import larger\n",
    "tests/__init__.py": "",
    "tests/metrics/__init__.py": "",
    "tests/metrics/test_parts.py": """
        from driftledger.metrics.parts import doubled, larger


        def test_larger():
            assert larger(2, 1)
            assert not larger(1, 2)


        def test_doubled():
            assert doubled(0) == 0
    """,
    "tests/metrics/test_source.py": """
        from pathlib import Path

        import driftledger.metrics.parts as parts


        class TestOfText:
            def test_nothing_was_written(self):
                assert Path(parts.__file__).read_text().endswith("return a + a\\n")

            def test_here(self, tmp_path):
                (tmp_path / "a").write_text("")
    """,
    "pyproject.toml": """
        [tool.pytest.ini_options]
        addopts = "-ra"
    """,
}


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text).lstrip(), encoding="utf-8")
    return root

"""Files of a checkout are read by one reader, which waits for no pipe and is bounded in memory."""

import ast
from collections import Counter

from tests.conftest import REPOSITORY

SOURCE = REPOSITORY / "src" / "driftledger"
METHODS = {"read_bytes", "read_text"}
OPENS = {"open", "connect"}
"""Methods that read a file by themselves; the latter with a name or a mode, which a Medium's own
lacks."""

MAY_READ = {
    "core/canonical.py": 1,  # open_regular itself
    "core/files.py": 2,  # writes, and opens folders to sync them
    "core/databases.py": 1,  # a database that is a regular file
    "core/media.py": 1,  # Pillow, of a file that open_regular has opened
    "core/code_digest.py": 1,  # a module, which Python has imported
    "benchmarks/base/parsing/text.py": 1,  # a file of the package
    "benchmarks/registry.py": 1,  # a file of the package
    "project/catalogue.py": 1,  # a file of the package
    "project/presets.py": 2,  # files of the package, and settings that are read after read_yaml
    "reports/charts.py": 1,  # a file of the package
    "reports/report.py": 1,  # a file of the package
    "reports/site/build.py": 1,  # a file of the package
    "commands/init.py": 1,  # of one's own new project
    "commands/new.py": 1,  # a file of the package
    "commands/run.py": 2,  # of one's own project: locks of DVC, the log and the note that it writes
    "collect/damaged.py": 1,  # a copy that it has made
    "collect/database.py": 1,  # who holds its lock
    "collect/pictures.py": 1,  # an image of a record or of another store
    "components/answers.py": 1,  # a file of the package
    "components/checkpoints.py": 1,  # a database in the user's cache
    "components/tokens.py": 1,  # a file of the package
    "data/sheet_page.py": 1,  # a file of the package
    "data/datasets/decode.py": 1,  # Pillow, of bytes
    "data/datasets/image_folder.py": 1,  # headers of one's own images
    "ledger/bundles/writing.py": 1,  # writes
    "ledger/bundles/checking.py": 1,  # the bundle that the reader names
    "tracking/track.py": 1,  # of one's own project
    "tracking/store.py": 2,  # of one's own project, whose store is asked whether it is locked
    "cli.py": 1,  # the browser
}
"""Module → how many such calls it has, none of them of a file that a stranger's checkout names."""


def test_nothing_else_reads_files():
    counts = Counter()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Name):
                is_reader = called.id == "open"
            elif isinstance(called, ast.Attribute):
                is_reader = called.attr in METHODS or (
                    called.attr in OPENS and bool(node.args)
                )
            else:
                continue
            counts[path.relative_to(SOURCE).as_posix()] += is_reader
    found = {name: count for name, count in counts.items() if count}
    assert found == MAY_READ, (
        "use read_regular of core/files.py, or say above why it reads no file of a stranger"
    )


def test_pillow_is_told_which_formats_it_may_read():
    """Some of its decoders start programs; it chooses by content, not by the file's name."""
    found = {}
    for path in REPOSITORY.glob("src/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Image.open":
                place = f"{path.relative_to(REPOSITORY)}:{node.lineno}"
                found[place] = [each.arg for each in node.keywords]
    assert found
    assert not [place for place, keywords in found.items() if "formats" not in keywords]

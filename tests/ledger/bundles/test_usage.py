"""Forged totals of what calls took, and forged calls."""

import errno

import pytest

from driftledger.ledger.bundles.reading import OpenedFolder
from driftledger.ledger.links import check_calls, guarded
from driftledger.ledger.rescoring import usage_lines
from tests.benchmarks.test_usage import write_usage
from tests.support.cases import cases, each_case


@each_case(cases(__file__, "usage"))
def test_forged_usage_is_found(case, tmp_path):
    write_usage(case, tmp_path)
    names = {file.name: {} for file in tmp_path.iterdir()}
    source = OpenedFolder(
        "scored", names, names, lambda name: (tmp_path / name).read_bytes()
    )
    totals = guarded("scored/usage.json", usage_lines, tmp_path, tmp_path, "scored")
    lines = [*check_calls(source), *totals]
    differing = [line.where for line in lines if line.status == "differs"]
    assert differing == case["differs"]


def test_a_full_disk_here_says_nothing_about_the_file():
    def check():
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        guarded("scored/usage.json", check)

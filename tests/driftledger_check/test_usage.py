"""Forged totals of what calls took, and forged calls."""

from driftledger_check.bundle import Folder
from driftledger_check.usage import check_calls, check_totals
from tests.benchmarks.test_usage import write_usage
from tests.support.cases import cases, each_case


def differing(path):
    """List what differs of a folder with records and totals."""
    names = {file.name: {} for file in path.iterdir()}
    source = Folder("scored", names, names, lambda name: (path / name).read_bytes())
    lines = [*check_calls(source), *check_totals(source, source)]
    return [line.where for line in lines if line.status == "differs"]


@each_case(cases(__file__, "usage"))
def test_forged_usage_is_found(case, tmp_path):
    write_usage(case, tmp_path)
    assert differing(tmp_path) == case["differs"]

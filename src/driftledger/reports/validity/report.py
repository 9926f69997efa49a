"""Writes ``reports/validity.*``."""

from driftledger.benchmarks.settings import GenCeption
from driftledger.core.errors import StoreError
from driftledger.core.files import read_json, write_bytes, write_json, write_text
from driftledger.core.paths import Layout
from driftledger.project.settings import Run
from driftledger.reports.validity.assembled import assemble
from driftledger.reports.validity.ladder import Ladder
from driftledger.reports.validity.measured import Measured
from driftledger.reports.validity.plot import draw_validity
from driftledger.reports.validity.table import validity_tables


def write_validity(layout: Layout, run: Run, genception: GenCeption, ladder: Ladder) -> None:
    """Write the report as ``.json``, ``.md`` and ``.png``; nothing is written before all of it is there.

    Scores are those of what ``run`` selects, T and the bootstrap those of ``genception``.

    Raises:
        ConfigError: fewer than two models or generators, or two with equal steps; an encoder that is not selected.
        StoreError: ``reports/trio.json`` or a score file is missing, or they do not belong together.
    """
    if not layout.measured_trio.is_file():
        raise StoreError(f"{layout.measured_trio} is missing; run 'driftledger measure_trio', which writes it")
    found = assemble(layout, run, genception, ladder, read_json(layout.measured_trio, Measured))
    tables, picture = validity_tables(found), draw_validity(found)
    write_json(layout.validity.with_suffix(".json"), found)
    write_text(layout.validity.with_suffix(".md"), tables)
    write_bytes(layout.validity.with_suffix(".png"), picture)

"""Writes ``reports/validity.*``."""

from pathlib import Path

from driftledger.core.errors import StoreError
from driftledger.core.files import read_json, write_bytes, write_json, write_text
from driftledger.project.settings import Settings
from lab.validity.assembled import assemble
from lab.validity.measured import MEASURED, Measured
from lab.validity.plot import draw_validity
from lab.validity.stages import Stages
from lab.validity.table import validity_tables

REPORT = "reports/validity"
"""Below the top folder, without suffix."""


def write_validity(root: Path, settings: Settings, stages: Stages) -> None:
    """Write the report as ``.json``, ``.md`` and ``.svg``; nothing is written before all of it is there.

    Scores, T and the bootstrap are those of ``settings``.

    Raises:
        ConfigError: fewer than two models or generators, or two with equal steps; an encoder that is not selected.
        StoreError: ``reports/trio.json`` or a score file is missing, or they do not belong together.
    """
    known = root / MEASURED
    if not known.is_file():
        raise StoreError(f"{known} is missing; run 'python -m lab.trio measure', which writes it")
    found = assemble(root, settings, stages, read_json(known, Measured))
    report = root / REPORT
    tables, picture = validity_tables(found), draw_validity(found)
    write_json(report.with_suffix(".json"), found)
    write_text(report.with_suffix(".md"), tables)
    write_bytes(report.with_suffix(".svg"), picture)

"""Every benchmark's models side by side: tables as in the papers for people, one row per value for programs."""

from collections.abc import Sequence
from pathlib import Path

from driftledger.benchmarks._questions.records import QuestionScore
from driftledger.benchmarks.description_records import FidelityScore, TracScore
from driftledger.benchmarks.genception.records import ScoreFile
from driftledger.core.escaping import csv_text
from driftledger.core.files import write_text
from driftledger.reports.fidelity import fidelity_rows, fidelity_tables
from driftledger.reports.genception import genception_rows, genception_tables
from driftledger.reports.overview import overview
from driftledger.reports.questions import question_rows, question_tables
from driftledger.reports.trac import trac_rows, trac_tables

_COLUMNS = ("dataset", "generator", "encoder", "metric", "kind", "group", "name", "model", "value", "rank")


def write_leaderboard(
    target: Path,
    scores: Sequence[ScoreFile],
    iterations: int,
    questions: Sequence[QuestionScore] = (),
    trac: Sequence[TracScore] = (),
    fidelity: Sequence[FidelityScore] = (),
) -> None:
    """Write ``target`` as ``.csv``, one row per value, and as ``.md``, an overview and each benchmark's tables.

    Args:
        scores: GenCeption's, at T = ``iterations``. Of all scores, those that come first are the overview's.
    """
    rows = [
        *genception_rows(scores, iterations),
        *question_rows(questions),
        *trac_rows(trac),
        *fidelity_rows(fidelity),
    ]
    lines = [
        "# Leaderboard",
        "",
        *overview(scores, iterations, questions, trac, fidelity),
        *genception_tables(scores, iterations),
        *question_tables(questions),
        *trac_tables(trac),
        *fidelity_tables(fidelity),
    ]
    write_text(target.with_suffix(".csv"), csv_text(_COLUMNS, rows))
    write_text(target.with_suffix(".md"), "\n".join(lines))

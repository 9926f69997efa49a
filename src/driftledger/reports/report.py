"""The stage ``report``: everything in ``reports/`` that is put together from several scores; and its check."""

import re
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory

from driftledger.benchmarks.base import SCORES as SCORES_FOLDER
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import Score, base_key
from driftledger.core.canonical import md5_bytes, pretty_json
from driftledger.core.errors import DriftledgerError
from driftledger.core.files import load_json, new_folder, read_bytes, write_bytes, write_text
from driftledger.core.grouping import grouped
from driftledger.core.text import for_cell, shortened
from driftledger.ledger.findings import Finding, VerifyResult
from driftledger.ledger.lock import LOCK, RESOLVED, locked_now
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.objects.files import listing_md5
from driftledger.project.project import Project
from driftledger.project.resolve import REPORT_VERSION
from driftledger.reports.charts import drawn, figures_of, series_of
from driftledger.reports.correlation import correlation
from driftledger.reports.cross_check import cross_check_sections, cross_checks
from driftledger.reports.leaderboard import write_leaderboard
from driftledger.reports.scores import by_benchmark, rows_beside, selected_scores
from driftledger.reports.site.build import write_site
from driftledger.reports.tables import markdown

SITE = "reports/site"
"""The report as pages."""
_EVALUATED = re.compile(rb'<p class="soft evaluated">[^<]*</p>')
"""At which commit: of what was not published then, a later check may read another one."""


def write_report(
    project: Project, pages: Path | None = None, *, images: bool = True, again: Path | None = None
) -> str | None:
    """Write everything that the scores give; return a sentence about what they alone do not give.

    Errors as in :func:`~driftledger.reports.scores.selected_scores`,
    :func:`~driftledger.reports.correlation.correlation` and :func:`~driftledger.reports.site.build.write_site`.

    Args:
        pages: a folder, into which the site alone is written.
        images: whether the site may show images of datasets.
        again: a folder in the place of ``reports``, to be compared with it: figures are empty, since they depend on the
            installed libraries, and the cross-check, which depends on an encoder, is taken from ``reports``.
    """
    scores, reports = selected_scores(project), again or project.root / "reports"
    parts = by_benchmark(scores, rows_beside(project))
    blocks = [block for part in parts for block in part.blocks]
    correlated, series = correlation(project, blocks), series_of(scores)
    drawings = {block.name: list(figures_of(block, series)) for block in blocks} | {"correlation": [correlated.picture]}
    figures = {
        section: [
            (f"{section}-{drawing.name}.svg", drawing, drawn(drawing) if again is None else b"") for drawing in some
        ]
        for section, some in drawings.items()
    }
    if pages is not None:
        write_site(pages, project, parts, correlated, figures, images=images)
        return None
    missing = dict[str, list[str]]()
    """Benchmark → the folders of data and records that are not in this checkout."""
    for score in scores:
        folders = [stage.at(score.keys) for stage in benchmark(score.benchmark).stages[:-1]]
        missing.setdefault(score.benchmark, []).extend(each for each in folders if not (project.root / each).is_dir())
    if again is None:
        checks = [] if missing.get("genception") else cross_checks(project, scores)
    else:
        checks = load_json(read_bytes(project.root / "reports" / "cross_check.json"))
    write_text(reports / "cross_check.json", pretty_json(checks))
    write_leaderboard(reports / "leaderboard", parts, list(cross_check_sections(checks)))
    write_text(reports / "correlation.csv", correlated.csv)
    picture = "![Pearson's r between headlines](figures/correlation-pearson.svg)"
    tables = [line for table in correlated.tables for line in markdown(table)]
    page = ["# Correlation", "", for_cell(correlated.lead), "", picture, "", *tables]
    write_text(reports / "correlation.md", "\n".join(page))
    write_metrics(reports / "metrics", scores)
    write_plots(reports / "plots", scores)
    with new_folder(reports / "figures") as folder:
        for name, _, data in (figure for some in figures.values() for figure in some):
            write_bytes(folder / name, data)
    write_site(reports / "site", project, parts, correlated, figures, before=project.root / SITE)
    absent = list(dict.fromkeys(folder for some in missing.values() for folder in some))
    if not absent:
        return None
    more = f" and {len(absent) - 1} more folders" if len(absent) > 1 else ""
    return (
        f"{absent[0]}{more} are not in this checkout, so the report lacks what it reads there: units with their "
        "pictures, and the cross-check; 'dvc pull' fetches them"
    )


def check_report(project: Project, contents: Contents) -> VerifyResult:
    """Compare what people look at, the leaderboard, metrics and pages, with what the scores give."""
    result, entry = VerifyResult(), locked_now(project.root).get("report")
    if entry is None:
        if contents.here.read("reports/leaderboard.md") is not None:
            result.skip("reports", f"{LOCK} has no stage that wrote the report; run 'dvc repro'")
        return result
    for out in entry.outs:  # drawings and thumbnails too
        data, files = contents.here.read(out.path), contents.listing_here(out.path)
        if data is None and not files:
            result.skip(out.path, "it is not in this checkout")
        elif (md5 := listing_md5(files) if data is None else md5_bytes(data)) != out.md5:
            what = f"it has md5 {md5}, and was written with {out.md5}; run 'dvc repro -f report'"
            result.findings.append(Finding("bytes", out.path, what))
    noted = entry.params.get(RESOLVED, {}).get("report")
    version = noted.get("version") if isinstance(noted, dict) else None
    if version != REPORT_VERSION:
        result.skip("reports", f"version {version!s:.20} of the report wrote it, and {REPORT_VERSION} is installed")
        return result
    with TemporaryDirectory(prefix="driftledger-") as folder:
        try:
            if missing := write_report(project, again=Path(folder)):
                result.skip("reports/site", missing)
        except (DriftledgerError, ValueError, LookupError, TypeError, OSError) as error:
            result.skip("reports", f"it cannot be made again: {shortened(str(error))}")
            return result
        for top in sorted(path.name for path in Path(folder).iterdir()):
            here, again = f"reports/{top}", Path(folder, top)
            if any(each.where == here for each in result.skipped):
                continue
            written = {
                path.relative_to(folder).as_posix(): path for path in (again, *again.rglob("*")) if path.is_file()
            }
            stored = {f"{top}/{name}" for name in contents.listing_here(here)} or {top}
            result.checked["files"] += len(written)
            for name in sorted(written.keys() | stored):
                data = contents.here.read(f"reports/{name}")
                if data is None or name not in written:
                    what = "the scores give no such file" if data is not None else "it is missing; run 'dvc repro'"
                    result.findings.append(Finding("numbers", f"reports/{name}", what))
                elif not name.endswith((".svg", ".webp")):
                    one, other = (_EVALUATED.sub(b"", each) for each in (data, written[name].read_bytes()))
                    if one != other:
                        what = _first_difference(one.decode(errors="replace"), other.decode())
                        result.findings.append(Finding("numbers", f"reports/{name}", what))
    return result


def _first_difference(stored: str, again: str) -> str:
    lines = zip_longest(stored.split("\n"), again.split("\n"), fillvalue="")
    number, (one, other) = next((each for each in enumerate(lines, 1) if each[1][0] != each[1][1]), (0, ("", "")))
    start = max(next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), 0) - 20, 0)
    return f"line {number} has {one[start:]!r:.60}, and the scores give {other[start:]!r:.60}"


def write_plots(folder: Path, scores: Sequence[Score]) -> None:
    """Write ``<benchmark>/<curve>.json``, a row per score and step, and ``<benchmark>/scores.json``, a row per score,
    which ``dvc plots`` draws by the templates that ``dvc.yaml`` names.

    All rows of a file have the same keys, since DVC draws none of them otherwise; a model without a value has null.
    """
    with new_folder(folder) as target:
        for name, own in grouped(scores, lambda score: score.benchmark).items():
            keys = [key for key in benchmark(name).scores.keys if key != "model"]
            named = [
                ({"of": " · ".join(score.keys[key] for key in keys), "model": score.model}, score) for score in own
            ]
            for curve in dict.fromkeys(base_key(curve) for score in own for curve in score.curves):
                rows = [
                    {**row, "step": point.step, "value": point.value}
                    for row, score in named
                    for point in score.curves.get(curve, ())
                ]
                write_text(target / name / f"{curve.replace('/', '_')}.json", pretty_json(rows))
            metrics = dict.fromkeys(key for score in own for key in score.metrics if base_key(key) == key)
            table = [{**row, **{key: score.metrics.get(key) for key in metrics}} for row, score in named]
            write_text(target / name / "scores.json", pretty_json(table))


def write_metrics(folder: Path, scores: Sequence[Score]) -> None:
    """Write what ``dvc metrics`` shows, a file per score, as ``<model>/<benchmark>/<data>….json``."""
    with new_folder(folder) as target:
        for score in scores:
            path = benchmark(score.benchmark).scores.at(score.keys).removeprefix(f"{SCORES_FOLDER}/")
            write_text(target / f"{path}.json", pretty_json(shown_by_dvc(score) | {"coverage": score.coverage}))


def shown_by_dvc(score: Score) -> dict[str, float]:
    """Return what ``dvc metrics`` shows of a score, in the order of the table.

    Of a family over t each value, and the last one without its t, so that scores of different T are compared.
    """
    spec = benchmark(score.benchmark)
    shown: dict[str, float] = {}
    for metric in spec.metrics:
        if metric.key in (spec.layout.for_dvc or spec.glanced) and (keys := spec.keys_of(metric, score)):
            if "_at_{t}" in metric.key:
                shown[metric.key.replace("_at_{t}", "")] = score.metrics[keys[-1]]
                shown["iterations"] = int((metric.match(keys[-1]) or {})["t"])
            shown |= {key: score.metrics[key] for key in keys}
    return shown

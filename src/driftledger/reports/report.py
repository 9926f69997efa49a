"""The stage ``report``: everything in ``reports/`` that is put together from several scores; and
its check."""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import Score, base_key
from driftledger.core.canonical import md5_bytes, pretty_json
from driftledger.core.errors import ConfigError, DriftledgerError
from driftledger.core.files import (
    Files,
    load_json,
    load_yaml,
    read_bytes,
    unlink_folders,
    write_folder,
)
from driftledger.core.grouping import grouped
from driftledger.core.text import for_cell, same_start, shortened
from driftledger.ledger.findings import VerifyResult
from driftledger.ledger.lock import LOCK, locked_now
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.objects.files import listing_md5
from driftledger.project.presets import OWN
from driftledger.project.project import RESOLVED, Project
from driftledger.project.resolve import REPORT_VERSION
from driftledger.reports.charts import drawn, figures_of, series_of
from driftledger.reports.correlation import Correlation, correlation
from driftledger.reports.cross_check import cross_check_sections, cross_checks
from driftledger.reports.leaderboard import leaderboard_files
from driftledger.reports.scores import (
    Part,
    by_benchmark,
    rows_beside,
    selected_scores,
    what_is_lacking,
)
from driftledger.reports.site.build import STYLE, Figures, site_files
from driftledger.reports.tables import markdown

SITE = "reports/site"
"""The report as pages."""
_EVALUATED = re.compile(rb'<p class="soft evaluated">[^<]*</p>')
"""At which commit: of what was not published then, a later check may read another one."""


def write_report(project: Project, pages: Path | None = None, *, images: bool = True) -> str | None:
    """Write what the scores give, and of that what has changed; return sentences, a line each,
    about what it lacks.

    Args:
        pages: a folder, into which the site alone is written.
        images: whether the site may show images of datasets.

    Raises:
        ConfigError: the folder of the site holds something else.
        DriftledgerError: as in :func:`report_files`.
    """
    site = pages or project.root / SITE
    if (
        site.exists()
        and not (site / STYLE).is_file()
        and (not site.is_dir() or any(site.iterdir()))
    ):
        raise ConfigError(
            f"{site} is not a report of driftledger, and would be replaced; name a new folder"
        )
    unlink_folders(site)  # before pictures that are there are counted
    if pages is not None:
        parts, correlated, figures = _shown(project)
        own = site_files(site, project, parts, correlated, figures, images=images)
        write_folder(pages, {**own, **_drawn(figures)})
        return None
    files, missing = report_files(project, site, images=images)
    # "metrics" is a folder that earlier versions wrote
    write_folder(project.root / "reports", files, ("figures", "metrics", "plots", "site"))
    lacking = what_is_lacking(project, selected_scores(project))
    return "\n".join(filter(None, [*lacking, missing])) or None


def _shown(project: Project) -> tuple[list[Part], Correlation, Figures]:
    """Return what the leaderboard and the pages show; errors as of :func:`report_files`."""
    scores = selected_scores(project)
    parts = by_benchmark(scores, rows_beside(project))
    blocks = [block for part in parts for block in part.blocks]
    correlated = correlation(project, blocks)
    drawings = {block.name: list(figures_of(block, series_of(scores))) for block in blocks}
    drawings["correlation"] = [correlated.picture]
    figures = {}
    for section, some in drawings.items():
        figures[section] = {f"{section}-{drawing.name}.svg": drawing for drawing in some}
    return parts, correlated, figures


def _drawn(figures: Figures, *, again: bool = False) -> Files:
    """Return the files of all figures below the folder of a report or a site; again, only their
    names."""
    files = {}
    for section in figures.values():
        for name, drawing in section.items():
            files[f"figures/{name}"] = None if again else drawn(drawing)
    return files


def report_files(
    project: Project,
    site: Path,
    *,
    images: bool = True,
    again: bool = False,
    only: str | None = None,
) -> tuple[Files, str | None]:
    """Make the files of ``reports``, and a sentence about what they lack.

    Errors as in :func:`~driftledger.reports.scores.selected_scores`,
    :func:`~driftledger.reports.correlation.correlation` and
    :func:`~driftledger.reports.site.build.site_files`.

    Args:
        site: where thumbnails may be already.
        images: whether the site may show images of datasets.
        again: to be compared with what was written: figures are not drawn, since they depend on the
            installed libraries, and the cross-check, which depends on an encoder, is taken from
            ``reports``.
        only: of the site's pages, that of this model.
    """
    parts, correlated, figures = _shown(project)
    scores = [score for part in parts for score in part.scores]
    absent: dict[str, set[str]] = {}
    """Each folder of data or records that is not in this checkout → the benchmarks that need it."""
    for score in scores:
        for stage in benchmark(score.benchmark).stages[:-1]:
            folder = stage.at(score.keys)
            if not (project.root / folder).is_dir():
                absent.setdefault(folder, set()).add(score.benchmark)
    checks = []
    if again:
        checks = load_json(read_bytes(project.root / "reports" / "cross_check.json"))
    elif "genception" not in set().union(*absent.values()):
        checks = cross_checks(project, scores)
    pages = site_files(site, project, parts, correlated, figures, images=images, only=only)
    picture = "![Pearson's r between headlines](figures/correlation-pearson.svg)"
    tables = [line for table in correlated.tables for line in markdown(table)]
    page = ["# Correlation", "", for_cell(correlated.lead), "", picture, "", *tables]
    drawings = _drawn(figures, again=again)
    plots = load_yaml((OWN / "templates" / "dvc.yaml").read_text(encoding="utf-8"))["plots"]
    # without a file that dvc.yaml names, DVC fails; one without rows is not drawn
    drawn_by_dvc = [
        path[len("reports/") :]
        for plot in plots
        for path in plot
        if path.startswith("reports/plots/")
    ]
    files: Files = {
        "cross_check.json": pretty_json(checks).encode(),
        **leaderboard_files(parts, list(cross_check_sections(checks))),
        "correlation.csv": correlated.csv.encode(),
        "correlation.md": "\n".join(page).encode(),
        "metrics.json": pretty_json(metrics_of(scores)).encode(),
        **dict.fromkeys(drawn_by_dvc, b"[]\n"),
        **dict(plots_of(scores)),
        **drawings,
        **{f"site/{name}": data for name, data in {**pages, **drawings}.items()},
    }
    if not absent:
        return files, None
    more = f" and {len(absent) - 1} more folders" if len(absent) > 1 else ""
    return files, (
        f"{next(iter(absent))}{more} are not in this checkout, so the report lacks what it reads "
        "there: units with their pictures, and the cross-check; 'dvc pull' fetches them"
    )


def check_report(project: Project, contents: Contents, model: str | None = None) -> VerifyResult:
    """Compare what people look at, the leaderboard, metrics and pages, with what the scores give.

    Args:
        model: of the site, compare its page alone.
    """
    result = VerifyResult()
    entry = locked_now(project.root).get("report")
    if entry is None:
        if contents.here.read("reports/leaderboard.md") is not None:
            result.skip("reports", f"{LOCK} has no stage that wrote the report; run 'dvc repro'")
        return result
    for out in entry.outs:  # drawings and thumbnails too
        data = contents.here.read(out.path)
        files = contents.listing_here(out.path)
        if data is None and not files:
            result.skip(out.path, "it is not in this checkout")
        elif (md5 := listing_md5(files) if data is None else md5_bytes(data)) != out.md5:
            what = f"it has md5 {md5}, and was written with {out.md5}; run 'dvc repro -f report'"
            result.find(out.path, what)
    noted = entry.params.get(RESOLVED, {}).get("report")
    version = noted.get("version") if isinstance(noted, dict) else None
    if version != REPORT_VERSION:
        result.skip(
            "reports",
            f"version {version!s:.20} of the report wrote it, and {REPORT_VERSION} is installed",
        )
        return result
    try:
        again, missing = report_files(project, project.root / SITE, again=True, only=model)
    except (DriftledgerError, ValueError, LookupError, TypeError, AttributeError, OSError) as error:
        result.skip("reports", f"it cannot be made again: {shortened(str(error))}")
        return result
    if missing:
        result.skip("reports/site", missing)
    for top, some in grouped(again, lambda name: name.partition("/")[0]).items():
        here = f"reports/{top}"
        if any(each.where == here for each in result.skipped):
            continue
        is_part = here == SITE and model is not None
        stored = set() if is_part else {f"{top}/{name}" for name in contents.listing_here(here)}
        result.checked["files"] += len(some)
        for name in sorted({*some} | stored):
            data = contents.here.read(f"reports/{name}")
            if data is None or name not in again:
                what = (
                    "the scores give no such file"
                    if data is not None
                    else "it is missing; run 'dvc repro'"
                )
                result.find(f"reports/{name}", what, "numbers")
            elif (new := again[name]) is not None and not name.endswith(".webp"):
                one = _EVALUATED.sub(b"", data)
                other = _EVALUATED.sub(b"", new)
                if one != other:
                    what = _first_difference(
                        one.decode(errors="replace"), other.decode(errors="replace")
                    )
                    result.find(f"reports/{name}", what, "numbers")
    return result


def _first_difference(stored: str, again: str) -> str:
    for number, lines in enumerate(
        zip_longest(stored.split("\n"), again.split("\n"), fillvalue=""), 1
    ):
        if lines[0] != lines[1]:
            start = max(same_start(*lines) - 20, 0)
            one, other = (f"{line[start:]!r:.60}" for line in lines)
            return f"line {number} has {one}, and the scores give {other}"
    return "its bytes are not text"


def plots_of(scores: Sequence[Score]) -> Iterator[tuple[str, bytes]]:
    """Yield ``plots/<benchmark>/<curve>.json``, a row per score and step, and ``scores.json``
    beside it, a row per score, which ``dvc plots`` draws by the templates that ``dvc.yaml`` names;
    each with its bytes.

    All rows of a file have the same keys, since DVC draws none of them otherwise; a model without a
    value has null.
    """
    for name, own in grouped(scores, lambda score: score.benchmark).items():
        keys = [key for key in benchmark(name).scores.keys if key != "model"]
        named = [
            ({"of": " · ".join(score.keys[key] for key in keys), "model": score.model}, score)
            for score in own
        ]
        for curve in dict.fromkeys(base_key(curve) for score in own for curve in score.curves):
            rows = [
                {**row, "step": point.step, "value": point.value}
                for row, score in named
                for point in score.curves.get(curve, ())
            ]
            yield f"plots/{name}/{curve.replace('/', '_')}.json", pretty_json(rows).encode()
        metrics = dict.fromkeys(
            key for score in own for key in score.metrics if base_key(key) == key
        )
        table = [
            {**row, **{key: score.metrics.get(key) for key in metrics}} for row, score in named
        ]
        yield f"plots/{name}/scores.json", pretty_json(table).encode()


def metrics_of(scores: Sequence[Score]) -> dict[str, dict[str, float]]:
    """Return what ``dvc metrics`` and ``dvc exp show`` show: model → name → value.

    Of a curve it is the last value, so that ``gc`` stays comparable where T differs. Where several
    scores of a benchmark have a number, its name begins with the data and components in which these
    differ: ``gc_at_2`` on one dataset, ``photos.gc_at_2`` on one of two.
    """
    shown: dict[str, dict[str, float]] = {score.model: {} for score in scores}
    for name, own in grouped(scores, lambda score: score.benchmark).items():
        parts = [key for key in benchmark(name).scores.keys if key != "model"]
        differing = [key for key in parts if len({score.keys[key] for score in own}) > 1]
        for score in own:
            words = [score.keys[key] for key in differing]
            for tracked in benchmark(name).tracked(score):
                if not tracked.is_earlier:
                    shown[score.model][".".join([*words, tracked.name])] = tracked.value
    return shown

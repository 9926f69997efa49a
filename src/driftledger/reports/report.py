"""The stage ``report``: write all files, and check them."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import Path

from driftledger.benchmarks.registry import benchmark
from driftledger.core.canonical import Json, md5_bytes, pretty_json
from driftledger.core.errors import ConfigError, DriftledgerError, first_few
from driftledger.core.files import (
    Files,
    load_yaml,
    read_bytes,
    unlink_folders,
    write_folder,
)
from driftledger.core.grouping import grouped
from driftledger.core.paths import STATE
from driftledger.core.text import for_cell, same_start, shortened
from driftledger.ledger.findings import VerifyResult
from driftledger.ledger.lock import LockEntry, locked_now
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.objects.files import listing_md5
from driftledger.project.presets import OWN
from driftledger.project.project import LOCK, Project
from driftledger.project.resolve import REPORT_VERSION
from driftledger.reports.charts import (
    Drawing,
    figures_of,
    lines_of,
    series_of,
    svg_of,
)
from driftledger.reports.correlation import correlation
from driftledger.reports.leaderboard import leaderboard_files, sections_in
from driftledger.reports.scores import (
    rows_reader,
    selected_scores,
    what_is_lacking,
)
from driftledger.reports.site.build import STYLE, Context, site_files
from driftledger.reports.tables import section_of
from driftledger.reports.tests import with_ranks
from driftledger.scoring.frame import by_setup, frame, rows_in
from driftledger.scoring.number import NumberName
from driftledger.scoring.score import Score
from driftledger.scoring.table import markdown

SITE = "reports/site"
"""The report as pages."""
MOST_METRICS = 8
"""Numbers of a model in ``reports/metrics``, which ``dvc metrics show`` has in a line."""
_EVALUATED = re.compile(rb'<p class="soft evaluated">[^<]*</p>')
"""The line with the commit of an evaluation, which may differ in a later check."""


def write_report(
    project: Project, pages: Path | None = None, *, images: bool = True
) -> str | None:
    """Write the files of ``reports``; return a line about each thing that they lack.

    A file that has not changed stays as it is.

    Args:
        pages: a folder, into which the site alone is written.
        images: whether the site may show images of datasets.

    Raises:
        ConfigError: the folder of the site holds something else.
        DriftledgerError: as in :func:`report_files`.
    """
    site = pages or project.root / SITE
    is_empty = site.is_dir() and not any(site.iterdir())
    is_ours = is_empty or (site / STYLE).is_file()
    if site.exists() and not is_ours:
        raise ConfigError(
            f"{site} is not a report of driftledger, and would be replaced; name a new folder"
        )
    unlink_folders(site)  # before pictures that are there are counted
    if pages is not None:
        report = content(project, selected_scores(project))
        own, _ = site_files(site, report, images=images)
        write_folder(pages, own | _figure_files(report))
        return None
    files, missing = report_files(project, site, images=images)
    write_folder(project.root / "reports", files, ("metrics", "plots", "site"))
    lacking = what_is_lacking(project, selected_scores(project))
    if missing:
        lacking.append(missing)
    return "\n".join(lacking) or None


def content(project: Project, scores: Sequence[Score]) -> Context:
    """Set scores side by side and draw them; errors as of :func:`report_files`."""
    rows_of = rows_reader(project)
    ranked = with_ranks(frame(scores), rows_of)
    numbers = rows_in(ranked)
    series = series_of(scores)
    figures: dict[str, dict[str, Drawing]] = {}
    for part in by_setup(numbers):
        name = section_of(part[0].score)
        section = figures[name] = {}
        for drawing in figures_of(part, series):
            section[f"figures/{name}-{drawing.name}.svg"] = drawing
    correlated = correlation(project.settings.correlation, numbers, rows_of)
    picture = correlated.picture
    figures["correlation"] = {f"figures/correlation-{picture.name}.svg": picture}
    return Context(
        project,
        scores,
        ranked=ranked,
        numbers=numbers,
        sections=sections_in(numbers),
        rows_of=rows_of,
        correlation=correlated,
        figures=figures,
    )


def _figure_files(report: Context) -> dict[str, bytes | None]:
    """Return the files of all figures, drawing those that have changed.

    Their paths are relative to the site's folder. The last report's figures are kept in the
    checkout's state.
    """
    files: dict[str, bytes | None] = {}
    kept: dict[str, bytes | None] = {}
    own = report.project.own_code
    store = report.project.root / STATE / "figures"
    for section in report.figures.values():
        for path, drawing in section.items():
            name = f"{drawing.digest}.svg"
            is_kept = own and (store / name).is_file()
            data = read_bytes(store / name) if is_kept else svg_of(drawing)
            files[path] = kept[name] = data
    if own:
        write_folder(store, kept)
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
            installed libraries.
        only: of the site's pages, that of this model.
    """
    scores = selected_scores(project)
    report = content(project, scores)
    page = ["# Correlation", "", for_cell(report.correlation.lead), ""]
    page += ["[As a picture](site/correlation.html)", ""]
    for table in report.correlation.tables:
        page += markdown(table)
    files: dict[str, bytes | None] = {
        **leaderboard_files(report.ranked, report.numbers, report.sections),
        "correlation.md": "\n".join(page).encode(),
    }
    for model, values in metrics_of(scores).items():
        files[f"metrics/{model}.json"] = pretty_json(values).encode()
    # without a file that dvc.yaml names, DVC fails; one without rows is not drawn
    text = (OWN / "templates" / "dvc.yaml").read_text(encoding="utf-8")
    for path in chain.from_iterable(load_yaml(text)["plots"]):
        if path.startswith("reports/plots/"):
            files[path.removeprefix("reports/")] = b"[]\n"
    files |= dict(plots_of(scores))
    pages, missing = site_files(site, report, images=images, only=only)
    for path in chain.from_iterable(report.figures.values()):
        pages[path] = None
    if not again:
        pages |= _figure_files(report)
    for name, data in pages.items():
        files[f"site/{name}"] = data
    if not missing:
        return files, None
    return files, (
        f"records or data of {first_few(missing)} are not in this checkout, so the report lacks "
        "units with their pictures; 'dvc pull' fetches them"
    )


def check_report(
    project: Project, contents: Contents, model: str | None = None
) -> VerifyResult:
    """Compare the stored report with the one that the scores give.

    Args:
        model: compare its page alone instead of the whole site.
    """
    result = VerifyResult()
    entry = locked_now(project.root).get("report")
    if entry is None:
        if contents.here.read("reports/leaderboard.md") is not None:
            result.skip(
                "reports", f"{LOCK} has no stage that wrote the report; run 'dvc repro'"
            )
        return result
    _check_outs(entry, contents, result)
    noted = entry.noted.get("report")
    version = noted.get("version") if isinstance(noted, dict) else None
    if version != REPORT_VERSION:
        result.skip(
            "reports",
            f"it was written by version {version!s:.20} of the report, and version "
            f"{REPORT_VERSION} is installed",
        )
        return result
    try:
        files, missing = report_files(
            project, project.root / SITE, again=True, only=model
        )
    except (
        DriftledgerError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        OSError,
    ) as error:
        result.skip("reports", f"it cannot be made again: {shortened(str(error))}")
        return result
    if missing:
        result.skip("reports/site", missing)
    _compare(files, contents, result, model)
    return result


def _check_outs(entry: LockEntry, contents: Contents, result: VerifyResult) -> None:
    """Compare all that the stage wrote, drawings and thumbnails too, with the lock."""
    for out in entry.outs:
        data = contents.here.read(out.path)
        listing = contents.listing_here(out.path)
        if data is None and not listing:
            result.skip(out.path, "it is not in this checkout")
            continue
        md5 = listing_md5(listing) if data is None else md5_bytes(data)
        if md5 != out.md5:
            what = f"it has md5 {md5}, and was written with {out.md5}; run 'dvc repro -f report'"
            result.find(out.path, what)


def _compare(
    files: Files, contents: Contents, result: VerifyResult, model: str | None
) -> None:
    """Compare the files of this checkout with those that the scores give."""
    skipped = {skip.where for skip in result.skipped}
    for top, names in grouped(files, lambda name: name.partition("/")[0]).items():
        folder = f"reports/{top}"
        if folder in skipped:
            continue
        result.checked["files"] += len(names)
        compared = set(names)
        if folder != SITE or model is None:
            compared.update(f"{top}/{name}" for name in contents.listing_here(folder))
        for name in sorted(compared):
            what = _finding(name, contents.here.read(f"reports/{name}"), files)
            if what:
                result.find(f"reports/{name}", what, "numbers")


def _finding(name: str, stored: bytes | None, files: Files) -> str:
    """Say how a stored file differs from the scores; empty if it does not."""
    if stored is None:
        return "it is missing; run 'dvc repro'"
    if name not in files:
        return "the scores give no such file"
    computed = files[name]
    if computed is None or name.endswith(".webp"):
        return ""
    one = _EVALUATED.sub(b"", stored)
    other = _EVALUATED.sub(b"", computed)
    if one == other:
        return ""
    return _first_difference(
        one.decode(errors="replace"), other.decode(errors="replace")
    )


def _first_difference(stored: str, made: str) -> str:
    pairs = zip_longest(stored.split("\n"), made.split("\n"), fillvalue="")
    for number, (one, other) in enumerate(pairs, 1):
        if one != other:
            start = max(same_start(one, other) - 20, 0)
            has = f"line {number} has {one[start:]!r:.60}"
            return f"{has}, and the scores give {other[start:]!r:.60}"
    return "its bytes are not text"


def plots_of(scores: Sequence[Score]) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the bytes of each file that ``dvc plots`` draws.

    ``plots/<benchmark>/<lines>.json`` has a row per score and step, and ``scores.json`` next to it
    a row per score. ``dvc.yaml`` names their templates.

    All rows of a file have the same keys, since DVC draws none of them otherwise; a model without a
    value has null.
    """
    for name, own in grouped(scores, lambda score: score.benchmark).items():
        spec = benchmark(name)
        values = [_values(score) for score in own]
        without: Json = dict.fromkeys(chain.from_iterable(values))
        table = []
        curves: dict[str, list[Json]] = {}
        for score, numbers in zip(own, values, strict=True):
            on = [score.keys[key] for key in spec.scores.keys if key != "model"]
            row: Json = {"of": " · ".join(on), "model": score.model}
            table.append(row | without | numbers)
            for lines in lines_of(spec):
                points = lines.points(score).items()
                for step, number in points:
                    point = {"step": step, "value": number.value}
                    curves.setdefault(lines.name, []).append(row | point)
        for curve, rows in curves.items():
            yield f"plots/{name}/{curve}.json", pretty_json(rows).encode()
        yield f"plots/{name}/scores.json", pretty_json(table).encode()


def _values(score: Score) -> dict[str, float]:
    """Return name → value of the numbers of all samples."""
    values = {}
    for number in score.numbers:
        if number.is_whole and number.value is not None:
            values[number.name] = number.value
    return values


def metrics_of(scores: Sequence[Score]) -> dict[str, dict[str, float | None]]:
    """Return what ``dvc metrics`` and ``dvc exp show`` show: model → name → value.

    Every model has the same names, so that DVC shows a row per model: the first headline of each
    benchmark on each data, the first :data:`MOST_METRICS` of them. It is that at the last t, which
    its name has, so that no column mixes GC@1 and GC@5. A name begins with the data where its
    benchmark has several: ``photos.gc_at_5``. Of several scores of a model on the same data it is
    that through the first components.
    """
    by_data = grouped(scores, lambda score: (score.benchmark, score.on))
    benchmarks = [name for name, _ in by_data]
    values: dict[str, dict[str, float | None]] = {}
    for score in scores:
        values[score.model] = {}
    for (name, data), own in list(by_data.items())[:MOST_METRICS]:
        metrics = benchmark(name).metrics
        headlines = map(metrics.headline, own)
        known = [number for number in headlines if number.value is not None]
        first = known[0].metric if known else metrics.first.name
        steps = [number.t for number in known if number.metric == first]
        t = max(filter(None, steps), default=None)
        key = str(NumberName(metrics[first].alias or first, t))
        if benchmarks.count(name) > 1:
            key = f"{data}.{key}"
        for named in values.values():
            named[key] = None
        for score in reversed(own):
            number = score.find(first, t)
            values[score.model][key] = None if number is None else number.value
    return values

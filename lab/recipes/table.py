"""``reports/recipes.md``: what the report finds, in tables that can be read."""

from collections.abc import Iterator
from pathlib import Path

from driftledger.core.escaping import for_markdown
from driftledger.core.files import read_json, write_text
from driftledger.reports.tables import markdown_table
from lab.recipes.report import REPORT, Found, Untaught, Vague
from lab.validity.scores import title_of
from lab.validity.stages import climb
from lab.validity.table import by_family, by_round, by_stage, point_in_words, share_in_words, summary

_RATIO_DIGITS, _PERCENT_DIGITS = 3, 1


def write_page(root: Path) -> None:
    """Write it beside the JSON file that it is made of.

    Raises:
        StoreError: that file is missing or damaged.
    """
    report = root / REPORT
    write_text(report.with_suffix(".md"), recipes_tables(read_json(report.with_suffix(".json"), Found)))


def recipes_tables(found: Found) -> str:
    """The whole file."""
    lines = ["# Close neighbours, a kind of question left out, and captions that leave facts out", ""]
    lines += ["Checkpoints of `trio/recipes.yaml`, trained and evaluated by `python -m lab.recipes`.", ""]
    lines += [*summary(found.plain), *by_family(found.plain), *_exact(found), *by_stage(found.plain)]
    lines += [*by_round("## Does iterating tell the stages apart better?", found.plain.iterating)]
    lines += [*_unasked(found), *_vague(found.vague)]
    return "\n".join(lines)


def _exact(found: Found) -> Iterator[str]:
    yield from ("## What is known", "")
    shares = found.plain.describers | found.exact
    rows = [[for_markdown(name), share_in_words(share)] for name, share in shares.items()]
    yield from markdown_table("held-out images described word for word, %", ["", "share"], rows)


def _unasked(found: Found) -> Iterator[str]:
    taught, untaught = map(for_markdown, found.exact)
    yield from ("## A kind of question that was not learnt", "")
    yield (
        f"{taught} was also taught to choose among options, as MM-SAP asks; {untaught} was taught all else, by as many "
        "steps. *Lost*: by how much the taught one is better, with the interval over bootstrap resamples of the "
        "samples that both share."
    )
    yield ""
    rows = [
        [
            _named(each),
            point_in_words(each.taught, _digits(each)),
            point_in_words(each.untaught, _digits(each)),
            point_in_words(each.lost, _digits(each)),
        ]
        for each in found.unasked
    ]
    yield from markdown_table("the same but for one kind of question", ["", taught, untaught, "lost"], rows)


def _vague(found: Vague) -> Iterator[str]:
    yield from ("## Captions that leave facts out", "")
    yield (
        "Of a large thing the colour is not told, of a small one the size; the painter has learnt from captions in "
        "which any fact may be missing, and makes it up. *faultless* reads images as the program that drew them can, "
        "and tells as little."
    )
    yield ""
    others, steps = found.others, found.models
    for encoder, chains in found.chains.items():
        rounds = max(map(len, chains.values()))
        rows = [
            [for_markdown(name), *(point_in_words(point, _RATIO_DIGITS) for point in chains[name])]
            for name in (others[0], *reversed(climb("models", steps)), *others[1:])
        ]
        head = ["", *(f"GC@{t}" for t in range(1, rounds + 1))]
        yield from markdown_table(for_markdown(f"{found.generator} · {encoder}"), head, rows)
    yield from by_round("### Does iterating tell these stages apart better?", found.iterating)


def _named(each: Untaught) -> str:
    of = (title_of(each.benchmark, each.metric, whole=True), each.generator, each.encoder, each.on)
    return for_markdown(" · ".join(part for part in of if part))


def _digits(each: Untaught) -> int:
    return _RATIO_DIGITS if each.benchmark == "genception" else _PERCENT_DIGITS

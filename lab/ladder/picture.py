"""``reports/ladder.svg``: each kind of damage is a panel, each ground a row, each metric a line."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from driftledger.charts.axes import PlotPoint
from driftledger.charts.lines import Curve, lines
from driftledger.charts.palette import nth
from driftledger.charts.svg import Drawing, element, joined, moved, page, row
from lab.ladder.damage import KINDS
from lab.ladder.report import Held, LadderReport, OnGround
from lab.ladder.table import name_of

WIDTH = 1200
"""Of the picture, in pixels."""
_HEIGHT = 170
_MOST = 6
"""Lines in a panel; tables have all."""
_SHOWN = ("gc_at_", "clip_s", "ssim", "image_similarity", "frechet_", "top1")
"""Of each of these keys the last generator's and the last encoder's, in this order."""


class _Picked(NamedTuple):
    name: str
    held: Held


def draw_ladder(found: LadderReport) -> str:
    """An SVG: a row of panels for each ground."""
    rows = [_row(ground) for ground in found.grounds.values() if any(each.answers for each in ground.metrics)]
    y, drawn = 0.0, []
    for each in rows:
        drawn.append(moved(each.body, 0, y))
        y += each.height + 12
    told = " ".join(each.told for each in rows)
    title, note = "Do the metrics see what a description has lost?", "1 is the undamaged description, 0 what blind gets"
    return page(Drawing(title, note, WIDTH, y, joined(*drawn) if drawn else element("g"), told))


def _row(ground: OnGround) -> Drawing:
    kinds = [kind for kind, damage in KINDS.items() if damage.loses]
    picked = list(_picked(ground.metrics))
    charts = [
        lines(
            KINDS[kind].title,
            list(_curves(picked, kind)),
            across="dose",
            width=WIDTH / len(kinds),
            height=_HEIGHT,
            below=True,
        )
        for kind in kinds
    ]
    note = "1 is the undamaged description, 0 what blind gets; the tables have intervals of slopes"
    return row(f"{ground.title[:1].upper()}{ground.title[1:]}", note, charts)


def _picked(metrics: Sequence[Held]) -> Iterator[_Picked]:
    told = [each for each in metrics if each.answers]
    last = max((each.generator for each in told), default="")
    for key in _SHOWN:
        some = [each for each in told if each.metric.startswith(key) and each.generator in ("", last)]
        seen = {each.metric: each for each in some}
        for each in list(seen.values())[:1]:
            yield _Picked(name_of(each).replace(f" · {last}", ""), each)


def _curves(picked: Sequence[_Picked], kind: str) -> Iterator[Curve]:
    for place, (name, held) in enumerate(picked[:_MOST]):
        answer = next(each for each in held.answers if each.kind == kind)
        points = [PlotPoint(round(x, 2), v.value) for x, v in zip(answer.doses, answer.values, strict=True)]
        yield Curve(name, nth(place), points)

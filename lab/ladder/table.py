"""``reports/ladder.md``: what the ladder finds, in tables that can be read."""

from collections.abc import Iterator, Sequence

from driftledger.core.escaping import for_markdown
from driftledger.reports.tables import markdown_table
from lab.ladder.bench import FLOOR
from lab.ladder.damage import KINDS
from lab.ladder.report import Answer, Held, LadderReport, OnGround, Value, Verdict, count
from lab.validity.scores import title_of

_MARKS: dict[Verdict, str] = {
    "falls at every dose": "▼",
    "falls": "▽",
    "rises": "▲",
    "open": "?",
    "keeps still": "=",
    "moves": "≠",
}
_LOSING = (
    "The slope per whole dose, in percent of the span between the undamaged description and "
    f"{FLOOR}, with its interval: −100 is a metric that a whole dose brings down to what it gives a model that never "
    "looks. ▼ falls at every dose; ▽ falls, but not at every dose; ? could be level; ▲ rises. Of a Fréchet distance, "
    "which is over all images together, there is no interval."
)
_KEEPING = (
    "The change from no dose to the whole, in percent of the same span: = stays within "
    "± {margin}; ≠ moves further; ? could be either."
)


def name_of(held: Held) -> str:
    """A metric with what it is seen through."""
    title = title_of(held.benchmark, held.metric, whole=held.benchmark == "trac")
    return " · ".join(part for part in (title, held.generator, held.encoder) if part)


def ladder_tables(found: LadderReport) -> str:
    """The whole file."""
    lines = ["# Do the metrics see what a description has lost?", ""]
    lines += [f"- *{damage.title}*: {damage.says}." for damage in KINDS.values()]
    lines.append("")
    for ground in found.grounds.values():
        lines += _ground(ground, found)
    return "\n".join(lines)


def _ground(ground: OnGround, found: LadderReport) -> Iterator[str]:
    told = [each for each in ground.metrics if each.answers]
    yield from (f"## {ground.title[:1].upper()}{ground.title[1:]}", "")
    yield from (*_summary(told), "")
    for loses, legend in ((True, _LOSING), (False, _KEEPING.format(margin=f"{100 * found.margin:g}"))):
        kinds = [kind for kind, damage in KINDS.items() if damage.loses is loses]
        title = "what loses facts" if loses else "what keeps them"
        head = ["", *([f"undamaged → {FLOOR}"] if loses else []), *(KINDS[kind].title for kind in kinds)]
        rows = [[for_markdown(name_of(each)), *_row(each, kinds, loses)] for each in told]
        yield from (*markdown_table(title, head, rows), legend, "")
    yield from _without(ground)


def _summary(told: Sequence[Held]) -> Iterator[str]:
    """One line for each kind, on how many metrics do what they should, and which do not."""
    for kind, damage in KINDS.items():
        right: tuple[Verdict, ...] = ("falls at every dose", "falls") if damage.loses else ("keeps still",)
        counted = count(told, kind)
        good = sum(counted.get(each, 0) for each in right)
        said = "fall" if damage.loses else "keep still"
        every = counted.get("falls at every dose", 0)
        more = f", {every} of them at every dose" if damage.loses else ""
        wrong = [name_of(each) for each in told if _answer(each, kind).verdict not in right]
        others = f"; not: {for_markdown(', '.join(wrong))}" if 0 < len(wrong) <= len(told) // 2 else ""
        yield f"- {damage.title}: {good} of {len(told)} metrics {said}{more}{others}."


def _row(held: Held, kinds: Sequence[str], loses: bool) -> Iterator[str]:
    if loses:
        yield f"{_plain(held.top)} → {_plain(held.floor)}"
    for kind in kinds:
        answer = _answer(held, kind)
        yield f"{_percent(answer.slope if loses else answer.change)} {_MARKS[answer.verdict]}"


def _answer(held: Held, kind: str) -> Answer:
    return next(answer for answer in held.answers if answer.kind == kind)


def _without(ground: OnGround) -> Iterator[str]:
    """Metrics that have nothing to lose."""
    for each in ground.metrics:
        if not each.answers:
            yield (
                f"- {for_markdown(name_of(each))} gives {FLOOR} {_plain(each.floor)} and the undamaged description "
                f"{_plain(each.top)}: it does not put a description above none, and nothing can be said of its fall."
            )
    yield ""


def _plain(value: float) -> str:
    return f"{value:.{3 if abs(value) < 2 else 1}f}".replace("-", "−")


def _percent(value: Value) -> str:
    if value.low is None or value.high is None:
        return _signed(value.value)
    return f"{_signed(value.value)} ({_signed(value.low)} to {_signed(value.high)})"


def _signed(share: float) -> str:
    whole = round(100 * share) + 0
    return f"{whole:+d}".replace("-", "−") if whole else "0"

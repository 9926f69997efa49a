"""How many images, repeats and generators it takes to tell two models apart, and what they would cost.

How far values vary is taken from scores that are stored, as ``driftledger variance`` tells it; what each image would
ask of the components, and at which price, from the same counting as ``driftledger plan``.
"""

import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

from rich.console import Group, RenderableType

from driftledger.benchmarks.registry import runner
from driftledger.benchmarks.runner import Planned
from driftledger.benchmarks.settings import RepeatedSection
from driftledger.collect.call import NotStoredError
from driftledger.collect.plan import Plan as CountedCalls
from driftledger.commands.collect import selected_work
from driftledger.commands.variance import stored_scores
from driftledger.core.errors import ConfigError, DriftledgerError, LedgerError
from driftledger.core.terminal import HEAD, QUIET, line, table
from driftledger.metrics.power import Noise, Plan, images_needed, noise_of_a_difference
from driftledger.project.project import Project
from driftledger.reports.variance import VarianceFound, by_data, variance_found, without_controls

GENERATOR = "generator"
REPEATS, GENERATORS = (1, 2, 3, 5), (1, 2, 3, 4)
"""What is weighed against more images, where the stored scores tell what it would bring."""

_NOTHING, _NEVER = "–", "no number"


class PerImage(NamedTuple):
    """What one image asks of one model through one generator, once."""

    calls: float
    cost: float | None
    """At most; None where nobody is paid."""


class Option(NamedTuple):
    """A way to tell two models apart."""

    repeats: int
    generators: int
    images: int | None
    """As many of each category; None where none suffice."""
    least: int | None
    """With as little noise as the interval of its variance allows."""
    most: int | None
    any_generator: int | None
    """Images for a difference that is meant through any generator like these; None too where one generator is had."""


@dataclass(frozen=True)
class Design:
    """The ways to find a difference."""

    of: VarianceFound
    detect: float
    power: float
    options: Sequence[Option]
    per_image: PerImage | None

    def calls(self, option: Option) -> float | None:
        return self._times(option, None if self.per_image is None else self.per_image.calls)

    def cost(self, option: Option) -> float | None:
        return self._times(option, None if self.per_image is None else self.per_image.cost)

    def _times(self, option: Option, each: float | None) -> float | None:
        if each is None or option.images is None:
            return None
        return each * option.images * option.repeats * option.generators * 2

    def to_dict(self) -> dict[str, Any]:
        crossed, found = self.of.crossed, self.of.found
        return {
            "benchmark": crossed.spec.name,
            "on": crossed.on,
            "metric": crossed.key,
            "detect": self.detect,
            "power": self.power,
            "confidence": found.confidence,
            "categories": len(found.layout.sizes),
            "stored": {"images": len(crossed.categories), "detects": self.of.detectable(self.power)},
            "options": [
                {**each._asdict(), "most_calls": self.calls(each), "most_cost": self.cost(each)}
                for each in self.options
            ],
        }


def design(
    project: Project,
    runs: Sequence[str],
    *,
    detect: float,
    power: float,
    benchmark: str | None,
    metric: str | None,
    in_json: bool,
) -> RenderableType:
    """What it takes to find a difference of ``detect``, in the unit of the score.

    Args:
        runs: from which the noise is taken, as :func:`~driftledger.commands.variance.stored_scores`.
        benchmark: None: the first of which several models are stored.
        metric: by its key; None: the first at a glance.

    Raises:
        ConfigError: ``detect`` or ``power`` is out of range.
        LedgerError: no stored scores tell how values vary.
    """
    made = designed(project, runs, detect=detect, power=power, benchmark=benchmark, metric=metric)
    return json.dumps(made.to_dict(), indent=2) if in_json else _in_terminal(made)


def designed(
    project: Project, runs: Sequence[str], *, detect: float, power: float, benchmark: str | None, metric: str | None
) -> Design:
    """As :func:`design`, for programs."""
    refused = []
    for some in by_data(stored_scores(project, runs, benchmark)):
        try:
            of = variance_found(some if runs else without_controls(some)[0], metric)
        except LedgerError as error:
            refused.append(str(error))
            continue
        if of.models < 2:
            refused.append(f"{of.crossed.title}: the scores are of one model")
            continue
        if not detect > 0 or not math.isfinite(detect):
            raise ConfigError(f"--detect must be above 0, but is {detect}")
        if not 1 - of.found.confidence < power < 1:
            raise ConfigError(f"--power must be between {1 - of.found.confidence:g} and 1, but is {power}")
        options = list(_options(of, detect, power))
        return Design(of, detect, power, options, _per_image(project, of))
    raise LedgerError("; ".join(refused) or "no score is stored; run 'dvc repro' or 'dvc pull'")


def _options(of: VarianceFound, detect: float, power: float) -> Iterator[Option]:
    layout = of.found.layout
    repeats = REPEATS if layout.repeats > 1 else (layout.repeats,)
    generators = GENERATORS if GENERATOR in layout.levels else (1,)
    for each, many in product(repeats, generators):
        noises = [_noise(of, each, many, end) for end in (None, 0, 1)]
        images, least, most = (_images(of, noise, detect, power) for noise in noises)
        anyone = _images(of, _noise(of, each, many, None, any_generator=True), detect, power) if many > 1 else None
        yield Option(each, many, images, least, most, anyone)


NoiseOf = Callable[[int], Noise | None]
"""Of a difference, given the number of images."""


def _noise(
    of: VarianceFound, repeats: int, generators: int, end: int | None, *, any_generator: bool = False
) -> NoiseOf:
    """
    Args:
        end: which end of the interval of its variance; None for the estimate.
    """
    categories = len(of.found.layout.sizes)

    def noise(images: int) -> Noise | None:
        plan = Plan(images, categories, repeats, generators)
        found = noise_of_a_difference(of.found, plan, any_generator=any_generator)
        return found if found is None or end is None else found._replace(variance=found.interval[end])

    return noise


def _images(of: VarianceFound, noise: NoiseOf, detect: float, power: float) -> int | None:
    categories = len(of.found.layout.sizes)
    return images_needed(noise, detect, categories=categories, power=power, confidence=of.found.confidence)


class _Everything(CountedCalls):
    """Counts every call, as if none were stored."""

    def run(self, planned: Sequence[Planned[Any]]) -> list[Any]:
        for each in planned:
            for component, asked in each.calls:
                self.add(component, asked, 1)
        raise NotStoredError


def _per_image(project: Project, of: VarianceFound) -> PerImage | None:
    """By what the selected models and generators would be asked about the data; None where that is not at hand."""
    spec = of.crossed.spec
    images = len(of.crossed.categories) + of.crossed.left_out
    try:
        project = replace(project, asks=False)
        work = [each for each in selected_work(project, [spec.name]) if each.keys.get(spec.data.name) == of.crossed.on]
        section = project.settings.section(spec.name)
        repeats = section.repeats if isinstance(section, RepeatedSection) else 1
        with project.store(writes=False) as store:
            counted = _Everything(store)
            for each in work:
                earlier: dict[str, Any] | None = None
                for stage in (stage for stage in spec.collects if not stage.apart):
                    collecting = runner(spec.name).collecting(project, stage.name, each.keys, earlier)
                    try:
                        if earlier is not None:
                            raise NotStoredError(collecting.uncounted())
                        collecting.run(counted.run)
                    except NotStoredError as error:
                        earlier = {}
                        for rest in error.rest:
                            counted.add(*rest)
    except DriftledgerError:
        return None
    chains = len(work) * images * repeats
    if not chains:
        return None
    costs = [calls.most_cost for calls in counted.calls.values() if calls.most_cost is not None]
    asked = sum(calls.to_make for calls in counted.calls.values())
    return PerImage(asked / chains, sum(costs) / chains if costs else None)


def _in_terminal(made: Design) -> RenderableType:
    of, digits = made.of, made.of.crossed.metric.digits
    several_generators, several_repeats = GENERATOR in of.found.layout.levels, of.found.layout.repeats > 1
    head = f"To find a difference of {made.detect:g} in {of.crossed.title} with a power of {made.power:.0%}"
    columns = ["repeats", "generators", "images", "by the interval of the noise", "images, through any generator"]
    columns += ["calls, at most", "cost, at most"]
    rows = [
        [
            str(each.repeats),
            str(each.generators),
            _suffice(each.images),
            f"{_suffice(each.least)} to {_suffice(each.most)}",
            _suffice(each.any_generator) if each.generators > 1 else _NOTHING,
            _many(made.calls(each)),
            _NOTHING if (cost := made.cost(each)) is None else f"{cost:,.2f}",
        ]
        for each in made.options
    ]
    told = [number for number, cells in enumerate(zip(*rows, strict=True)) if set(cells) != {_NOTHING}]
    shown = table(*(columns[number] for number in told), numbers=[columns[number] for number in told])
    for row in rows:
        shown.add_row(*(line(row[number]) for number in told))
    smallest = of.detectable(made.power)
    notes = [
        f"for two models, with {of.found.confidence:.0%} confidence; by how values vary over {of.crossed.extent}",
        *([f"as many images as there are show {smallest:.{digits}f}"] if smallest is not None else []),
        *(
            [f"images spread evenly over {len(of.found.layout.sizes)} categories"]
            if len(of.found.layout.sizes) > 1
            else []
        ),
        *([] if several_repeats else ["nothing is repeated in these scores: what repeats would save is not known"]),
        *(
            []
            if several_generators or GENERATOR not in of.crossed.spec.scores.keys
            else ["of one generator: whether another one would order the models alike is not known"]
        ),
    ]
    if any(_NEVER in row for row in rows):
        notes.append(f"{_NEVER}: more images do not help, since generators differ by more than that")
    return Group(line(head, HEAD), shown, *(line(note, QUIET) for note in notes))


def _many(count: float | None) -> str:
    return _NOTHING if count is None else f"{math.ceil(count):,}"


def _suffice(images: int | None) -> str:
    return _NEVER if images is None else _many(images)

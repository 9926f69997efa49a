"""How much of a score is luck in drawing: every chain three times, for the default run and for the trio.

Run as ``python -m lab.repeats measure`` in the top folder. Chains and redrawings of what each preset selects are asked
for with three repeats, scored through each encoder, and put into ``reports/repeats.json`` and ``reports/repeats.md``.
Calls go through the checkout's call store, so that those of the first repeat are not made again where there was a run.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, ClassVar, NamedTuple, cast

import numpy as np
import typer

from driftledger.benchmarks._chains.collect import ChainProtocol, CollectChains
from driftledger.benchmarks._chains.records import ChainRequest
from driftledger.benchmarks.base import Input
from driftledger.benchmarks.fidelity.collect import CollectRedraws, asked_once
from driftledger.benchmarks.fidelity.encode import to_redraw
from driftledger.benchmarks.fidelity.settings import FidelitySettings
from driftledger.benchmarks.genception.runner import chains_of
from driftledger.benchmarks.genception.settings import GenCeptionSettings
from driftledger.benchmarks.registry import benchmark, runner
from driftledger.benchmarks.score import REPEAT, Row, Score
from driftledger.benchmarks.scoring import ToScore, interval
from driftledger.benchmarks.tables import NOTHING
from driftledger.benchmarks.writing import write_collected
from driftledger.commands.stages import ask
from driftledger.components.base import Encoder, Generator, Model
from driftledger.core.errors import CoverageError
from driftledger.core.escaping import for_markdown
from driftledger.core.files import Record, read_json, write_json, write_text
from driftledger.core.types import Sample
from driftledger.data.datasets.build import build
from driftledger.data.records import DatasetCard, read_samples
from driftledger.project.presets import preset_settings
from driftledger.project.project import Project
from driftledger.project.settings import Settings
from lab.entry import here, new_app, run

REPEATS = 3
RUNS = {"default": "The default run", "neural": "The trio"}
"""Preset → what it is called."""
JSON, PAGE = "reports/repeats.json", "reports/repeats.md"
_DIGITS = 6
"""Of what is kept: a checkpoint's last bits are other ones on other processors."""

app = new_app(__doc__ or "")


class Estimate(Record):
    """A score with the ends of its interval."""

    value: float
    low: float
    high: float

    def told(self, digits: int) -> str:
        """For people."""
        return f"{self.value:.{digits}f} ({self.low:.{digits}f}–{self.high:.{digits}f})"


class Measured(Record):
    """One model under one generator, by one encoder."""

    model: str
    once: Estimate
    """Of the first repeat, as if there were no other."""
    all: Estimate
    """Over all repeats."""
    std: float
    """Over repeats, dividing by their number."""
    alone: list[float]
    """Each repeat."""
    samples: float
    """Estimated variance of a sample's own value within its category; below 0 where repeats alone vary as much."""
    repeats: float
    """Estimated variance of one repeat of a sample about the sample's own value."""

    @property
    def share(self) -> float | None:
        """How much of the variance of one value of one sample is between repeats; None where nothing varies."""
        total = max(self.samples, 0.0) + self.repeats
        return self.repeats / total if total else None


class Block(Record):
    """The models that stand side by side."""

    title: str
    metric: str
    digits: int
    """With which the metric is written."""
    models: list[Measured]

    @property
    def orders(self) -> int:
        """In how many orders the repeats put the models, the best first."""
        return len({tuple(np.argsort([-each.alone[r] for each in self.models], kind="stable")) for r in range(REPEATS)})


class Repeats(Record):
    """``reports/repeats.json``."""

    KIND: ClassVar[str] = "repeats"

    blocks: dict[str, list[Block]]
    """Preset → its blocks."""


class Flow(NamedTuple):
    """What is collected and scored of one benchmark."""

    name: str
    stage: str
    collects: type[CollectChains]
    metric: str
    """Its key, with the number of iterations in the place of T."""


FLOWS = (
    Flow("genception", "chain", CollectChains, "gc_at_{T}"),
    Flow("fidelity", "redraw", CollectRedraws, "ssim"),
)


class Bench:
    """One preset, in a folder that may be thrown away afterwards."""

    def __init__(self, project: Project, settings: Settings, folder: Path, generators: Sequence[str] = ()) -> None:
        self._project, self._settings, self._folder = project, settings, folder
        self._generators = generators or settings.run.generators
        self._components: dict[tuple[str, str], Any] = {}

    def blocks(self, flow: Flow) -> Iterator[Block]:
        """A block per dataset, generator and, where the metric sees through one, encoder."""
        run, metric = self._settings.run, benchmark(flow.name).metric(self._key(flow))
        assert metric is not None
        for dataset in run.over(flow.name):
            data = self._folder / "data" / dataset
            card = read_json(data / "dataset.json", DatasetCard) if data.is_dir() else self._built(dataset, data)
            for generator in self._generators:
                chains = {model: self._chains(flow, card, data, model, generator) for model in run.models}
                seen = Input.ENCODER in metric.needs
                for encoder in run.encoders if seen else run.encoders[:1]:
                    keys = {"dataset": dataset, "generator": generator, "encoder": encoder}
                    found = []
                    for model in chains:
                        with suppress(CoverageError):  # of one that refuses all there is no score
                            found.append(self._measured(flow, data, chains[model], keys | {"model": model}))
                    on = " · ".join((dataset, generator, encoder) if seen else (dataset, generator))
                    yield Block(title=on, metric=metric.named(self._key(flow)), digits=metric.digits, models=found)

    def _built(self, dataset: str, target: Path) -> DatasetCard:
        return build(dataset, self._settings.dataset(dataset), target)

    def _key(self, flow: Flow) -> str:
        genception = cast(GenCeptionSettings, self._settings.section("genception"))
        return flow.metric.format(T=genception.iterations)

    def _component(self, kind: str, name: str) -> Any:
        if (kind, name) not in self._components:
            self._components[kind, name] = getattr(self._settings, kind)(name)
        return self._components[kind, name]

    def _asked(self, flow: Flow, card: DatasetCard) -> ChainRequest:
        section, seed = self._settings.section(flow.name), self._settings.run.seed
        if flow.stage == "redraw":
            fidelity = cast(FidelitySettings, section)
            way = fidelity.description, self._settings.description(fidelity.description)
            return asked_once(card, way, fidelity.generate_prompt, seed, REPEATS)
        several = cast(GenCeptionSettings, section).model_copy(update={"repeats": REPEATS})
        return chains_of(several, card, seed)

    def _chains(self, flow: Flow, card: DatasetCard, data: Path, model: str, generator: str) -> Path:
        samples: Sequence[Sample] = read_samples(data)
        samples = to_redraw(samples) if flow.stage == "redraw" else samples
        asks: Model = self._component("model", model)
        draws: Generator = self._component("generator", generator)
        keys = {"dataset": card.name, "model": model, "generator": generator}
        protocol = ChainProtocol(card, asks, draws, self._asked(flow, card))
        collecting = flow.collects(flow.name, flow.stage, keys, protocol, samples)
        target = self._folder / flow.stage / card.name / model / generator
        with self._project.store() as store:
            write_collected(target, collecting, ask(collecting, store))
        return target

    def _measured(self, flow: Flow, data: Path, chains: Path, keys: Mapping[str, str]) -> Measured:
        spec = benchmark(flow.name)
        scoring = spec.scoring_of(self._settings)
        looks: Encoder = self._component("encoder", keys["encoder"])
        given = ToScore(
            keys={key: keys[key] for key in spec.scores.keys},
            folders={"dataset": data, flow.stage: chains},
            scoring=scoring,
            min_coverage=0.0,
            encoders={"encoder": looks},
            features=self._project.features(),
        )
        score, rows = runner(flow.name).score(given)
        key = self._key(flow)
        return measured(score, rows, key, lambda values, groups: interval(key, values, groups, scoring))


def measured(score: Score, rows: Sequence[Row], key: str, ends: Any) -> Measured:
    """What one score of several repeats tells of them.

    Args:
        ends: gives the interval of values within groups.
    """
    metric = benchmark(score.benchmark).metric(key)
    assert metric is not None
    several = [
        (row.group, [value for repeat in row.repeats for value in metric.values_in(_as_row(row, repeat.values), key)])
        for row in rows
    ]
    whole = [(group, values) for group, values in several if None not in values and len(values) == REPEATS]
    groups, values = [group for group, _ in whole], np.array([each for _, each in whole], dtype=np.float64)
    within = float(values.var(axis=1, ddof=1).mean())
    means = values.mean(axis=1)
    free = len(means) - len(set(groups))
    by_group = [means[[one == group for one in groups]] for group in sorted(set(groups))]
    between = sum(float(((each - each.mean()) ** 2).sum()) for each in by_group) / free
    one_by_one = [score.groups[REPEAT][str(repeat)][key] for repeat in range(REPEATS)]
    single = ends(values[:, 0], groups).metrics
    once = {"value": one_by_one[0], "low": single[f"{key}_low"], "high": single[f"{key}_high"]}
    every = {"value": score.metrics[key], "low": score.metrics[f"{key}_low"], "high": score.metrics[f"{key}_high"]}
    return Measured(
        model=score.model,
        once=Estimate.model_validate({name: round(value, _DIGITS) for name, value in once.items()}),
        all=Estimate.model_validate({name: round(value, _DIGITS) for name, value in every.items()}),
        std=round(score.metrics[f"{key}_std"], _DIGITS),
        alone=[round(value, _DIGITS) for value in one_by_one],
        samples=round(between - within / REPEATS, _DIGITS),
        repeats=round(within, _DIGITS),
    )


def _as_row(row: Row, values: Mapping[str, list[float | None]]) -> Row:
    return row.model_copy(update={"values": dict(values), "repeats": []})


def page(found: Repeats) -> str:
    """The Markdown page."""
    lines = [
        "# How much of a score is luck in drawing?",
        "",
        f"Every chain and every redrawing {REPEATS} times, from other seeds of the generator; written by "
        "`python -m lab.repeats measure`. *Once*: the first repeat with its interval over samples, as a run with "
        f"`repeats: 1` has it. *{REPEATS} times*: the mean per sample first, then the same interval. *std*: of the "
        "score over repeats. *Share*: of the variance of one value of one sample within its category, the part between "
        "repeats of the sample (a one-way analysis of variance; the rest is between samples).",
        "",
    ]
    for preset, blocks in found.blocks.items():
        lines += [f"## {RUNS[preset]}", ""]
        lines += [line for block in blocks for line in _table(block)]
    return "\n".join(lines).rstrip() + "\n"


def _table(block: Block) -> Iterator[str]:
    same = "the same order of models" if block.orders == 1 else f"{block.orders} orders of models"
    narrower = [
        (each.all.high - each.all.low) / (each.once.high - each.once.low)
        for each in block.models
        if each.once.high > each.once.low
    ]
    told = f"**{block.metric} on {block.title}**: {same} in {REPEATS} repeats"
    if narrower:
        ends = f"{min(narrower):.2f} to {max(narrower):.2f}"
        told += f"; their intervals are {np.median(narrower):.2f} ({ends}) times as wide as those of one"
    yield from (told, "", f"| model | once | {REPEATS} times | std | alone | share |", "|---|---:|---:|---:|---:|---:|")
    for each in sorted(block.models, key=lambda each: -each.all.value):
        once, every = (estimate.told(block.digits) for estimate in (each.once, each.all))
        std, alone = f"{each.std:.{block.digits + 1}f}", ", ".join(f"{value:.{block.digits}f}" for value in each.alone)
        share = NOTHING if each.share is None else f"{100 * each.share:.1f} %"
        yield f"| {for_markdown(each.model)} | {once} | {every} | {std} | {alone} | {share} |"
    yield ""


def among(blocks: Sequence[Block], new: Sequence[Block]) -> list[Block]:
    """``blocks`` with new ones, in the places of older ones of the same metric on the same, and sorted."""
    of = {(each.metric, each.title): each for each in (*blocks, *new)}
    return [of[key] for key in sorted(of)]


@app.command()
def measure(
    only: Annotated[list[str] | None, typer.Option(help="A preset, default or neural; may be repeated.")] = None,
    of: Annotated[list[str] | None, typer.Option(help="Of this benchmark alone, genception or fidelity.")] = None,
    generator: Annotated[list[str] | None, typer.Option(help="Under this generator of the preset alone.")] = None,
) -> None:
    """Measure, and write the numbers and the page after each block; what is not measured now stays as it was."""
    project = here()
    target = project.root / JSON
    blocks = dict(read_json(target, Repeats).blocks) if target.is_file() else {}
    for preset in only or RUNS:
        new: list[Block] = []
        with TemporaryDirectory() as folder:
            bench = Bench(project, preset_settings(project.root, preset), Path(folder), generator or ())
            for block in (block for flow in FLOWS if not of or flow.name in of for block in bench.blocks(flow)):
                new.append(block)
                blocks[preset] = among(blocks.get(preset, ()), new)
                _write(project.root, blocks)
        if not of and not generator:  # all of it: what is not selected any more goes
            blocks[preset] = among((), new)
            _write(project.root, blocks)


@app.command(name="page")
def page_again() -> None:
    """Write the page from the numbers that are there."""
    root = here().root
    _write(root, read_json(root / JSON, Repeats).blocks)


def _write(root: Path, blocks: Mapping[str, list[Block]]) -> None:
    found = Repeats(blocks={preset: blocks[preset] for preset in RUNS if preset in blocks})
    write_json(root / JSON, found)
    write_text(root / PAGE, page(found))


if __name__ == "__main__":
    run(app)

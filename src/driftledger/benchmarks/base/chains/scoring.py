"""Chains as scores see them: samples by iterations."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from driftledger.benchmarks.base.benchmark import Scoring
from driftledger.benchmarks.base.chains.records import ChainRequest, ChainStep
from driftledger.benchmarks.base.chains.spec import ChainBenchmark
from driftledger.benchmarks.base.scoring import clusters_of, copies
from driftledger.core.canonical import Json
from driftledger.core.types import (
    Float32,
    Float64,
    Medium,
    Outcome,
    PromptUsage,
    Sample,
)
from driftledger.data.records import ONE_CATEGORY
from driftledger.metrics.repeats import mean_over_repeats
from driftledger.scoring.number import Number, Value
from driftledger.scoring.score import AnyFlag, Flag, RepeatRow, Row, Score, Values

Encode = Callable[[Sequence[Any]], Float32]
"""Media or texts → features, n×d."""


class Chain(NamedTuple):
    """The chain of a sample in one repeat."""

    sample: Sample
    category: str
    cluster: str
    repeat: int
    end: int
    """The t at which it ends if no call is lost."""
    steps: dict[int, ChainStep]
    """t → what is needed of the record."""

    @property
    def last(self) -> ChainStep:
        """The last step."""
        return self.steps[max(self.steps)]

    @property
    def has_ended(self) -> bool:
        """True if it reached its end."""
        return self.end in self.steps and self.steps[self.end].has_output

    def value(self, metric: str, t: int | None, value: float) -> Value:
        """Return what the chain is worth in a metric."""
        return Value(
            metric,
            t,
            category=self.category,
            sample=self.sample.id,
            cluster=self.cluster,
            repeat=self.repeat,
            value=value,
        )

    def texts(self, last: int) -> list[str]:
        """Return the texts of t = 1 … last; "" where none can be compared."""
        texts = []
        for t in range(1, last + 1):
            step = self.steps.get(t)
            texts.append(step.text or "" if step and step.has_text else "")
        return texts


@dataclass
class ChainTable:
    """All chains of a folder, ordered by sample and then by repeat."""

    scoring: Scoring
    samples: list[Sample]
    rows: list[Chain]
    repeats: int
    iterations: int
    """T of the longest chain."""

    @classmethod
    def read(
        cls,
        scoring: Scoring,
        spec: ChainBenchmark,
        by_group: Mapping[str, int] | None = None,
    ) -> "ChainTable":
        """Read the chains of a folder.

        Args:
            by_group: group of categories → the T of its chains, if that is not the T of all.

        Raises:
            StoreError: a chain has no record.
        """
        request = ChainRequest.model_validate(scoring.card.protocol)
        request = request.model_copy(update={"iterations_by_group": by_group})
        samples = [*spec.samples(scoring.samples)]
        clusters = clusters_of(samples)
        steps = _steps(scoring)
        rows = []
        for sample, repeat in product(samples, range(request.repeats)):
            scoring.require([(sample.id, 1, repeat)])
            category = sample.category or ONE_CATEGORY
            chain = Chain(
                sample,
                category,
                cluster=clusters[sample.id],
                repeat=repeat,
                end=request.last(category, scoring.dataset),
                steps=steps[sample.id, repeat],
            )
            rows.append(chain)
        return cls(scoring, samples, rows, request.repeats, request.iterations)

    @cached_property
    def ends(self) -> dict[str, int]:
        """Category → the T of its chains."""
        return {chain.category: chain.end for chain in self.rows}

    @property
    def categories(self) -> dict[str, dict[str, list[str]]]:
        """The categories as groups of kind ``category``."""
        return {"category": {name: [name] for name in sorted(self.ends)}}

    @cached_property
    def lost(self) -> list[Chain]:
        """The chains that did not reach their end."""
        return [chain for chain in self.rows if not chain.has_ended]

    @property
    def scored(self) -> int:
        """The number of chains that reached their end."""
        return len(self.rows) - len(self.lost)

    @cached_property
    def worst(self) -> Counter[Outcome]:
        """Outcome → how many of the lost chains count as the worst value from some t on."""
        ended = [chain.last for chain in self.lost]
        return Counter(step.outcome for step in ended if step.is_worst)

    @property
    def counted(self) -> int:
        """The number of chains that reached their end or count as the worst value."""
        return self.scored + self.worst.total()

    def flags(self, done: str, things: str) -> list[AnyFlag]:
        """Return flags about lost chains, equal samples and cut prompts.

        Args:
            done: what complete chains did: ``reached t=5``.
            things: the word for chains: ``chains``, ``images``.

        Raises:
            CoverageError: no chain counts.
        """
        scoring = self.scoring
        total = len(self.rows)
        problems = [chain.last.problem for chain in self.lost]
        flags: list[AnyFlag] = [*copies(self.samples)]
        flags += scoring.coverage_flags(
            self.scored, total, f"{things} {done}", problems, self.counted
        )
        if self.worst:
            how = ", ".join(f"{n} {outcome}" for outcome, n in self.worst.items())
            flags.append(
                f"for {self.worst.total()} of {total} {things} the model gave no description "
                f"({how}): similarities count as 0 from there on"
            )
        return [*flags, *_cut(scoring.facts.readings), *scoring.facts.noted()]

    def score(
        self,
        numbers: Sequence[Number],
        *,
        of: Sequence[Chain],
        flags: Sequence[AnyFlag],
        details: Json,
    ) -> Score:
        """Return a score with these numbers and the outcomes of the chains ``of``."""
        return self.scoring.score(
            numbers,
            scored=self.scored,
            counted=self.counted,
            total=len(self.rows),
            outcomes=[chain.last.outcome for chain in of],
            flags=flags,
            details=details,
        )

    def of_repeat(self, repeat: int) -> range:
        """Return the rows of a repeat."""
        return range(repeat, len(self.rows), self.repeats)

    def table(self) -> Float64:
        """Return a table of chains × T: 0 where the model gave no description, else NaN."""
        table = np.full((len(self.rows), self.iterations), np.nan)
        for row, chain in enumerate(self.rows):
            for t, step in chain.steps.items():
                if step.is_worst:
                    table[row, t - 1 : chain.end] = 0.0
        return table

    def image(self, step: ChainStep) -> Medium:
        """Return the image of a step."""
        return Medium(self.scoring.folder / str(step.file), step.sha256)

    def reached(self, repeat: int, t: int) -> dict[int, Any]:
        """Map the rows of a repeat that reached t to the image or text there."""
        is_text = self.scoring.kind == "text"
        reached: dict[int, Any] = {}
        for row in self.of_repeat(repeat):
            step = self.rows[row].steps.get(t)
            if step is not None and step.has_output:
                reached[row] = step.text if is_text else self.image(step)
        return reached


def select_rows(features: Float32, rows: Sequence[int]) -> Float32:
    """Return some rows of a table; the table itself if they are all."""
    return features if len(rows) == len(features) else features[rows]


def _steps(scoring: Scoring) -> Mapping[tuple[str, int], dict[int, ChainStep]]:
    """Map sample and repeat to their steps by t."""
    steps = defaultdict[tuple[str, int], dict[int, ChainStep]](dict)
    is_text = scoring.kind == "text"
    for record in scoring.read():
        step = ChainStep.of(record, is_text, scoring.section.unread == "worst")
        steps[record.unit, record.repeat][record.step] = step
    return steps


def values_at(
    metric: str, t: int | None, chains: ChainTable, column: Float64
) -> Iterator[Value]:
    """Yield the values of chains at one t; a chain with NaN has none."""
    for chain, value in zip(chains.rows, column.tolist(), strict=True):
        if not math.isnan(value):
            yield chain.value(metric, t, value)


def values_over_t(metric: str, chains: ChainTable, table: Float64) -> Iterator[Value]:
    """Yield the values of chains × T."""
    for t, column in enumerate(table.T, 1):
        yield from values_at(metric, t, chains, column)


def words(chains: ChainTable) -> Iterator[Value]:
    """Yield the number of words of each description, each as its own sample."""
    for chain in chains.rows:
        for t, step in chain.steps.items():
            if step.text:
                value = chain.value("words", None, len(step.text.split()))
                sample = f"{chain.sample.id}, t={t}, repeat {chain.repeat}"
                yield value._replace(category="", sample=sample)


def rows_of(
    chains: ChainTable, columns: Mapping[str, Float64], *, by_category: bool
) -> list[Row]:
    """Return a row per sample, with the values of each repeat if there are several.

    Args:
        columns: key of rows → chains × T.
        by_category: whether means are over categories; if not, rows leave out keys without a
            value.
    """
    alone = []
    for repeat in range(chains.repeats):
        own = slice(repeat, None, chains.repeats)
        alone.append({key: column[own] for key, column in columns.items()})
    means = {}
    for key in columns:
        means[key] = mean_over_repeats([tables[key] for tables in alone])
    rows = []
    for index, sample in enumerate(chains.samples):
        first = index * chains.repeats
        own_chains = chains.rows[first : first + chains.repeats]
        ended = [chain.last.outcome for chain in own_chains]
        unusual = [outcome for outcome in ended if outcome is not Outcome.OK]
        category = own_chains[0].category
        row = Row(
            unit=sample.id,
            group=category if by_category else ONE_CATEGORY,
            cluster=own_chains[0].cluster,
            outcome=unusual[0] if unusual else Outcome.OK,
            values=_row_values(means, index, by_category),
            extra={} if by_category else {"category": category},
        )
        if chains.repeats > 1:
            for outcome, tables in zip(ended, alone, strict=True):
                values = _row_values(tables, index, by_category)
                row.repeats.append(RepeatRow(outcome=outcome, values=values))
        rows.append(row)
    return rows


def _row_values(tables: Mapping[str, Float64], index: int, keeps_empty: bool) -> Values:
    values: Values = {}
    for key, table in tables.items():
        own = table[index].tolist()
        known = [None if math.isnan(value) else value for value in own]
        if keeps_empty or any(value is not None for value in known):
            values[key] = known
    return values


def _cut(readings: Sequence[PromptUsage]) -> Iterator[Flag]:
    cut = [reading for reading in readings if reading.cut]
    if cut:
        unread = sum(reading.tokens - reading.read for reading in cut)
        tokens = sum(reading.tokens for reading in readings)
        text = (
            f"the generator's text encoder cut off {len(cut)} of {len(readings)} descriptions: "
            f"{unread} of {tokens} tokens were not read"
        )
        yield Flag(text=text, role="generator")


def cut_texts(
    readings: Sequence[PromptUsage], reader: str, role: str, metrics: Sequence[str] = ()
) -> Iterator[Flag]:
    """Yield a flag if ``reader`` read only the beginning of some descriptions."""
    cut = sum(reading.cut for reading in readings)
    if cut:
        text = (
            f"{reader} read only the beginning of {cut} of {len(readings)} descriptions"
        )
        yield Flag(text=text, role=role, metrics=(*metrics,))

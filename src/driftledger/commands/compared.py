"""``compare``: two files of results, and how any comparison is printed."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.console import Group, RenderableType

from driftledger.commands.terminal import HEAD, line, lines, table
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import ConfigError, first_few
from driftledger.core.text import figure, for_cell, shortened
from driftledger.data.tables import table_rows
from driftledger.ledger import result_files
from driftledger.ledger.comparison import (
    Changes,
    Comparison,
    MetricComparison,
    ScorePair,
)
from driftledger.ledger.gate import Gate, Judgement, Verdict, conclusion
from driftledger.ledger.result_files import Columns, columns_of
from driftledger.metrics.paired import POWER
from driftledger.scoring.metric import Metric
from driftledger.scoring.table import Table, markdown

_UNFAIR = "not comparable: not all of this may be ranked; see 'unfair', or use --anyway"
_ANYWAY = "ranked although not all of it is fair; see 'unfair'"
_SHOWS = f"shows at {POWER:.0%}"


class Compared(NamedTuple):
    """A comparison of two runs or files, and the judgements of a gate on it."""

    comparison: Comparison
    basis: str = ""
    """Where the scores or values are from, in one line."""
    judgements: Sequence[Judgement] = ()
    conclusion: Judgement | None = None
    """The verdict over all judgements; None without a gate."""

    @property
    def verdict(self) -> Verdict:
        """The exit code of the command; a comparison without a gate passes."""
        return self.conclusion.verdict if self.conclusion else Verdict.PASSES

    def as_json(self) -> str:
        """Write everything as JSON; without a gate, ``gate`` is empty, ``verdict`` null."""
        data = self.comparison.to_dict()
        data["basis"] = self.basis
        data["gate"] = [judgement.to_dict() for judgement in self.judgements]
        data["verdict"] = self.conclusion.to_dict() if self.conclusion else None
        return json.dumps(data, indent=2)

    def as_text(self, most: int = 0) -> RenderableType:
        """Show a sentence and a table per pair of scores, then the verdict of the gate.

        Remarks, and what is not ranked, are below each table.

        Args:
            most: how many of the changed samples of each score are shown, with both texts.
        """
        head, foot = _around(self.comparison)
        blocks: list[RenderableType] = []
        for pair in self.comparison.pairs:
            pair_table = _table(pair, self.comparison, most)
            blocks.append(line(pair_table.title, HEAD))
            if pair_table.rows:
                columns = pair_table.head
                numbers = [name for name in columns if not name.startswith("better")]
                ranked = table(*columns, numbers=numbers[1:])
                for row in pair_table.rows:
                    ranked.add_row(*(line(str(cell)) for cell in row))
                blocks.append(ranked)
            blocks += [lines(f"  {note}" for note in pair_table.notes), ""]
        foot += map(str, [*self.judgements, *filter(None, [self.conclusion])])
        return Group(line(self.basis), lines(head), "", *blocks, lines(foot))

    def as_markdown(self, most: int = 0) -> str:
        """Write a comment for a pull request, with the verdict of the gate last."""
        head, foot = _around(self.comparison)
        text = []
        for sentence in [self.basis, *map(str, self.judgements), *head]:
            text.append(f"- {for_cell(sentence)}")
        for pair in self.comparison.pairs:
            text += ["", *markdown(_table(pair, self.comparison, most))]
        if self.conclusion:
            foot.append(str(self.conclusion))
        text += [f"- {for_cell(sentence)}" for sentence in foot]
        return "\n".join(text)


def compare_files(
    a: tuple[Path, str],
    b: tuple[Path, str],
    columns: Columns,
    *,
    anyway: bool = False,
    gate: Gate,
) -> Compared:
    """Compare two files; errors as in :func:`driftledger.ledger.result_files.compare_files`.

    Args:
        a: the path of A, and the name that the user gave.
        b: the same of B.

    Raises:
        ConfigError: one of them is not a file, or an option is missing.
    """
    for path, name in (a, b):
        if not path.is_file():
            raise ConfigError(
                f"{name} is not a file; name two files of results, or leave out the options for "
                "them to compare two runs"
            )
    if not columns.ids or not columns.values:
        _, cells = next(table_rows(*a), ("", {}))
        raise ConfigError(
            "files need --id, the column that names a row, and --value, a column to compare; "
            f"{a[1]} has {first_few(columns_of(cells), 30) or 'no row'}"
        )
    comparison = result_files.compare_files(a, b, columns, anyway=anyway)
    judgements = gate.judge(comparison)
    basis = "as the files have them"
    if gate.fail_if is None:
        return Compared(comparison, f"values: {basis}")
    is_one = sha256_file(a[0]) == sha256_file(b[0])
    return concluded(comparison, gate, judgements, basis, is_one=is_one)


def concluded(
    comparison: Comparison,
    gate: Gate,
    judgements: Sequence[Judgement],
    basis: str,
    *,
    is_one: bool,
) -> Compared:
    """Add the verdict over all judgements of a gate.

    Args:
        basis: where the scores or values are from.
        is_one: A and B are the same, so that there is nothing to judge.
    """
    words = comparison.words
    of = words.changing if gate.fail_if == "changed" else words.headlines
    verdict = conclusion(judgements, of)
    if is_one:
        judgements = []
        verdict = Judgement(Verdict.PASSES, f"A and B are one {words.side}")
    verdict = verdict._replace(says=f"{verdict.says} ({basis})")
    return Compared(comparison, f"{words.numbers}: {basis}", judgements, verdict)


def changes_in_words(changes: Changes) -> str:
    """Describe changes in one line.

    That is ``240 answers: 73 changed (30 %, 25 to 36): 41 right → wrong, …; noise floor 7 of 240``.
    """
    if not changes.samples:
        return changes.note
    share = f"{100 * (changes.share or 0.0):.0f} %"
    if changes.low is not None and changes.high is not None:
        share += f", {100 * changes.low:.0f} to {100 * changes.high:.0f}"
    words = f"{changes.samples:,} {changes.of}: {changes.changed:,} changed ({share})"
    if changes.changed and changes.of != "descriptions":
        became = [f"{count:,} {how}" for how, count in changes.transitions.items()]
        words += f": {', '.join(became)}"
    if changes.p_value is not None and changes.changed:
        words += f"; McNemar p = {changes.p_value:.2g}"
    if changes.similarity is not None:
        words += f"; similarity {changes.similarity:.2f} where they changed"
    if changes.floor is not None:
        floor = changes.floor
        words += f"; noise floor {floor.changed:,} of {floor.samples:,}"
    if changes.note:
        words += f"; {changes.note}"
    return words


def _furthest(changes: Changes, most: int) -> Iterator[str]:
    """Yield the changes that are furthest apart, each in a line with both texts."""
    for sample in changes.furthest[:most]:
        alike = ""
        if sample.similarity is not None:
            alike = f", similarity {sample.similarity:.2f}"
        a = sample.a
        b = sample.b
        where = sample.unit
        if sample.a_text or sample.b_text:
            a = f"{a} {shortened(sample.a_text)!r}"
            b = f"{b} {shortened(sample.b_text)!r}"
            where = f"{where} ({sample.step})"
        yield f"{where}{alike}: {a} → {b}"


def _around(comparison: Comparison) -> tuple[list[str], list[str]]:
    """Return the lines above the tables of a comparison, and those below."""
    about = "; ".join(comparison.about) or "the same components in both"
    head = [f"A: {comparison.a}", f"B: {comparison.b}", f"compared: {about}"]
    head += [f"to know: {note}" for note in comparison.notes]
    foot = [
        f"{_SHOWS}: the smallest difference that so many samples, as noisy as these, show so often"
    ]
    for side, scores in (("A", comparison.only_a), ("B", comparison.only_b)):
        if scores:
            foot.append(f"only {side} has: {'; '.join(scores)}")
    if comparison.comparable:
        foot.append(f"comparable: {comparison.words.fair}")
    else:
        foot.append(_ANYWAY if comparison.anyway else _UNFAIR)
    return head, foot


def _table(pair: ScorePair, comparison: Comparison, most: int) -> Table:
    """Return the table of a pair of scores: ranked metrics, remarks and changes.

    Its title is ``regions is better than blind by 0.61 [0.58, 0.63] in GC@5``.
    """
    a, b = sides = comparison.sides
    sentence = ""
    rows = []
    notes = []
    for difference in pair.differing:
        if difference.weight == "noted":
            values = f"{difference.a} and {difference.b}"
            notes.append(f"differs: {difference.what}, {values}")
    notes += [f"unfair: {reason}" for reason in pair.reasons]
    notes += [f"changed: {change}" for change in pair.changed]
    for compared in pair.metrics:
        metric = compared.metric
        title = metric.titled(compared.number.t)
        value_a = _figure(compared.a, metric)
        value_b = _figure(compared.b, metric)
        better, by = _better(metric, compared)
        if compared.ranked:
            who = "neither"
            result = f": no difference in {title} that these samples show"
            if better is not None:
                who = sides[better]
                result = (
                    f": {who} is better than {sides[1 - better]} by {by} in {title}"
                )
            sentence = sentence or result
            shows = _figure(compared.detectable, metric)
            n = str(compared.common)
            if compared.low == compared.high == 0:
                who, by = "equal", ""
            rows.append([title, value_a, value_b, f"{who} {by}".strip(), shows, n])
        else:
            verdict = "not ranked"
            if compared.unranked not in pair.reasons:
                verdict += f": {compared.unranked}"
            notes.append(f"{title}, {value_a} and {value_b}: {verdict}")
        if compared.only_a or compared.only_b:
            over = ""
            if compared.a_common is not None:
                common_a = _figure(compared.a_common, metric)
                common_b = _figure(compared.b_common, metric)
                over = f"; over the common ones {common_a} and {common_b}"
            notes.append(
                f"{title}: {compared.only_a} with a value for {a} alone, {compared.only_b} for {b} "
                f"alone{over}"
            )
        p_holm = compared.p_holm or 0.0
        has_winner = compared.ranked and better is not None
        if has_winner and p_holm > 1 - comparison.confidence:
            notes.append(
                f"{title}: not shown after Holm's correction over all metrics (p = {p_holm:.2g})"
            )
    for changes in pair.changes:
        if changes.note not in pair.reasons:
            notes.append(changes_in_words(changes))
        notes += [f"  {changed}" for changed in _furthest(changes, most)]
    at = f"; {b} at {pair.multiples}" if pair.multiples else ""
    better_by = f"better by [{comparison.confidence:.0%} interval]"
    return Table(
        f"{pair.name}{sentence}{at}",
        ["", a, b, better_by, _SHOWS, "N"],
        rows=rows,
        notes=notes,
    )


def _figure(value: float | None, metric: Metric) -> str:
    return "–" if value is None else figure(value, metric.digits)


def _better(metric: Metric, compared: MetricComparison) -> tuple[int | None, str]:
    """Return the better side, or None, and the difference with its interval.

    The difference is positive if a side is better; if neither is, it is A's lead.
    """
    difference = compared.difference or 0.0
    low = compared.low or 0.0
    high = compared.high or 0.0
    better = None
    if low > 0 or high < 0:
        better = int((low > 0) != (metric.direction == "lower"))
    if low <= 0:  # the first has more
        difference, low, high = -difference, -high, -low
    return better, figure(difference, metric.digits, (low, high))

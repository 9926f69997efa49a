"""What came of checking a bundle: all of it for programs, what matters for people."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

Status = Literal["reproduced", "differs", "not checkable"]

_SHOWN = 50
"""Differences that a person reads; JSON has all."""
_LONGEST = 400
"""Characters of what a stranger wrote."""
_WORDS: Mapping[Status, str] = {"reproduced": "reproduced", "differs": "differ", "not checkable": "not checkable here"}


class Line(NamedTuple):
    """One thing that was looked at, and what came of it."""

    where: str
    """A member of the bundle, and the place in it: ``reports/scores/…/score.json: metrics.gc_at_5``."""
    status: Status
    what: str = ""
    """By how much it differs, or why it is not checkable here; empty where it is reproduced."""


class Report(NamedTuple):
    """Lines by what they are about."""

    name: str
    groups: Mapping[str, Sequence[Line]]

    @property
    def counts(self) -> Counter[Status]:
        """Status → how many lines."""
        return Counter(line.status for lines in self.groups.values() for line in lines)

    @property
    def holds(self) -> bool:
        """Whether nothing differs."""
        return not self.counts["differs"]

    def to_dict(self) -> dict[str, Any]:
        lines = {group: [line._asdict() for line in lines] for group, lines in self.groups.items()}
        return {"bundle": self.name, "holds": self.holds, "counts": dict(self.counts), "lines": lines}

    def as_text(self) -> str:
        """A line per group, each difference, each reason why something cannot be checked, and a sentence on all."""
        width = max(len(group) for group in self.groups)
        text = [f"{plain(group):<{width}}  {_counted(lines)}" for group, lines in self.groups.items()]
        every = [line for lines in self.groups.values() for line in lines]
        differing = [line for line in every if line.status == "differs"]
        text += [f"differs: {plain(line.where)}: {plain(line.what)}" for line in differing[:_SHOWN]]
        text += [f"differs: {len(differing) - _SHOWN:,} more; --json has them all"] * (len(differing) > _SHOWN)
        for why, count in Counter(line.what for line in every if line.status == "not checkable").items():
            first = next(line.where for line in every if line.what == why)
            more = f" and {count - 1:,} more" if count > 1 else ""
            text.append(f"not checkable here: {plain(first)}{more}, because {plain(why)}")
        counts = self.counts
        rest = f", {counts['not checkable']:,} cannot be checked here" if counts["not checkable"] else ""
        verdict = f"{counts['differs']:,} differ" if counts["differs"] else "nothing differs"
        return "\n".join([*text, f"{plain(self.name)}: {counts['reproduced']:,} reproduced, {verdict}{rest}"])


def plain(text: str) -> str:
    """A stranger's text on one line in which a terminal finds nothing to obey."""
    cut = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in cut)


def _counted(lines: Sequence[Line]) -> str:
    counts = Counter(line.status for line in lines)
    return ", ".join(f"{counts[status]:,} {word}" for status, word in _WORDS.items() if counts[status]) or "nothing"

"""What came of checking a bundle: all of it for programs, what matters for people."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from driftledger_check.lines import Line, Status

_SHOWN = 50
"""Differences that a person reads; JSON has all."""
_LONGEST = 400
"""Characters of what a stranger wrote."""


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
        told = [f"{plain(group):<{width}}  {_counted(lines)}" for group, lines in self.groups.items()]
        every = [line for lines in self.groups.values() for line in lines]
        differing = [line for line in every if line.status == "differs"]
        told += [f"differs: {plain(line.where)}: {plain(line.what)}" for line in differing[:_SHOWN]]
        told += [f"differs: {len(differing) - _SHOWN:,} more; --json has them all"] * (len(differing) > _SHOWN)
        for why, count in Counter(line.what for line in every if line.status == "not checkable").items():
            first = next(line.where for line in every if line.what == why)
            more = f" and {count - 1:,} more" if count > 1 else ""
            told.append(f"not checkable here: {plain(first)}{more}, because {plain(why)}")
        counts = self.counts
        rest = f", {counts['not checkable']:,} cannot be checked here" if counts["not checkable"] else ""
        said = f"{counts['differs']:,} differ" if counts["differs"] else "nothing differs"
        return "\n".join([*told, f"{plain(self.name)}: {counts['reproduced']:,} reproduced, {said}{rest}"])


def plain(text: str) -> str:
    """A stranger's text on one line in which a terminal finds nothing to obey."""
    cut = text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in cut)


def _counted(lines: Sequence[Line]) -> str:
    counts = Counter(line.status for line in lines)
    words: Mapping[Status, str] = {
        "reproduced": "reproduced",
        "differs": "differ",
        "not checkable": "not checkable here",
    }
    return ", ".join(f"{counts[status]:,} {word}" for status, word in words.items() if counts[status]) or "nothing"

"""The result of ``check``, for programs and for people."""

import itertools
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from driftledger.core.canonical import Json
from driftledger.core.text import shortened
from driftledger.ledger.findings import FROM_FEATURES, Line, Status

NUMBERS = "numbers of "  # begins the name of a group of lines about a score
_WORDS: Mapping[Status, str] = {
    "reproduced": "reproduced",
    FROM_FEATURES: FROM_FEATURES,
    "not checkable": "not checked",
    "differs": "differ",
}
"""The statuses, from the best to the worst, and their words for people."""
_RANKS: Sequence[Status] = list(_WORDS)
_NO_HEADLINES = ("text_similarity", "text_similarity_mean")
"""Metrics that no benchmark ranks by: from the bundle's own features, they decide nothing."""
_OF_A_SCORE = re.compile(r"/score\.json: (?!components\.)|/rows\.jsonl: ")
_MOST_LINES = 50
_MOST_LETTERS = 400
"""The most letters of a stranger's text."""


def plain(text: str) -> str:
    """Cut a stranger's text, and escape everything that a terminal could obey."""
    return shortened(text, _MOST_LETTERS)


class Report(NamedTuple):
    """Lines by their subject."""

    name: str
    groups: Mapping[str, Sequence[Line]]
    trusts_features: bool = False
    """True if the reader accepts headlines from the bundle's own features."""

    @property
    def counts(self) -> Counter[Status]:
        """Count the values of each status."""
        counts = Counter[Status]()
        for line in itertools.chain.from_iterable(self.groups.values()):
            counts[line.status] += line.values
        return counts

    @property
    def headlines(self) -> dict[str, dict[str, Status]]:
        """Map score and metric to the worst status of its numbers.

        These are the numbers of all samples, at each iteration, with all their columns.
        """
        scores = {}
        for group, lines in self.groups.items():
            if not group.startswith(NUMBERS):
                continue
            metrics: dict[str, Status] = {}
            for line in lines:
                if line.metric:
                    statuses = (line.status, metrics.get(line.metric, line.status))
                    metrics[line.metric] = max(statuses, key=_RANKS.index)
            scores[group.removeprefix(NUMBERS)] = metrics
        return scores

    @property
    def code(self) -> int:
        """Return the exit code.

        1: something differs. 0: every headline is reproduced or trusted, and the rest of scores and
        rows is checked. 3: otherwise.
        """
        if self.counts["differs"]:
            return 1
        for line in itertools.chain.from_iterable(self.groups.values()):
            if line.status == "not checkable" and _OF_A_SCORE.search(line.where):
                return 3
        accepted = {"reproduced"}
        if self.trusts_features:
            accepted.add(FROM_FEATURES)
        for metrics in self.headlines.values():
            statuses = set()
            for name, status in metrics.items():
                if status != FROM_FEATURES or name not in _NO_HEADLINES:
                    statuses.add(status)
            if not statuses or statuses - accepted:
                return 3
        return 0

    def to_dict(self) -> Json:
        """Return everything, for JSON."""
        lines = {}
        for group, group_lines in self.groups.items():
            lines[group] = [line._asdict() for line in group_lines]
        return {
            "bundle": self.name,
            "holds": self.code != 1,
            "exit_code": self.code,
            "trusts_features": self.trusts_features,
            "headlines": self.headlines,
            "counts": dict(self.counts),
            "lines": lines,
        }

    def as_text(self) -> str:
        """Write headlines, worst first, then differences, unchecked values, a verdict."""
        text = []
        for status in reversed(_RANKS):
            word = _WORDS[status]
            if status == FROM_FEATURES and self.trusts_features:
                word += ", which --trust-features accepts"
            for score, metrics in self.headlines.items():
                names = [name for name in metrics if metrics[name] == status]
                if names:
                    text.append(f"{word}: {plain(score)}: {plain(', '.join(names))}")
        differing = []
        unchecked: dict[str, list[Line]] = {}
        for line in itertools.chain.from_iterable(self.groups.values()):
            if line.status == "differs":
                differing.append(line)
            elif line.status != "reproduced":
                unchecked.setdefault(line.what, []).append(line)
        for line in differing[:_MOST_LINES]:
            text.append(f"differs: {plain(line.where)}: {plain(line.what)}")
        if len(differing) > _MOST_LINES:
            more = sum(line.values for line in differing[_MOST_LINES:])
            text.append(f"differs: {more:,} more; --json has them all")
        for why, [first, *others] in unchecked.items():
            where = plain(first.where)
            more = first.values - 1 + sum(line.values for line in others)
            if more:
                where += f" and {more:,} more"
            text.append(f"{_WORDS[first.status]}: {where}, because {plain(why)}")
        counts = [f"{self.counts[status]:,} {word}" for status, word in _WORDS.items()]
        return "\n".join([*text, f"{plain(self.name)}: {', '.join(counts)}"])

"""What came of checking a bundle: all of it for programs, what matters for people."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

Status = Literal["reproduced", "from the bundle's own features", "not checkable", "differs"]
FROM_FEATURES: Status = "from the bundle's own features"
"""A number that follows from features that the checker cannot compute: who forges them has any number."""

NUMBERS = "numbers of "  # begins the name of a group of lines about a score
_WORDS: Mapping[Status, str] = {
    "reproduced": "reproduced",
    FROM_FEATURES: FROM_FEATURES,
    "not checkable": "not checked",
    "differs": "differ",
}
"""From the best to the worst."""
_NO_HEADLINES = (("text_similarity", FROM_FEATURES), ("text_similarity_mean", FROM_FEATURES))
"""No benchmark ranks by these metrics: the exit code is 0 where they alone are from the bundle's own features."""


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
    trusts_features: bool = False
    """Whether the reader accepts headlines that are from the bundle's own features."""

    @property
    def counts(self) -> Counter[Status]:
        """Status → how many lines."""
        return Counter(line.status for lines in self.groups.values() for line in lines)

    @property
    def headlines(self) -> dict[str, dict[str, Status]]:
        """Score → metric → the worst that came of its values, those per iteration and ends of intervals included."""
        scores: dict[str, dict[str, Status]] = {}
        for group, lines in self.groups.items():
            if group.startswith(NUMBERS):
                metrics = scores[group.removeprefix(NUMBERS)] = {}
                for line in lines:
                    if key := line.where.partition(": metrics.")[2]:
                        name = re.sub(r"(_at_\d+)?(_low|_high|_std)?$", "", key)
                        metrics[name] = max(line.status, metrics.get(name, line.status), key=[*_WORDS].index)
        return scores

    @property
    def code(self) -> int:
        """The exit code: 1 if something differs, 0 if every headline is reproduced or trusted, 3 otherwise."""
        if self.counts["differs"]:
            return 1
        accepted = {"reproduced", FROM_FEATURES} if self.trusts_features else {"reproduced"}
        for metrics in self.headlines.values():
            decide = {each for name, each in metrics.items() if (name, each) not in _NO_HEADLINES}
            if not decide or decide - accepted:
                return 3
        return 0

    def to_dict(self) -> dict[str, Any]:
        return {
            "bundle": self.name,
            "holds": self.code != 1,
            "code": self.code,
            "trusts_features": self.trusts_features,
            "headlines": self.headlines,
            "counts": dict(self.counts),
            "lines": {group: [line._asdict() for line in lines] for group, lines in self.groups.items()},
        }

    def as_text(self) -> str:
        """Headlines, the worst first; differences; what cannot be checked; and a sentence."""
        every, text = [line for lines in self.groups.values() for line in lines], list[str]()
        accepted = {FROM_FEATURES: ", which --trust-features accepts"} if self.trusts_features else {}
        for status, word in [*_WORDS.items()][::-1]:
            for score, metrics in self.headlines.items():
                if names := [name for name, each in metrics.items() if each == status]:
                    text.append(f"{word}{accepted.get(status, '')}: {plain(score)}: {plain(', '.join(names))}")
        differing = [line for line in every if line.status == "differs"]
        text += [f"differs: {plain(line.where)}: {plain(line.what)}" for line in differing[:50]]
        text += [f"differs: {len(differing) - 50:,} more; --json has them all"] * (len(differing) > 50)
        unchecked = [line for line in every if line.status in (FROM_FEATURES, "not checkable")]
        for why, count in Counter(line.what for line in unchecked).items():
            first = next(line for line in unchecked if line.what == why)
            more = f" and {count - 1:,} more" if count > 1 else ""
            text.append(f"{_WORDS[first.status]}: {plain(first.where)}{more}, because {plain(why)}")
        verdict = ", ".join(f"{self.counts[status]:,} {word}" for status, word in _WORDS.items())
        return "\n".join([*text, f"{plain(self.name)}: {verdict}"])


def plain(text: str) -> str:
    """The first 400 letters of a stranger's text, on one line in which a terminal finds nothing to obey."""
    cut = text if len(text) <= 400 else text[:400] + "…"
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in cut)

"""Does ``driftledger watch`` cry wolf, and what does it find? Its test on services of which both is known.

Run as ``python -m lab.watch`` in the top folder; it writes ``reports/perf/watch.json``. A service is a chain of words
with the frequencies of this repository's pages, which says one sentence of 30 words per asking. Asked again it is the
same one, or has been exchanged in a way that providers do: another temperature, rounded weights, another model, or one
for a part of the answers. Of three distances between two answers the watch takes the one that finds most.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import typer

from driftledger.core.files import write_json
from driftledger.core.types import Float64
from driftledger.metrics._checks import Integers
from driftledger.metrics.two_sample import energy_test
from lab.entry import new_app, run

RESULTS = "reports/perf/watch.json"
WORDS, VOCABULARY = 30, 500
PROMPTS, TIMES, PERMUTATIONS = 20, 5, 499
LEVELS = (0.05, 0.01)

app = new_app(__doc__ or "")

Random = np.random.Generator


@dataclass(frozen=True)
class Service:
    """How likely each word follows each, and how often another service answers in its place."""

    following: Float64
    instead: "Service | None" = None
    share: float = 0.0

    @cached_property
    def _cumulative(self) -> Float64:
        return np.cumsum(self.following, axis=1)

    def say(self, starts: Integers, random: Random) -> Integers:
        """Answers × words, one per start."""
        said = self._say(starts, random)
        if self.instead is not None:
            other = random.random(len(starts)) < self.share
            said[other] = self.instead.say(starts[other], random)
        return said

    def _say(self, starts: Integers, random: Random) -> Integers:
        said, last = np.empty((len(starts), WORDS), dtype=np.int64), starts
        for place in range(WORDS):
            drawn = random.random(len(starts))[:, None]
            last = np.minimum((self._cumulative[last] < drawn).sum(axis=1), VOCABULARY - 1)
            said[:, place] = last
        return said

    def at(self, temperature: float) -> "Service":
        return Service(_normal(self.following ** (1 / temperature)))

    def rounded(self, random: Random, by: float) -> "Service":
        """As weights that have lost precision would have it: each probability is off by a factor."""
        return Service(_normal(self.following * np.exp(random.normal(0, by, self.following.shape))))


def _normal(weights: Float64) -> Float64:
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), dtype=np.float64)


def learnt(pages: list[str], vocabulary: Mapping[str, int]) -> Service:
    """How often words follow each other, with a little of how often they stand at all."""
    counts, alone = np.zeros((VOCABULARY, VOCABULARY)), np.full(VOCABULARY, 0.01)
    for page in pages:
        words = [vocabulary[word] for word in re.findall(r"\w+", page.casefold()) if word in vocabulary]
        np.add.at(counts, (words[:-1], words[1:]), 1)
        np.add.at(alone, words, 1)
    return Service(_normal(counts + 0.5 * alone / alone.sum()))


def services(root: Path) -> tuple[Service, Service]:
    """A service that has read one half of the pages, and one that has read the other."""
    pages = [path.read_text(encoding="utf-8") for path in sorted((root / "docs").glob("*.md"))]
    every = re.findall(r"\w+", " ".join(pages).casefold())
    names, counts = np.unique(every, return_counts=True)
    common = names[np.argsort(-counts, kind="stable")][:VOCABULARY]
    vocabulary = {str(name): number for number, name in enumerate(common)}
    return learnt(pages[::2], vocabulary), learnt(pages[1::2], vocabulary)


def _others(said: Integers) -> Float64:
    return np.asarray((said[:, None] != said[None]).any(axis=2), dtype=np.float64)


def _places(said: Integers) -> Float64:
    return np.asarray((said[:, None] != said[None]).mean(axis=2), dtype=np.float64)


def _words(said: Integers) -> Float64:
    """As :func:`driftledger.metrics.likeness.likeness` has it, of word numbers."""
    bags = np.zeros((len(said), VOCABULARY))
    np.add.at(bags, (np.repeat(np.arange(len(said)), WORDS), said.ravel()), 1)
    return np.asarray(1 - np.minimum(bags[:, None], bags[None]).sum(axis=2) / WORDS, dtype=np.float64)


DISTANCES: Mapping[str, Callable[[Integers], Float64]] = {
    "not the same": _others,
    "share of places with another word (Hamming)": _places,
    "share of words not in both (Dice)": _words,
}


def found(before: Service, after: Service, prompts: int, times: int, runs: int, seed: int) -> dict[str, list[float]]:
    """Distance → p of each run."""
    ps: dict[str, list[float]] = {name: [] for name in DISTANCES}
    for number in range(runs):
        random = np.random.default_rng([seed, number])
        starts = random.integers(0, VOCABULARY // 4, prompts)
        said = np.concatenate(
            [each.say(np.repeat(starts, times), random).reshape(prompts, times, WORDS) for each in (before, after)],
            axis=1,
        )
        for name, distance in DISTANCES.items():
            tested = energy_test(
                [distance(answers) for answers in said], [times] * prompts, permutations=PERMUTATIONS, seed=number
            )
            assert tested is not None
            ps[name].append(tested.p)
    return ps


def table(found: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[str]:
    """The rows of the table in docs/trust.md: how often p is at most 0.01."""
    rows = [f"| what has changed | {' | '.join(DISTANCES)} |", "|---" * (1 + len(DISTANCES)) + "|"]
    for change, by_distance in found.items():
        shares = [f"{by_distance[name]['0.01']:.0%}" for name in DISTANCES]
        rows.append(f"| {change} | {' | '.join(shares)} |")
    return rows


@app.command()
def simulate(
    runs: int = typer.Option(80, help="Of each change."), size_runs: int = typer.Option(400, help="Without one.")
) -> None:
    """Watch services that have changed, and some that have not."""
    one, other = services(Path.cwd())
    random = np.random.default_rng(0)
    cold = one.at(0.3)
    changes: dict[str, tuple[Service, Service]] = {
        "nothing": (one, one),
        "nothing, at temperature 0.3": (cold, cold),
        "temperature from 1 to 0.8": (one, one.at(0.8)),
        "temperature from 1 to 0.5": (one, one.at(0.5)),
        "rounded weights: probabilities off by 35 %": (one, one.rounded(random, 0.3)),
        "rounded weights, at temperature 0.3": (cold, one.rounded(random, 0.3).at(0.3)),
        "another model for every fifth answer": (one, Service(one.following, other, 0.2)),
        "another model for every second answer": (one, Service(one.following, other, 0.5)),
        "another model": (one, other),
        "another model, at temperature 0.3": (cold, other.at(0.3)),
    }
    results: dict[str, dict[str, dict[str, float]]] = {}
    for change, (before, after) in changes.items():
        several = size_runs if before is after else runs
        ps = found(before, after, PROMPTS, TIMES, several, seed=len(results))
        results[change] = {
            name: {str(level): float(np.mean(np.array(some) <= level)) for level in LEVELS} | {"runs": several}
            for name, some in ps.items()
        }
        print(change, json.dumps(results[change]), flush=True)
    setting = {"prompts": PROMPTS, "answers_each_time": TIMES, "words": WORDS, "permutations": PERMUTATIONS}
    write_json(Path.cwd() / RESULTS, {"setting": setting, "found": results})


if __name__ == "__main__":
    run(app)

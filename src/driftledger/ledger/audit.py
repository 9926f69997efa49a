"""Look up a run, score, number or image, and its sources.

Answers come from ``dvc.lock``, the score files, Git's history and the folders of DVC. The checkout
may be anybody's: no program is run, no link is followed out of it, and no remote is asked that only
the checkout names.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from driftledger.benchmarks.base.stage import SCORES
from driftledger.core.canonical import Json
from driftledger.core.errors import LedgerError
from driftledger.ledger.images import ImageTarget, find_image, named_file
from driftledger.ledger.lineage import Run
from driftledger.ledger.sources import (
    RUN_OF_MLFLOW,
    NumberTarget,
    RunTarget,
    Sources,
    find_number,
    numbers_of,
)
from driftledger.scoring.roles import flags_of, roles_of
from driftledger.scoring.score import SCORE

_VALUE = re.compile(r"(-?[0-9]*[.,]?[0-9]+) ?%?")
_PROOF = {
    "dvc.lock": (
        "from Git and DVC: which bytes each stage read and wrote, by MD5, and with which "
        "settings; who has the cache or the remote can fetch these bytes and hash them with "
        "'driftledger verify'"
    ),
    "git": (
        "from Git history: the score file and the dvc.lock that were committed together; the "
        "bytes that they name can be fetched and hashed as long as the DVC cache or remote keeps "
        "them"
    ),
}


class Candidate(NamedTuple):
    """A number that a text could mean."""

    number: NumberTarget
    run: Run
    selected: bool
    """True if ``params.yaml`` selects its run; False if only Git has it, as published."""

    @property
    def target(self) -> str:
        """The argument of ``driftledger audit`` that names it."""
        place = self.number.number.place
        scores = [lineage.score for lineage in self.run.lineages]
        owners = [score for score in scores if score.find(*place)]
        name = self.number.own_name if len(owners) == 1 else self.number.name
        run = self.run.combination.path if self.selected else self.run.fingerprint[:12]
        return f"{run}:{name}"

    @property
    def unlikely(self) -> tuple[bool, bool, bool, bool]:
        """A key that sorts headlines of all samples first, as slides show them."""
        metric = self.number.metric
        return (
            not self.selected,
            self.number.end != "",
            metric is None or "headline" not in metric.shown,
            not self.number.number.is_whole,
        )


def resolve_target(sources: Sources, text: str) -> RunTarget | ImageTarget:
    """Find the target of an audit.

    A text names a run, a score file, ``RUN:METRIC``, ``SCORE FILE:METRIC``, an image or its
    SHA-256.

    Raises:
        LedgerError: nothing has this name; the nearest names are listed.
    """
    text = text.strip()
    if target := _run_or_score(sources, text):
        return target
    left, _, metric = text.partition(":")
    if metric and (owner := _run_or_score(sources, left)):
        lineages = [owner.lineage] if owner.lineage else owner.run.lineages
        return owner._replace(number=find_number(lineages, metric))
    if re.fullmatch("[0-9a-f]{64}", text) or named_file(sources, text):
        image = find_image(sources, text)
        if image.places:
            return image
        unseen = ""
        if image.unknown:
            unseen = f"; {len(image.unknown)} folders could not be searched: {image.unknown[0]}"
        raise LedgerError(
            f"{text}: no score file, and no image of a run has its bytes{unseen}"
        )
    hint = ""
    if RUN_OF_MLFLOW.fullmatch(text):
        hint = "; 'driftledger track' notes the ids of MLflow's runs"
    raise LedgerError(
        f"no run, score file, image or metric is called {text!r:.300}{hint}{sources.nearest(text)}"
    )


def _run_or_score(sources: Sources, text: str) -> RunTarget | None:
    """Find a run, or the score in a folder or in the ``score.json`` of one."""
    if target := sources.find(text):
        return target
    path = text.removeprefix("./").removesuffix(f"/{SCORE}").rstrip("/")
    if path.startswith(f"{SCORES}/"):
        for run, lineage in sources.lineages:
            if path == lineage.folder.path:
                return RunTarget(run, lineage)
    return None


def candidates_for(sources: Sources, text: str) -> list[Candidate]:
    """List the numbers that a text could mean, the likeliest first.

    The text is a value, or the name of a metric or a benchmark. ``0.72`` means every number that
    rounds to it, also as a percentage of a value from 0 to 1, and also in published runs that only
    Git has.

    Raises:
        LedgerError: no number has this value; the nearest are named.
    """
    value = _VALUE.fullmatch(text)
    scores = [(True, run, lineage) for run, lineage in sources.lineages]
    if value:
        scores += [(False, run, lineage) for run, lineage in sources.former()]
    candidates = []
    for selected, run, lineage in scores:
        for number in numbers_of(lineage):
            candidates.append(Candidate(number, run, selected))
    candidates.sort(key=lambda candidate: candidate.unlikely)
    if value:
        return _of_value(candidates, value[1].replace(",", "."))
    return [candidate for candidate in candidates if _is_called(candidate.number, text)]


def _is_called(number: NumberTarget, text: str) -> bool:
    """Return True if a text names a metric, or the benchmark of a headline."""
    spec = number.lineage.spec
    if text in (spec.name, spec.title):
        headline = spec.metrics.headline(number.lineage.score)
        return not number.end and number.number == headline
    return text.casefold() in (number.own_name.casefold(), number.title.casefold())


def _of_value(candidates: Sequence[Candidate], written: str) -> list[Candidate]:
    """Return the numbers that round to a value; errors as in :func:`candidates_for`."""

    def distance(value: float) -> float:
        percent = 100 * value if 0 <= value <= 1 else value
        return min(abs(value - float(written)), abs(percent - float(written)))

    half = 0.5000001 / 10 ** len(written.partition(".")[2])
    fitting = []
    targets: dict[float, str] = {}
    for candidate in candidates:
        value = candidate.number.value
        targets.setdefault(value, candidate.target)
        if distance(value) < half:
            fitting.append(candidate)
    if not fitting:
        near = [
            f"{value:.6g} ({targets[value]})" for value in sorted(targets, key=distance)
        ]
        raise LedgerError(
            f"no number here is {written}; nearest: {', '.join(near[:3]) or 'none'}"
        )
    return fitting


def data_of(target: RunTarget | ImageTarget) -> Json:
    """Return everything about a target, ready for JSON."""
    if isinstance(target, ImageTarget):
        image = {"image": {"sha256": target.sha256}, "converted": target.converted}
        return image | {"places": target.places, "unknown": target.unknown}
    run = target.run.model_dump(mode="json", by_alias=True)
    data = run
    if target.number is not None:
        data = _data_of_number(target.number)
    elif target.lineage is not None:
        data = target.lineage.model_dump(mode="json", by_alias=True)
    if data is not run:
        names = {key: run[key] for key in ("name", "combination", "fingerprint")}
        data |= {"run": names, "code": run["code"]}
    return data | {"known_from": target.source, "proof": [_PROOF[target.source]]}


def _data_of_number(number: NumberTarget) -> Json:
    lineage = number.lineage
    metric = number.metric
    score = lineage.score
    computed = None
    if metric is not None:
        computed = {
            "how": metric.formula,
            "function": metric.function,
            "published": metric.published,
            "from": sorted(metric.needs),
        }
    components = {}
    for role in roles_of(lineage.spec.metrics, score, number.number.metric):
        components[role] = score.components[role].to_dict()
    return {
        "metric": number.name,
        "value": number.value,
        "interval": number.interval,
        "why": number.number.why,
        "computed": computed,
        "settings": score.inputs.settings,
        "protocol": score.inputs.protocol,
        "components": components,
        "served": score.served,
        "driftledger": score.driftledger,
        "scored": score.how_many,
        "flags": flags_of(lineage.spec.metrics, score, number.number.metric),
        "data_digest": score.inputs.data_digest,
        "records": score.inputs.records,
        "score": lineage.score_path,
        "values": lineage.rows_path,
        **lineage.model_dump(mode="json", by_alias=True, exclude={"score"}),
    }

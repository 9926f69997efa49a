"""Calls of services, asked again: do the stored answers look as if the service had given them?

No service answers twice the same, so that nothing is compared byte by byte. Each call is made twice more. Had the
service given the stored answer too, any of the three could be the stored one: a permutation test over which of the
three it is needs no other assumption. It costs money, and is never done unasked.
"""

import math
from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import groupby
from typing import NamedTuple, cast

import numpy as np
from PIL import Image
from pydantic import ValidationError

from driftledger.benchmarks.base import SECTIONS, kind_of
from driftledger.benchmarks.runner import RecordedCall
from driftledger.collect.batches import make_batch
from driftledger.collect.call import Call
from driftledger.components.base import Component
from driftledger.components.card import ComponentCard
from driftledger.components.remote.component import RemoteComponent
from driftledger.core.escaping import for_line
from driftledger.core.registry import same_provider
from driftledger.core.shortening import shortened
from driftledger.core.types import Float64, ImageFile, Outcome
from driftledger.ledger.findings import Skipped, VerifyResult
from driftledger.ledger.lineage import Evidence
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.verify.components import Components, Unavailable
from driftledger.ledger.verify.regenerate import draw_lots, pools_behind
from driftledger.ledger.verify.unfit import UNFIT
from driftledger.metrics.likeness import Answer, likeness, thumbnail
from driftledger.project.catalogue import CatalogueEntry, catalogue
from driftledger.project.project import Project
from driftledger.project.providers import class_of_record

PERMUTATIONS = 2000
_SIMULATED = 200


class AskedAgain(NamedTuple):
    """What the answers to calls of one kind say of the stored ones."""

    name: str
    calls: int
    """That were asked twice more, and answered."""
    p: float
    """How often stored answers of the service's own would be as unlike the new ones as these are, or more."""
    detects: float | None
    """The least share of stored answers that, were they the answers to other calls, p would be below 0.05 for in at
    least 8 of 10 cases, to a tenth; None where not even all of them would do."""

    def __str__(self) -> str:
        shows = "no exchange of answers" if self.detects is None else f"{self.detects:.0%} exchanged answers"
        return (
            f"{self.name}: {self.calls} calls were asked twice more: answers of the service's own are as unlike with "
            f"probability p = {self.p:.3f}; in 8 of 10 cases p is below 0.05 for {shows}"
        )


class Services(Components):
    """The services behind records, to be asked again: at the provider's own address or at one of the catalogue's, with
    the key that belongs there; with ``trust`` at whatever address the records and ``params.yaml`` name."""

    repeatable_only = False

    def get(self, card: ComponentCard, role: str) -> Component | Unavailable:
        """The service of exactly the recorded fingerprint."""
        kind = kind_of(role)
        section, who = SECTIONS[kind], f"{kind} {for_line(card.name)}"
        found = class_of_record(section, card.provider, self._settings)
        if isinstance(found, str):
            return Unavailable(f"{who}: {found}")
        cls = cast(type[Component], found)
        if not issubclass(cls, RemoteComponent):
            return Unavailable(f"{who}: it is no service")
        own = {key: value for key, value in card.settings.items() if key not in cls.operational()}
        for given in self._keys(section, card, cls, own):
            try:
                component = cls.model_validate(given | own)
            except ValidationError:
                continue
            if component.fingerprint == card.fingerprint:
                return component
        address = for_line(str(card.settings.get("service_name") or card.settings.get("base_url")))
        return Unavailable(f"{who}: nothing here says which key belongs to its address {address:.80}; see --trust")

    def _keys(
        self, section: str, card: ComponentCard, cls: type[Component], own: dict[str, object]
    ) -> Iterator[dict[str, object]]:
        """The settings outside of the fingerprint under which an address may be asked."""
        named = own.get("service_name")
        if own.get("base_url") is None and named is None:
            yield {}
        known = self._settings.entries(section) if self._trust and self._settings else catalogue(section)
        for entry in known.values():
            if isinstance(entry, CatalogueEntry) and same_provider(section, entry.provider, card.provider):
                given = entry.settings()
                if named is not None and given.get("service_name") == named:
                    yield {key: given[key] for key in given.keys() & (cls.operational() | {"base_url"})}
                elif named is None and _first(given.get("base_url")) == own.get("base_url"):
                    yield {key: value for key, value in given.items() if key in cls.operational()}


def _first(address: object) -> object:
    """Of several servers, the one that stands for all."""
    return address[0] if isinstance(address, list) and address else address


def ask_again(
    project: Project, runs: Sequence[Evidence], contents: Contents, count: int, seed: int, *, trust: bool = False
) -> tuple[list[AskedAgain], VerifyResult]:
    """Make some calls of services twice more.

    Args:
        count: how many of each run.
        seed: of the lot, as in :func:`~driftledger.ledger.verify.regenerate.regenerate`.
        trust: whether addresses that the checkout names are asked, with the keys that it names.

    Raises:
        ConfigError: the environment has no key.
    """
    told, result = list[AskedAgain](), VerifyResult()
    with pools_behind(runs, contents, Services.of(project, trust=trust), result) as pools:
        drawn = sorted(
            draw_lots(pools, count * len(runs), seed), key=lambda pair: (pair[0], pair[1].component.fingerprint)
        )
        for kind, pairs in groupby(drawn, key=lambda pair: pair[0]):
            answers = list[_Answers]()
            for _, some in groupby((call for _, call in pairs), key=lambda call: call.component.fingerprint):
                answers += _asked([*some], result)
            if len(answers) > 1:
                told.append(AskedAgain(kind, len(answers), *doubt(answers, seed)))
            result.checked["calls asked again"] += len(answers)
    result.skipped = [each for each in result.skipped if "it is no service" not in each.why]
    return told, result


class _Answers(NamedTuple):
    stored: Answer
    again: tuple[Answer, Answer]


def _asked(calls: Sequence[RecordedCall], result: VerifyResult) -> list[_Answers]:
    asked: list[tuple[RecordedCall, Call, Answer]] = []
    for call in calls:
        try:
            asked.append((call, call.call(), _stored(call)))
        except (*UNFIT, Image.DecompressionBombError) as error:
            why = f"it cannot be put together from the records: {type(error).__name__}: {error}"
            result.skipped.append(Skipped(for_line(call.where), shortened(why)))
    if not asked:
        return []
    made = make_batch([each for _, each, _ in (*asked, *asked)])
    answers = []
    for (call, _, stored), *two in zip(asked, made, made[len(asked) :], strict=False):
        if any(each.result.outcome is Outcome.FAILED for each in two):
            result.skipped.append(Skipped(for_line(call.where), "it failed when it was asked again"))
            continue
        first, second = (_small(each.png) if each.png is not None else each.result.text or "" for each in two)
        answers.append(_Answers(stored, (first, second)))
    return answers


def _stored(call: RecordedCall) -> Answer:
    return _small(call.gave.path.read_bytes()) if isinstance(call.gave, ImageFile) else call.gave


def _small(png: bytes) -> Float64:
    with Image.open(BytesIO(png)) as image:
        return thumbnail(image)


def doubt(answers: Sequence[_Answers], seed: int) -> tuple[float, float | None]:
    """p, and the share of exchanged answers that it would tell, as :class:`AskedAgain` has them."""
    random = np.random.default_rng(seed)
    among = np.array([likeness(*each.again) for each in answers])
    own = np.array([[likeness(each.stored, again) for again in each.again] for each in answers])
    others = [answers[(number + 1) % len(answers)].stored for number in range(len(answers))]
    strange = np.array(
        [[likeness(other, again) for again in each.again] for each, other in zip(answers, others, strict=True)]
    )
    p = _p(among, own, random)
    for tenths in range(1, 11):
        forged = math.ceil(tenths / 10 * len(answers))
        seen = 0
        for _ in range(_SIMULATED):
            mixed = own.copy()
            chosen = random.choice(len(answers), forged, replace=False)
            mixed[chosen] = strange[chosen]
            seen += _p(among, mixed, random, 200) < 0.05
        if seen >= 0.8 * _SIMULATED:
            return p, tenths / 10
    return p, None


def _p(among: Float64, stored: Float64, random: np.random.Generator, permutations: int = PERMUTATIONS) -> float:
    """How often another choice of the stored one among the three answers to each call sets it as far apart or farther.

    Args:
        among: n similarities of the two new answers.
        stored: n×2, of the stored answer to each of them.
    """
    first, second = stored.T
    # How much more alike the other two are than each of the three is to them; the stored one stands first.
    apart = np.stack([among - (first + second) / 2, second - (first + among) / 2, first - (second + among) / 2])
    chosen = random.integers(0, 3, size=(permutations, len(among)))
    sums = apart[chosen, np.arange(len(among))].sum(axis=1)
    return float((1 + (sums >= apart[0].sum() - 1e-12).sum()) / (1 + permutations))

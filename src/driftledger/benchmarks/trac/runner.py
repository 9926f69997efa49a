"""Runs TRAC: descriptions of a labelled dataset, and their scores."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from driftledger.benchmarks.descriptions import check_prefix
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard, recorded_result
from driftledger.benchmarks.runner import Caller, RecordedCall, Runner, StageInputs
from driftledger.benchmarks.scoring import Scored, ToScore
from driftledger.benchmarks.trac.collect import CollectDescriptions, Examples, Shown, conversation, describe
from driftledger.benchmarks.trac.records import DescriptionRecord, TracProtocol
from driftledger.benchmarks.trac.score import score
from driftledger.collect.call import Ask
from driftledger.components.base import Model
from driftledger.core.errors import DataError
from driftledger.core.files import read_json, read_jsonl
from driftledger.data.records import read_samples


class TracRunner(Runner):
    """Asks for a description of every sample under every condition, and retrieves with those of the test set."""

    def collecting(
        self, given: StageInputs, stage: str, earlier: Mapping[str, Any] | None = None
    ) -> CollectDescriptions:
        """Return what the stage asks; errors as in :meth:`Runner.collecting`.

        Raises:
            ConfigError: there is no such description, or its prompt wants a general category and there is none.
            DataError: the dataset has no support and test set.
        """
        card, samples = given.dataset()
        if not card.labels:
            raise DataError(
                f"dataset {card.name} has no support and test set of labelled samples, which TRAC needs; "
                "take it out of run.trac, or let its settings say where they are"
            )
        way, name = given.description(given.keys["description"]), given.keys["model"]
        model, shown, examples = given.model(name), way.demonstrations, None
        check_prefix(way.prefix, name, model)
        if shown is not None:
            encoder = (shown.encoder, given.encoder(shown.encoder)) if shown.encoder else None
            by = (shown.by, given.model(shown.by)) if shown.by else None
            examples = Examples(shown.choose, shown.shots, encoder, by)
            if by is not None:
                check_prefix(way.prefix, *by)
        return CollectDescriptions(self.spec.name, stage, given.keys, card, samples, model, way, examples, given.seed)

    def score(self, given: ToScore) -> Scored:
        return score(given)

    def callers(self, paths: Mapping[str, str], where: Callable[[str], Path]) -> Iterator[Caller]:
        path, folder = paths["describe"], where("describe")
        card, records = read_json(folder / CARD, CollectedCard), read_jsonl(folder / RECORDS, DescriptionRecord)
        asked = TracProtocol.model_validate(card.protocol)
        samples = {sample.id: sample for sample in read_samples(where("dataset"))}
        own = {(each.sample, each.max_tokens): each.description for each in records if not each.demonstrations}

        def call(record: DescriptionRecord, model: Model, by: Model | None) -> Ask:
            shown = []
            for name in record.demonstrations:
                said = own[name, record.max_tokens]
                if by is not None:  # it said what was shown, and has to say it again
                    said = by.respond([conversation(asked, samples[name], None, ())])[0].text
                shown.append(Shown(samples[name], said or ""))
            sample = samples[record.sample]
            return describe(card.keys["dataset"], model, conversation(asked, sample, record.max_tokens, shown), sample)

        def calls(kind: str, model: Model, by: Model | None = None) -> Iterator[RecordedCall]:
            for record in records:
                if record.description and kind == _kind(record, asked):
                    length = "" if record.max_tokens is None else f", {record.max_tokens} tokens"
                    shots = f", {record.shots} examples" if record.shots else ""
                    of = f"{path}/{RECORDS}: {record.sample}{length}{shots}: description"
                    result = recorded_result(record, record.description) if by is None else None
                    yield RecordedCall(kind, model, of, partial(call, record, model, by), record.description, 1, result)

        def plain(model: Model) -> Iterator[RecordedCall]:
            for kind in _KINDS[:2]:
                yield from calls(kind, model)

        yield Caller("model", card.components["model"], path, plain)
        if asked.shots:
            needs = card.components.get("example_model")
            yield Caller("model", card.components["model"], path, partial(calls, _KINDS[2]), needs)


_KINDS = ("describe", "describe: another length", "describe: examples")


def _kind(record: DescriptionRecord, asked: TracProtocol) -> str:
    return _KINDS[2] if record.demonstrations else _KINDS[record.max_tokens != asked.max_tokens[0]]

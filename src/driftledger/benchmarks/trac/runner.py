"""Runs TRAC: descriptions of a labelled dataset, and their scores."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftledger.benchmarks.descriptions import Description, check_prefix
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard, recorded_result
from driftledger.benchmarks.runner import Caller, RecordedCall, Runner
from driftledger.benchmarks.scoring import Scored, ToScore
from driftledger.benchmarks.trac.collect import CollectDescriptions, DescribeProtocol, Shown, check_splits
from driftledger.benchmarks.trac.examples import Examples
from driftledger.benchmarks.trac.records import DescriptionRecord, TracProtocol
from driftledger.benchmarks.trac.score import score
from driftledger.collect.call import Ask
from driftledger.components.base import Model
from driftledger.core.files import read_json, read_jsonl
from driftledger.core.types import Sample
from driftledger.data.records import DatasetCard, read_samples

if TYPE_CHECKING:
    from driftledger.project.project import Project


class TracRunner(Runner):
    """Asks for a description of every sample under every condition, and retrieves with those of the test set."""

    def collecting(
        self, project: "Project", stage: str, keys: Mapping[str, str], earlier: Mapping[str, Any] | None = None
    ) -> CollectDescriptions:
        """What the stage asks; errors as in :meth:`Runner.collecting`.

        Raises:
            ConfigError: there is no such description, or its prompt wants a general category and there is none.
            DataError: the dataset has no support and test set.
        """
        samples, card = project.built_samples(keys["dataset"]), project.dataset_card(keys["dataset"])
        check_splits(card)
        name, seed = keys["description"], project.settings.run.seed
        asked, examples = project.settings.description(name), _examples(project, name)
        model = project.model(keys["model"])
        for each in ((keys["model"], model), examples.by if examples else None):
            if each is not None:
                check_prefix(asked.prefix, *each)
        protocol = DescribeProtocol(card, model, name, asked, examples, seed)
        return CollectDescriptions(self.spec.name, stage, keys, protocol, samples)

    def score(self, given: ToScore) -> Scored:
        return score(given)

    def callers(self, paths: Mapping[str, str], where: Callable[[str], Path]) -> Iterator[Caller]:
        descriptions = _Descriptions(paths["describe"], where("dataset"), where("describe"))
        model = descriptions.card.components["model"]
        yield Caller("model", model, descriptions.path, descriptions.plain)
        if descriptions.asked.shots:
            by = descriptions.card.components.get("example_model")
            yield Caller("model", model, descriptions.path, descriptions.with_examples, by)


def _examples(project: "Project", name: str) -> Examples | None:
    shown = project.settings.description(name).demonstrations
    if shown is None:
        return None
    encoder = (shown.encoder, project.encoder(shown.encoder)) if shown.encoder else None
    by = (shown.by, project.model(shown.by)) if shown.by else None
    return Examples(shown.choose, shown.shots, encoder, by)


class _Descriptions:
    """The calls of a folder of descriptions of a labelled dataset."""

    def __init__(self, path: str, dataset: Path, folder: Path) -> None:
        self.path = path
        self.card = read_json(folder / CARD, CollectedCard)
        self.asked = TracProtocol.model_validate(self.card.protocol)
        self._dataset = read_json(dataset / "dataset.json", DatasetCard)
        self._samples = {sample.id: sample for sample in read_samples(dataset)}
        self._records = read_jsonl(folder / RECORDS, DescriptionRecord)
        self._own = {
            (each.sample, each.max_tokens): each.description for each in self._records if not each.demonstrations
        }

    def plain(self, model: Model) -> Iterator[RecordedCall]:
        for record in self._records:
            if record.description and not record.demonstrations:
                longer = record.max_tokens != self.asked.max_tokens[0]
                kind = "describe: another length" if longer else "describe"
                yield self._recorded(kind, model, record)

    def with_examples(self, model: Model, by: Model | None = None) -> Iterator[RecordedCall]:
        """``by`` said the descriptions that were shown, if they are not the model's own."""
        for record in self._records:
            if record.description and record.demonstrations:
                yield self._recorded("describe: examples", model, record, by)

    def _recorded(self, kind: str, model: Model, record: DescriptionRecord, by: Model | None = None) -> RecordedCall:
        length = "" if record.max_tokens is None else f", {record.max_tokens} tokens"
        shots = f", {record.shots} examples" if record.shots else ""
        place = f"{self.path}/{RECORDS}: {record.sample}{length}{shots}: description"
        text = record.description or ""
        result = recorded_result(record, text) if by is None else None  # else ``by`` would be asked to find the call
        return RecordedCall(kind, model, place, partial(self._ask, model, by, record), text, result=result)

    def _ask(self, model: Model, by: Model | None, record: DescriptionRecord) -> Ask:
        sample = self._samples[record.sample]
        plain = Description(
            prompt=self.asked.prompt, prefix=self.asked.prefix
        )  # with the general category in it already
        name = self.card.keys["description"]
        protocol = DescribeProtocol(self._dataset, model, name, plain, None, self.asked.seed)
        shown = [self._shown(protocol, self._samples[name], by, record) for name in record.demonstrations]
        asked = protocol.conversation(sample, record.max_tokens, shown)
        return next(protocol.ask(model, asked, sample))  # type: ignore[return-value]  # its one call

    def _shown(self, protocol: DescribeProtocol, sample: Sample, by: Model | None, record: DescriptionRecord) -> Shown:
        if by is not None:
            return Shown(sample, by.respond([protocol.conversation(sample)])[0].text)
        return Shown(sample, self._own[sample.id, record.max_tokens] or "")

"""Runs words."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard
from driftledger.benchmarks.runner import Caller, RecordedCall, Runner
from driftledger.benchmarks.scoring import Scored, ToScore
from driftledger.components.base import Model
from driftledger.core.files import read_json, read_jsonl
from driftledger.data.records import DatasetCard, read_samples
from tests.words.collect import CollectWords
from tests.words.records import WordsRecord
from tests.words.score import score
from tests.words.settings import WordsSettings

if TYPE_CHECKING:
    from driftledger.project.project import Project


class WordsRunner(Runner):
    """Asks for one description per sample, and counts."""

    def collecting(
        self, project: "Project", stage: str, keys: Mapping[str, str], earlier: Mapping[str, Any] | None = None
    ) -> CollectWords:
        settings = cast(WordsSettings, project.settings.section("words"))
        dataset = keys["dataset"]
        samples, card = project.built_samples(dataset), project.dataset_card(dataset)
        return CollectWords("words", stage, keys, card, samples, project.model(keys["model"]), settings.prompt)

    def score(self, given: ToScore) -> Scored:
        return score(given)

    def callers(self, paths: Mapping[str, str], where: Callable[[str], Path]) -> Iterator[Caller]:
        folder, dataset = where("tell"), where("dataset")
        about = read_json(folder / CARD, CollectedCard)

        def calls(model: Model) -> Iterator[RecordedCall]:
            card, samples = read_json(dataset / "dataset.json", DatasetCard), read_samples(dataset)
            asked = CollectWords("words", "tell", about.keys, card, samples, model, about.protocol["prompt"])
            by_id = {sample.id: sample for sample in samples}
            for record in read_jsonl(folder / RECORDS, WordsRecord):
                if record.text:
                    place = f"{paths['tell']}/{RECORDS}: {record.place}"
                    tell = partial(asked.tell, by_id[record.sample])
                    yield RecordedCall("tell", model, place, lambda tell=tell: next(tell()), record.text)  # type: ignore[misc]

        yield Caller("model", about.components["model"], paths["tell"], calls)

"""Self-retrieval's settings, metrics and calls.

Liu et al. 2018, "Show, Tell and Discriminate: Image Captioning by Self-retrieval with Partially
Labeled Data"; Hessel et al. 2021, "CLIPScore: A Reference-free Evaluation Metric for Image
Captioning".
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from driftledger.benchmarks.base.benchmark import Collecting, Scored, Scoring
from driftledger.benchmarks.base.chains.spec import (
    ANOTHER_DESCRIPTION,
    ANOTHER_ENCODER,
    WORDS,
)
from driftledger.benchmarks.base.layout import PaperTables
from driftledger.benchmarks.base.one_call import OneCall
from driftledger.benchmarks.base.records import Folders, stream_records
from driftledger.benchmarks.base.settings import OfSelected, Section
from driftledger.benchmarks.base.stage import DATASET, RECORDS_OF, Stage, score_stage
from driftledger.benchmarks.base.traces import Step, Trace, shot, values_of
from driftledger.collect.call import Ask
from driftledger.core.canonical import Json
from driftledger.core.strict import Name
from driftledger.core.types import Conversation, Subject
from driftledger.data.records import read_samples
from driftledger.scoring.means import mean_over_samples, ratio
from driftledger.scoring.metric import Input, Metric, MetricTable, ShownIn
from driftledger.scoring.score import Rows, Score, Scores

_KEYS = ("dataset", "model")
_SEEN = frozenset({Input.ENCODER, Input.DESCRIPTIONS, Input.DATA})
_FIRST: frozenset[ShownIn] = frozenset(
    {"headline", "compared", "glance", "across", "table", "bars", "last"}
)


class SelfRetrievalSettings(Section):
    """The prompt for a description, and the encoders that read it."""

    encoders: Annotated[tuple[Name, ...] | None, OfSelected("encoders")]
    """Those of ``run.encoders`` that it goes over; None is all."""
    describe_prompt: str = Field(min_length=1)


class SelfRetrieval(OneCall):
    """One description per image, compared with all images of the dataset."""

    name = "self_retrieval"
    title = "self-retrieval"
    data = DATASET
    encoders_read = True
    collects = Stage(
        "describe",
        _KEYS,
        f"{RECORDS_OF}/self_retrieval/{{dataset}}",
        settings=("describe_prompt",),
    )
    scores = score_stage("self_retrieval", (*_KEYS, "encoder"))
    metrics = MetricTable(
        Metric(
            "recall1",
            "recall@1",
            "percentage of the descriptions that are nearer to their own image than to any other "
            "of the dataset; 1/m if m images are equally near",
            "neighbours.own_nearest; Liu et al. 2018, Show, Tell and Discriminate",
            needs=_SEEN,
            estimate=ratio,
            unit="%",
            scale=100.0,
            range=(0, 100),
            span=100.0,
            in_rows=True,
            is_ratio=True,
            shown=_FIRST,
        ),
        Metric(
            "clip_score",
            "CLIPScore",
            "100 · max(cosine between description and image, 0), mean over samples; without "
            "CLIPScore's factor 2.5",
            "drift.cosine_similarity; Hessel et al. 2021, CLIPScore, equation 1",
            needs=_SEEN,
            estimate=mean_over_samples,
            unit="0–100",
            range=(0, 100),
            span=100.0,
            in_rows=True,
            shown=_FIRST - {"glance", "bars"},
        ),
        Metric(
            "chance",
            "chance",
            "what a guess finds: 100 / the number of different images",
            "neighbours.own_nearest",
            needs=frozenset({Input.DATA}),
            unit="%",
            direction="neither",
        ),
        WORDS,
    )
    settings = SelfRetrievalSettings
    paper_tables: ClassVar[PaperTables] = {
        "descriptions that find their image among all images, as in Liu et al. 2018; in brackets "
        "the interval": {}
    }
    unfair = (ANOTHER_DESCRIPTION, ANOTHER_ENCODER)

    def asks(self, collecting: Collecting) -> Iterator[tuple[Ask, Json]]:
        """Yield the calls with which GenCeption's chains begin."""
        prompt = collecting.protocol["describe_prompt"]
        for sample in collecting.samples:
            subject = Subject(sample.id, 1, collecting.on)
            conversation = Conversation.ask(prompt, sample.medium, subject)
            yield Ask(collecting.model(), "describe", conversation, subject), {}

    def score(self, scoring: Scoring) -> Scored:
        from driftledger.benchmarks.self_retrieval.score import (
            score_retrieval,
        )  # slow to import

        return score_retrieval(scoring, self)

    def notes(self, scores: Scores) -> Iterator[str]:
        """Yield how many images there are, and what the numbers do not say."""
        chance = scores[0].find("chance")
        assert chance is not None
        yield (
            f"Among {chance.n} different images, of which a guess finds {chance.value:.2f} %: the "
            "more there are and the more alike, the harder it is. Images that differ much are all "
            "found, and what the encoder does not see or read does not count."
        )

    def traces(self, folders: Folders, score: Score, rows: Rows) -> Iterator[Trace]:
        """Yield a trace per row: the image and its description."""
        files = {
            sample.id: sample.medium.path for sample in read_samples(folders["dataset"])
        }
        records = {
            record.unit: record for record in stream_records(folders["describe"])
        }
        values = values_of(self.metrics, score)
        prompt = score.inputs.protocol["describe_prompt"]
        for row in rows:
            record = records[row.unit]
            start: Mapping[str, Any] = {"sample": row.unit, **shot(files[row.unit])}
            described = {"description": record.text}
            step = Step(
                "describe",
                "model",
                inputs={"prompt": prompt, **start},
                outputs=described,
                outcome=record.outcome,
                error=record.error,
                column="image",
            )
            yield Trace(
                unit=row.unit,
                name="description",
                inputs=start,
                outputs=described,
                outcome=row.outcome,
                steps=[step],
                values=values(row),
                start="image",
            )

"""Self-retrieval's settings, metrics and calls.

Liu et al. 2018, "Show, Tell and Discriminate: Image Captioning by Self-retrieval with Partially
Labeled Data"; Hessel et al. 2021, "CLIPScore: A Reference-free Evaluation Metric for Image
Captioning".
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import Field

from driftledger.benchmarks.base.benchmark import Scoring
from driftledger.benchmarks.base.chains.spec import (
    ANOTHER_DESCRIPTION,
    ANOTHER_ENCODER,
    WORDS,
)
from driftledger.benchmarks.base.layout import PaperTables
from driftledger.benchmarks.base.one_call import RepliesPerSample, Reply
from driftledger.benchmarks.base.settings import OfSelected, Section
from driftledger.core.strict import Name
from driftledger.core.types import Sample
from driftledger.scoring.means import mean_over_samples, ratio
from driftledger.scoring.metric import FIRST, Input, Metric, MetricTable
from driftledger.scoring.number import Number
from driftledger.scoring.score import AnyFlag, Scores

_SEEN = frozenset({Input.ENCODER, Input.DESCRIPTIONS, Input.DATA})


class SelfRetrievalSettings(Section):
    """The prompt for a description, and the encoders that read it."""

    encoders: Annotated[tuple[Name, ...] | None, OfSelected("encoders")]
    """Those of ``run.encoders`` that it goes over; None is all."""
    describe_prompt: str = Field(min_length=1)


class SelfRetrieval(RepliesPerSample):
    """One description per image, compared with all images of the dataset."""

    name = "self_retrieval"
    title = "self-retrieval"
    asks_to = "describe"
    asked = ("describe_prompt",)
    seen_by = ("encoder",)
    encoders_read = True
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
            chance="chance",
            in_rows=True,
            is_ratio=True,
            shown=FIRST,
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
            reachable=False,
            in_rows=True,
            shown=FIRST - {"glance", "bars"},
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

    def ask(self, sample: Sample, settings: Mapping[str, Any]) -> str:
        """Return the prompt with which GenCeption's chains begin."""
        return str(settings["describe_prompt"])

    def columns(
        self, scoring: Scoring, replies: Sequence[Reply]
    ) -> Mapping[str, Sequence[float | None]]:
        from driftledger.benchmarks.self_retrieval.score import (
            compared,
        )  # slow to import

        return compared(scoring, replies)

    def beside(
        self, scoring: Scoring, replies: Sequence[Reply]
    ) -> tuple[Sequence[Number], Sequence[AnyFlag]]:
        from driftledger.benchmarks.self_retrieval.score import beside, cut_off

        return [*beside(replies)], [*cut_off(scoring, replies)]

    def notes(self, scores: Scores) -> Iterator[str]:
        """Yield how many images there are, and what the numbers do not say."""
        chance = scores[0].find("chance")
        if chance is not None:  # a score of a stranger may lack it
            yield (
                f"Among {chance.n} different images, of which a guess finds {chance.value:.2f} %: "
                "the more there are and the more alike, the harder it is. Images that differ much "
                "are all found, and what the encoder does not see or read does not count."
            )

"""What ``params.yaml`` selects to be asked: the protocols of every stage that collects, over what is built."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from driftledger.benchmarks._questions.answers import AnswerProtocol
from driftledger.benchmarks._questions.grading import Judging
from driftledger.benchmarks.fidelity.redraw import to_redraw
from driftledger.benchmarks.genception.chain import ChainProtocol
from driftledger.benchmarks.trac.describe import DescribeProtocol
from driftledger.commands.stages.distinctiveness import describe_protocol
from driftledger.commands.stages.faithfulness import redraw_protocol
from driftledger.commands.stages.genception import chain_protocol
from driftledger.commands.stages.questions import answer_protocol, judging_of
from driftledger.components.base import Generator, Model
from driftledger.core.types import Sample
from driftledger.data.question_sets.files import QuestionEntry, read_questions
from driftledger.project.project import Project

BENCHMARKS = ("genception", "trac", "fidelity", "questions")
"""As ``run:`` in ``params.yaml`` has them; ``questions`` are all question sets."""


class Chains(NamedTuple):
    """A ``chain`` stage of GenCeption, or a ``redraw`` stage of fidelity."""

    benchmark: Literal["genception", "fidelity"]
    title: str
    protocol: ChainProtocol
    samples: Sequence[Sample]


class Descriptions(NamedTuple):
    """A ``describe`` stage."""

    title: str
    protocol: DescribeProtocol
    samples: Sequence[Sample]


class Answers(NamedTuple):
    """An ``answer`` stage, and how its ``grade`` stage asks the judge, if it does."""

    title: str
    protocol: AnswerProtocol
    questions: Sequence[QuestionEntry]
    judging: Judging | None


@dataclass(frozen=True)
class Selection:
    """The selected stages that ask components, of some benchmarks.

    Every iterator raises StoreError where a dataset or a question set is not built yet.
    """

    project: Project
    benchmarks: Collection[str] = BENCHMARKS

    @property
    def generators(self) -> Sequence[str]:
        """Those that draw something."""
        drawn = [*self._datasets("genception"), *self._datasets("fidelity")]
        return self.project.settings.run.generators if drawn else ()

    @property
    def needs_judge(self) -> bool:
        """Whether there are open questions."""
        return "questions" in self.benchmarks and self.project.settings.needs_judge

    def _datasets(self, benchmark: str) -> Sequence[str]:
        run = self.project.settings.run
        over = {"genception": run.genception, "trac": run.trac, "fidelity": run.fidelity}
        return over[benchmark] if benchmark in self.benchmarks else ()

    def answers(self, name: str, model: Model, judge: Model | None) -> Iterator[Answers]:
        """What one model is asked, question set by question set. Without a judge, nothing is to be graded."""
        for question_set in self.project.settings.run.question_sets if "questions" in self.benchmarks else ():
            protocol = answer_protocol(self.project, question_set, model)
            judging = None
            if judge is not None and protocol.card.protocol == "mm_vet":
                judging = judging_of(self.project, question_set, judge)
            yield Answers(f"{question_set} · {name}", protocol, read_questions(protocol.folder), judging)

    def descriptions(self, name: str, model: Model) -> Iterator[Descriptions]:
        """What one model describes for TRAC."""
        for dataset in self._datasets("trac"):
            samples = self.project.built_samples(dataset)
            for description in self.project.settings.run.descriptions:
                protocol = describe_protocol(self.project, dataset, model, description)
                yield Descriptions(f"{dataset} · {name} · {description}", protocol, samples)

    def chains(self, names: tuple[str, str], model: Model, generator: Generator) -> Iterator[Chains]:
        """What one model describes and one generator, both of these names, draws."""
        for dataset in self._datasets("genception"):
            samples = self.project.built_samples(dataset)
            protocol = chain_protocol(self.project, dataset, model, generator)
            yield Chains("genception", " · ".join((dataset, *names)), protocol, samples)
        for dataset in self._datasets("fidelity"):
            samples = to_redraw(self.project.built_samples(dataset))
            protocol = redraw_protocol(self.project, dataset, model, generator)
            yield Chains("fidelity", " · ".join((dataset, *names, "redrawn")), protocol, samples)

"""Every call of the selection in one process, so that each checkpoint is loaded once and not once per stage.

The results go into the call store and the feature store alone; DVC's stages then find all of it there, and write their
files without loading anything. What is asked, and in which company within a batch, is the same as when a stage asks.
"""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, TypeAlias

from driftledger.benchmarks._questions import answers, grading
from driftledger.benchmarks._questions.records import AnswerRecord
from driftledger.benchmarks.fidelity.seen import Redrawing, see
from driftledger.benchmarks.genception import chain as chains
from driftledger.benchmarks.genception.features import looked_at
from driftledger.benchmarks.trac import describe as describing
from driftledger.collect.call_store import CallStore
from driftledger.collect.encoding import encode_images
from driftledger.collect.feature_store import FeatureStore
from driftledger.commands.stages.spending import say_spent
from driftledger.components.base import Encoder, Model
from driftledger.core.errors import ConfigError, unknown_name
from driftledger.core.progress import Progress
from driftledger.project.project import Project
from driftledger.project.workload import BENCHMARKS, Answers, Chains, Selection

Look: TypeAlias = Callable[[Encoder, FeatureStore], object]
"""Shows an encoder what one chain or redraw stage drew."""


class _Asked(NamedTuple):
    """What one model was asked, as far as others go on from there."""

    looks: list[Look]
    answers: list[tuple[Answers, list[AnswerRecord]]]


def collect(project: Project, benchmarks: Collection[str] = (), models: Collection[str] = ()) -> None:
    """Ask everything that is not stored yet: of one model after the other, then of the judge and the encoders.

    Components are let go of when their part is done, so that no two models are in memory at once.

    Args:
        benchmarks: of :data:`~driftledger.project.workload.BENCHMARKS`; none stands for all.
        models: of those that ``run.models`` selects; none stands for all.

    Raises:
        ConfigError: there is no such benchmark, or the model is not selected.
        StoreError: a dataset or a question set is not built yet, or a component has changed since it was resolved.
    """
    run = project.settings.run
    _check_known("benchmark", benchmarks, BENCHMARKS)
    _check_known("selected model", models, run.models)
    selection = Selection(project, benchmarks or BENCHMARKS)
    judge = project.judge() if selection.needs_judge else None
    with project.store() as store:
        chosen = [name for name in run.models if not models or name in models]
        asked = [_ask(selection, name, judge, store) for name in chosen]
        for to_grade, given in [each for of_model in asked for each in of_model.answers]:
            if to_grade.judging is not None:
                questions = {question.id: question for question in to_grade.questions}
                grading.judge(to_grade.judging, questions, given, store, f"{to_grade.title} · {run.judge}")
                say_spent(to_grade.judging.judge, store)
    _show(project, [look for of_model in asked for look in of_model.looks])


def _ask(selection: Selection, name: str, judge: Model | None, store: CallStore) -> _Asked:
    """Ask everything of one model and, for its descriptions, of the generators."""
    project, model = selection.project, selection.project.model(name)
    looks: list[Look] = []
    for drawing in selection.generators:
        generator = project.generator(drawing)
        for stage in selection.chains((name, drawing), model, generator):
            looks.append(_look(stage, chains.collect(stage.protocol, stage.samples, store, stage.title)))
        say_spent(generator, store)
        generator.release()
    for title, protocol, samples in selection.descriptions(name, model):
        describing.collect_stored(protocol, samples, store, title)
    answered = [
        (asked, answers.collect(asked.protocol, asked.questions, store, asked.title))
        for asked in selection.answers(name, model, judge)
    ]
    say_spent(model, store)
    model.release()
    return _Asked(looks, answered)


def _look(stage: Chains, collected: Sequence[Sequence[chains.Iteration]]) -> Look:
    """Shows an encoder what the scoring stage will, batch by batch."""
    if stage.benchmark == "fidelity":
        ends = [iterations[-1] for iterations in collected]
        redrawings = [Redrawing(sample, *end) for sample, end in zip(stage.samples, ends, strict=True)]
        return lambda encoder, features: see(redrawings, encoder, features)
    drawn = {(r.sample, r.t): image for iterations in collected for r, image in iterations if image is not None}
    shown = looked_at(stage.samples, drawn, stage.protocol.iterations)
    return lambda encoder, features: [encode_images(encoder, images, features) for images in shown]


def _show(project: Project, looks: Sequence[Look]) -> None:
    for name in project.settings.run.encoders if looks else ():
        encoder = project.encoder(name)
        with Progress(name, total=len(looks)) as progress:
            for look in looks:
                look(encoder, project.features())
                progress.update()
        encoder.release()


def _check_known(what: str, names: Collection[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise ConfigError(unknown_name(what, name, known))

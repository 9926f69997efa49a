"""Every call of the selection in one process, so that each checkpoint is loaded once and not once per stage.

The results go into the call store alone; DVC's stages then find all of it there, and write their files without
loading a model. What is asked, and in which company within a batch, is the same as when a stage asks.
"""

from collections.abc import Collection

from driftledger.benchmarks.genception import chain as chains
from driftledger.benchmarks.questions import answers, grading
from driftledger.benchmarks.trac import describe as describing
from driftledger.calls import CallStore
from driftledger.components import Model
from driftledger.errors import ConfigError, unknown_name
from driftledger.project import Project
from driftledger.question_records import AnswerRecord
from driftledger.selection import BENCHMARKS, Answers, Selection
from driftledger.stages.spending import say_spent


def collect(project: Project, benchmarks: Collection[str] = (), models: Collection[str] = ()) -> None:
    """Ask everything that is not stored yet: of one model after the other, then of the judge.

    Components are let go of when their part is done, so that no two models are in memory at once.

    Args:
        benchmarks: of :data:`~driftledger.selection.BENCHMARKS`; none stands for all.
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
        for asked, given in [each for name in chosen for each in _ask(selection, name, judge, store)]:
            if asked.judging is not None:
                questions = {question.id: question for question in asked.questions}
                grading.judge(asked.judging, questions, given, store, f"{asked.title} · {run.judge}")
                say_spent(asked.judging.judge, store)


def _ask(
    selection: Selection, name: str, judge: Model | None, store: CallStore
) -> list[tuple[Answers, list[AnswerRecord]]]:
    """Ask everything of one model, and give its answers."""
    project, model = selection.project, selection.project.model(name)
    for drawing in selection.generators:
        generator = project.generator(drawing)
        for title, chain, originals in selection.chains((name, drawing), model, generator):
            chains.collect(chain, originals, store, title)
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
    return answered


def _check_known(what: str, names: Collection[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise ConfigError(unknown_name(what, name, known))

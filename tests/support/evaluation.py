"""Everything that ``params.yaml`` selects, in one process and without DVC."""

from itertools import product

from driftledger.commands import stages
from driftledger.project.project import Project


def build(project: Project) -> None:
    """Datasets and question sets."""
    for dataset in project.settings.run.datasets:
        stages.dataset(project, dataset)
    for question_set in project.settings.run.question_sets:
        stages.question_set(project, question_set)


def evaluate(project: Project) -> None:
    """Ask and score, over what is built."""
    run = project.settings.run
    for collect, score, datasets in (
        (stages.chain, stages.drift, run.genception),
        (stages.redraw, stages.fidelity, run.fidelity),
    ):
        for names in product(datasets, run.models, run.generators):
            collect(project, *names)
        for names in product(datasets, project.combinations):
            score(project, *names)
    for names in product(run.trac, run.models, run.descriptions):
        stages.describe(project, *names)
        for encoder in run.text_encoders:
            stages.trac(project, *names, encoder)
    for question_set, model in product(run.question_sets, run.models):
        for step in (stages.answer, stages.grade, stages.score):
            step(project, question_set, model)

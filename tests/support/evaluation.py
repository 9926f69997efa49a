"""Everything that ``params.yaml`` selects, in one process and without DVC."""

from driftledger.commands import stages
from driftledger.project.project import Project


def build(project: Project) -> None:
    """Datasets and question sets."""
    for dataset in project.settings.run.datasets:
        stages.dataset(project, dataset)
    for question_set in project.settings.run.question_sets:
        stages.question_set(project, question_set)


def evaluate(project: Project) -> None:
    """Ask and score, over what is built; a stage that several scores share runs once."""
    done = set()
    for spec, keys in project.selected.scores:
        for stage in (*spec.collects, spec.scores):
            names = [keys[key] for key in stage.keys]
            if (spec.name, stage.name, *names) not in done:
                done.add((spec.name, stage.name, *names))
                stages.run_stage(project, spec.name, stage.name, names)

"""Everything that ``params.yaml`` selects, in one process and without DVC."""

from driftledger.commands import stages
from driftledger.commands.collect import collect
from driftledger.commands.resolve import resolve
from driftledger.project.project import Project


def build(project: Project) -> None:
    """Resolve names, and build datasets and question sets."""
    resolve(project)
    stages.data(project)


def evaluate(project: Project) -> None:
    """Collect and score, over what is built."""
    for model in project.settings.run.models:
        collect(project, [model])
        stages.score(project, model)

"""Everything that ``params.yaml`` selects, in one process and without DVC."""

from driftledger.commands import stages
from driftledger.commands.collect import collect
from driftledger.project.project import Project
from driftledger.project.resolve import resolve


def build(project: Project) -> None:
    """Resolve names, and build datasets and question sets."""
    resolve(project)
    stages.data(project)


def evaluate(project: Project) -> None:
    """Collect and score, over what is built."""
    for model in project.settings.run.models:
        collect(project, [model])
        stages.score(project, model)

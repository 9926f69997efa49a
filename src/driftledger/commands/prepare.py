"""What a user asks before a run: what is still to do. No service is called."""

from driftledger.collect.plan import Plan, PlannedCalls
from driftledger.collect.steps import NotStoredError
from driftledger.commands.collect import Work, selected_work
from driftledger.project.project import Project


def plan(project: Project) -> dict[str, PlannedCalls]:
    """What the selected runs would still ask of each selected component, without asking."""
    settings, run = project.settings, project.settings.run
    with project.store() as store:
        plan = Plan(store)
        for work in selected_work(project):
            _count(project, work, plan)
        found = {f"models.{name}": plan.of(settings.model(name)) for name in run.models}
        found |= {f"generators.{name}": plan.of(settings.generator(name)) for name in run.generators}
        judge = settings.model(run.judge)
        return found | ({f"judge {run.judge}": plan.of(judge)} if settings.needs_judge else {})


def _count(project: Project, work: Work, plan: Plan) -> None:
    """Count a line of flow; what comes after calls that are still to be made is counted at most."""
    complete = True
    for stage in work.spec.collects:
        collecting = work.collecting(project, stage.name, work.done if complete else {})
        try:
            if not complete:
                raise NotStoredError(collecting.uncounted())
            work.done[stage.name] = collecting.run(plan.run)
        except NotStoredError as error:
            complete = False
            for each in error.rest:
                plan.add(*each)

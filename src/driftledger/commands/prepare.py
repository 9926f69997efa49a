"""What a user asks before and between runs: what is still to do, and sheets to fill in. No service is called."""

from collections.abc import Callable

from driftledger.benchmarks.fidelity.ratings import RUBRIC, ToRate
from driftledger.benchmarks.fidelity.ratings import write_sheet as write_ratings_sheet
from driftledger.benchmarks.genception.records import ChainRecord
from driftledger.collect.call_result import Result
from driftledger.collect.call_store import CallStore
from driftledger.collect.plan import NotStoredError, Plan, PlannedCalls
from driftledger.collect.steps import Ask, Call, Draw
from driftledger.collect.walk import stored_in, walk
from driftledger.commands.collect import Work, selected_work
from driftledger.components.models.human import Human
from driftledger.components.models.human_folder import Pending, write_sheet
from driftledger.components.models.human_sheet import SHEET
from driftledger.core.canonical import sha256_of
from driftledger.core.errors import ConfigError
from driftledger.core.files import read_jsonl
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


def ratings_sheet(project: Project, dataset: str, samples: int, rater: str | None) -> str:
    """Write the sheet in which the selected models' descriptions of some samples are rated, and say how.

    Raises:
        ConfigError: ``fidelity.ratings`` names no file.
        StoreError: the images have not been described yet.
    """
    sheet, run = project.settings.fidelity.ratings, project.settings.run
    if sheet is None:
        raise ConfigError("fidelity.ratings in params.yaml names no file; set it, e.g. to ratings.csv")
    rows = []
    for model in run.models:
        folder = project.layout.redraws(dataset, model, run.generators[0])
        records = read_jsonl(folder / "records.jsonl", ChainRecord)
        chosen = sorted(records, key=lambda record: sha256_of([run.seed, "rating", record.sample]))[:samples]
        rows += [ToRate(dataset, record.sample, model, record.description) for record in chosen if record.description]
    summary = write_ratings_sheet(project.root / sheet, rows, rater)
    images = project.layout.dataset(dataset).relative_to(project.root) / "images"
    meaning = "\n".join(f"  {rating}  {what}" for rating, what in RUBRIC.items())
    said = f"{sheet}: {summary.to_rate} descriptions to rate, {summary.rated} rated"
    return f"{said}; the images are {images}/<sample>.png\n{meaning}"

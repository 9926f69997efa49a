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


def human_sheet(project: Project, dataset: str, model: str, generator: str | None = None) -> str:
    """Write the sheet for the images that people have to describe next, and say how many there are.

    Raises:
        ConfigError: ``model`` is not of provider ``human``, or its path is a CSV file and no folder.
    """
    person = project.settings.model(model)
    if not isinstance(person, Human):
        raise ConfigError(f"models.{model} in params.yaml is not of provider human; name one that is")
    if person.sheet.name != SHEET:
        raise ConfigError(
            f"models.{model}.path in params.yaml is the file {person.path}; let it be a folder for a sheet"
        )
    drawing = project.settings.generator(generator or project.settings.run.generators[0])
    samples = project.built_samples(dataset)
    protocol = chain_protocol(project, dataset, person, drawing)
    with project.store() as store:
        ends = [walk(protocol.run(sample), _told_by(person, store)).pending for sample in samples]
    pending = [_waiting(end) for end in ends if isinstance(end, Ask)]
    summary = write_sheet(person.sheet.parent, pending, person.annotator, protocol.describe_prompt)
    said = f"{person.sheet}: {summary.to_fill_in} images to describe, {summary.filled_in} described"
    undrawn = sum(isinstance(end, Draw) for end in ends)
    return f"{said}; {undrawn} described ones wait to be drawn: run 'dvc repro'" if undrawn else said


def _told_by(person: Human, store: CallStore) -> Callable[[Call], Result | None]:
    """What the sheet says now, and what was drawn from it."""
    stored, has_sheet = stored_in(store), person.sheet.is_file()

    def answer(call: Call) -> Result | None:
        if not isinstance(call, Ask):
            return stored(call)
        [reply] = person.respond([call.conversation]) if has_sheet else [None]
        return Result(reply.outcome, text=reply.text) if reply is not None and reply.outcome.goes_on else None

    return answer


def _waiting(asked: Ask) -> Pending:
    subject, image = asked.conversation.subject, asked.conversation.last_image
    if subject is None or image is None:
        raise ValueError("a conversation without a subject or an image cannot be put into a sheet")
    return Pending(subject, image)


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

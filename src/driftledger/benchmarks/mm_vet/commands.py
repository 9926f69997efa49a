"""``driftledger grades``: people grade answers too, and the judge is held to what they say."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from driftledger.core.escaping import for_terminal

if TYPE_CHECKING:
    from rich.console import Group, RenderableType

    from driftledger.benchmarks.mm_vet.raters import CorrectedTotal, RatersAgreement
    from driftledger.benchmarks.mm_vet.second_judge import SecondGrades, SecondJudge
    from driftledger.benchmarks.mm_vet.stored import StoredAnswers
    from driftledger.metrics.correction import Operating
    from driftledger.metrics.intervals.raters import AgreementOfRaters
    from driftledger.project.project import Project

app = typer.Typer(help="Let people grade open answers, and hold the judge to what they say.", no_args_is_help=True)


@app.command()
def sheet(
    context: typer.Context,
    question_set: Annotated[str, typer.Argument(help="A question set of params.yaml.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The CSV file; none is overwritten.")],
    questions: Annotated[int, typer.Option(min=1, help="How many, the same of every model.")] = 20,
    rater: Annotated[str, typer.Option(help="Whose sheet it is.")] = "",
) -> None:
    """Write a sheet in which answers are graded from 0 to 1, without the judge's grades."""
    typer.echo(for_terminal(grades_sheet(context.obj, question_set, out, questions, rater)))


@app.command()
def agreement(
    context: typer.Context,
    question_set: Annotated[str, typer.Argument(help="A question set of params.yaml.")],
    sheets: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILE]...", help="Sheets that people filled in.")
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL|CHECKOUT",
            help="A model, which is asked about the same answers, or a checkout, whose judge was; may be repeated.",
        ),
    ] = None,
    paid: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Ask services, up to N times; without it, none is asked.")
    ] = None,
) -> None:
    """Kappa and alpha of the judge, other judges and people; its mistakes by their word, and totals corrected by it.

    What other judges say goes into the call store alone: no score changes.
    """
    from driftledger.benchmarks.mm_vet.stored import StoredAnswers
    from driftledger.core.terminal import show

    stored = StoredAnswers(context.obj, question_set)
    checkouts, seconds = named_judges(stored, judge or ())
    said = ask_seconds(context.obj, seconds, paid)
    if said is None:
        return
    found = raters_agreement(stored, sheets or (), checkouts, said)
    show(as_table(found, said, corrected_totals(stored, found)))


def grades_sheet(project: "Project", question_set: str, out: Path, count: int, rater: str) -> str:
    """Write the sheet of some answers of the selected models, and say how it is filled in.

    Raises:
        ConfigError: the file is there.
        StoreError: the questions have not been answered yet.
    """
    from driftledger.benchmarks.mm_vet.raters import write_sheet
    from driftledger.benchmarks.mm_vet.spec import MMVet
    from driftledger.benchmarks.mm_vet.stored import StoredAnswers

    stored = StoredAnswers(project, question_set)
    questions = {question.id: question for question in stored.questions}
    seed = project.settings.run.seed
    rows = write_sheet(project.root / out, question_set, questions, stored.answers, count, rater, seed)
    return (
        f"{out}: {rows} answers to grade, from 0 (totally wrong) to 1 (totally right); <AND> in the truth means that "
        "all parts are needed, <OR> that one is enough; the images are "
        f"{MMVet().data.at({'question_set': question_set})}/images"
    )


def named_judges(stored: "StoredAnswers", names: Sequence[str]) -> "tuple[list[Path], list[SecondJudge]]":
    """The checkouts and the models among what ``--judge`` names.

    Raises:
        ConfigError: a name is neither, or is the judge itself.
        StoreError: the answers have not been graded yet.
    """
    from driftledger.benchmarks.mm_vet.second_judge import second_judge
    from driftledger.core.errors import ConfigError, unknown_name

    checkouts: list[Path] = []
    seconds: list[SecondJudge] = []
    root, known = stored.project.root, stored.project.settings.entries("models")
    for name in dict.fromkeys(names):
        if name in known:
            seconds.append(second_judge(stored, name))
        elif (root / name).is_dir():
            checkouts.append(root / name)
        else:
            raise ConfigError(f"{unknown_name('model', name, known)}; and there is no such checkout")
    return checkouts, seconds


def ask_seconds(
    project: "Project", seconds: "Sequence[SecondJudge]", paid: int | None
) -> "dict[str, SecondGrades] | None":
    """Name → what each gives, after what that takes was said; None, and what it would take, where services would have
    to be asked and ``paid`` does not say that they may.

    Raises:
        ConfigError: more calls are needed than ``paid`` allows.
        ServiceError: a service does not answer, or its budget is spent.
    """
    from driftledger.components.remote.component import RemoteComponent
    from driftledger.core.errors import ConfigError
    from driftledger.core.terminal import console, lines, show
    from driftledger.project.workers import collector_of
    from driftledger.reports.plan import plan_table

    if not seconds:
        return {}
    with project.store() as store:
        planned = {each.name: each.planned(store) for each in seconds}
        table = plan_table({f"judge {name}": calls.to_dict() for name, calls in planned.items()})
        needed = sum(calls.to_make for calls in planned.values() if isinstance(calls.component, RemoteComponent))
        if needed and paid is None:
            show(table)
            show(lines(["", f"nobody was asked; --paid {needed} allows as many calls as this takes at most"]))
            return None
        if needed > (paid or 0):
            raise ConfigError(f"up to {needed} calls may cost money; allow them with --paid {needed}")
        if any(calls.to_make for calls in planned.values()):
            show(table, console(sys.stderr))
        with collector_of(project.settings, store) as collector:
            return {each.name: each.ask(store, collector) for each in seconds}


def raters_agreement(
    stored: "StoredAnswers", sheets: Sequence[Path], checkouts: Sequence[Path], seconds: "Mapping[str, SecondGrades]"
) -> "RatersAgreement":
    """How far the judge agrees with the people of some sheets, the judges of other checkouts, and those that were asked
    here.

    Raises:
        ConfigError: a sheet cannot be read.
        StoreError: the answers have not been graded yet, here or there.
    """
    from driftledger.benchmarks.mm_vet.raters import Place, agreement_of, judged, read_grades
    from driftledger.core.errors import ConfigError

    def grades(root: Path) -> "tuple[str, dict[Place, float]]":
        name, found = "", dict[Place, float]()
        for model in stored.models:
            name, given = judged(stored.graded(model, root))
            found |= {(model, question): grade for question, grade in given.items()}
        return name, found

    root = stored.project.root
    answers = {(model, each.question): each.text or "" for model, some in stored.answers.items() for each in some}
    name, own = grades(root)
    people: dict[str, dict[Place, float]] = {}
    for path in sheets:
        for rater, given in read_grades(root / path, stored.question_set, answers).items():
            if people.setdefault(rater, given) is not given:
                raise ConfigError(f"two of the sheets hold grades by {rater!r:.100}; put them into one")
    others = people | {second: each.grades for second, each in seconds.items()}
    for checkout in checkouts:
        other, given = grades(checkout)
        others[f"{other} of {checkout}"] = given
    return agreement_of(name, own, others, people, {each.id: each.image_sha256 for each in stored.questions})


def corrected_totals(stored: "StoredAnswers", found: "RatersAgreement") -> "list[CorrectedTotal]":
    """Each model's total as its score has it, and corrected by the calibration answers and by people; nothing where
    people graded nothing.

    Raises:
        CoverageError: of a model too few answers could be graded.
    """
    from driftledger.benchmarks.mm_vet.instrument import KnownGrades
    from driftledger.benchmarks.mm_vet.raters import CorrectedTotal
    from driftledger.benchmarks.mm_vet.score import total_by
    from driftledger.benchmarks.mm_vet.spec import MMVet
    from driftledger.commands.stages import to_score

    totals = []
    for model in stored.models if found.known.known else ():
        given = to_score(stored.project, MMVet(), {"question_set": stored.question_set, "model": model})
        own = found.known_of.get(model, KnownGrades([], []))
        totals.append(CorrectedTotal(model, *total_by(given, found.known, own), len(own.known)))
    return totals


def as_table(
    found: "RatersAgreement", seconds: "Mapping[str, SecondGrades]", totals: "Sequence[CorrectedTotal]"
) -> "Group":
    """Who graded how much, how far each two agree, and what that says of the judge."""
    from rich.console import Group

    from driftledger.benchmarks.mm_vet.raters import BANDS
    from driftledger.core.terminal import line, lines, table

    pairs, told = table("raters", "kappa", "answers", numbers=["answers"]), list[str]()
    tables: list[RenderableType] = []
    for pair in found.pairs:
        name = f"{pair.one} and {pair.other}"
        pairs.add_row(*map(line, (name, _coefficient(pair.kappa), str(pair.answers))))
        told += [f"{name}: no interval, since {pair.kappa.reason}"] if pair.kappa.reason else []
        if pair.one == found.judge and pair.other in seconds:
            counts = table(f"{pair.one} ↓  {pair.other} →", *BANDS, numbers=BANDS)
            for band, row in zip(BANDS, pair.table, strict=True):
                counts.add_row(line(band), *(line(str(count)) for count in row))
            tables += ["", counts]
    if found.alpha is not None:
        why = f"; no interval, since {found.alpha.reason}" if found.alpha.reason else ""
        told.append(f"alpha of all: {_coefficient(found.alpha)}{why}")
    for name, each in seconds.items():
        told += [f"on the calibration answers {_operating(name, each.operating)}"] if each.operating else []
        failed = f"{each.failed} gradings by {name} were ended by a failed call; the same command tries them again"
        told += [failed] if each.failed else []
    if found.operating is not None:
        told.append(f"by people's word {_operating(found.judge, found.operating)}")
    elif found.known.known:
        told.append("people call no answer right, or none wrong: nothing is said of the judge's mistakes")
    return Group(pairs, "", lines(told), *tables, *(_totals(totals) if totals else ()))


def _totals(totals: "Sequence[CorrectedTotal]") -> "Iterator[RenderableType]":
    """Which column to read, and why one is empty, stands below the table."""
    from driftledger.benchmarks.mm_vet.instrument import FEWEST_OWN
    from driftledger.core.terminal import figure, line, lines, table

    by_all, by_own = "corrected by people, all models at once", "corrected by people, model by model"
    made, told = table("model", "total", "corrected by calibration answers", by_all, by_own, numbers=["total"]), [""]
    for total in totals:
        cells = [
            "–" if each is None else figure(each.estimate, 2, (each.low, each.high))
            for each in (total.by_calibration, total.by_people, total.by_own)
        ]
        made.add_row(*map(line, (total.model, figure(total.total, 2), *cells)))
        if total.by_own is None:
            few = f"people graded {total.own} of its answers, and {FEWEST_OWN} are the fewest"
            told.append(f"{total.model} is not corrected model by model, since {few}")
    told.append(
        'read "model by model" where it is there: it holds even where the judge favours a model; "all models at once" '
        "takes the judge to err alike whoever answers"
    )
    yield from ("", made, lines(told))


def _coefficient(found: "AgreementOfRaters") -> str:
    from driftledger.core.terminal import figure

    return "–" if found.value is None else figure(found.value, 3, found.interval)


def _operating(name: str, by: "Operating") -> str:
    from driftledger.core.terminal import figure

    return (
        f"{name} has sensitivity {figure(by.sensitivity, 3)} and specificity {figure(by.specificity, 3)}, over "
        f"{by.right} answers that are rather right and {by.wrong} rather wrong ones"
    )

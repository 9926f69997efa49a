"""``driftledger grades``: people grade answers too, and the judge is held to what they say."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from driftledger.core.escaping import for_terminal

if TYPE_CHECKING:
    from rich.console import Group

    from driftledger.benchmarks.mm_vet.raters import RatersAgreement
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
        list[Path] | None,
        typer.Option("--judge", metavar="CHECKOUT", help="Another checkout, whose judge graded the same answers."),
    ] = None,
) -> None:
    """Kappa and alpha of the judge, other judges and people; sensitivity, specificity and totals corrected by these."""
    from driftledger.core.terminal import show

    show(as_table(raters_agreement(context.obj, question_set, sheets or (), judge or ())))


def grades_sheet(project: "Project", question_set: str, out: Path, count: int, rater: str) -> str:
    """Write the sheet of some answers of the selected models, and say how it is filled in.

    Raises:
        ConfigError: the file is there.
        StoreError: the questions have not been answered yet.
    """
    from driftledger.benchmarks._questions.records import AnswerRecord
    from driftledger.benchmarks.mm_vet.raters import write_sheet
    from driftledger.benchmarks.mm_vet.spec import MMVet
    from driftledger.benchmarks.records import RECORDS
    from driftledger.core.files import read_jsonl
    from driftledger.data.question_sets.files import read_questions

    spec, run = MMVet(), project.settings.run
    keys = [{"question_set": question_set, "model": model} for model in run.models]
    answers = {
        each["model"]: read_jsonl(project.root / spec.collects[0].at(each) / RECORDS, AnswerRecord) for each in keys
    }
    folder = project.root / spec.data.at({"question_set": question_set})
    questions = {question.id: question for question in read_questions(folder)}
    rows = write_sheet(project.root / out, question_set, questions, answers, count, rater, run.seed)
    return (
        f"{out}: {rows} answers to grade, from 0 (totally wrong) to 1 (totally right); <AND> in the truth means that "
        "all parts are needed, <OR> that one is enough; the images are "
        f"{spec.data.at({'question_set': question_set})}/images"
    )


def raters_agreement(
    project: "Project",
    question_set: str,
    sheets: "list[Path] | tuple[Path, ...]",
    checkouts: "list[Path] | tuple[Path, ...]",
) -> "RatersAgreement":
    """How far the judge agrees with the people of some sheets and the judges of other checkouts.

    Raises:
        ConfigError: a sheet cannot be read.
        StoreError: the answers have not been graded yet, here or there.
    """
    from driftledger.benchmarks._questions.records import AnswerRecord
    from driftledger.benchmarks.mm_vet.raters import Place, agreement_of, judged, read_grades
    from driftledger.benchmarks.mm_vet.spec import MMVet
    from driftledger.benchmarks.records import RECORDS
    from driftledger.core.errors import ConfigError
    from driftledger.core.files import read_jsonl
    from driftledger.data.question_sets.files import read_questions

    stages, models = MMVet().collects, project.settings.run.models

    def grades(root: Path) -> tuple[str, dict[Place, float]]:
        name, found = "", dict[Place, float]()
        for model in models:
            name, given = judged(root / stages[1].at({"question_set": question_set, "model": model}))
            found |= {(model, question): grade for question, grade in given.items()}
        return name, found

    answers = {
        (model, each.question): each.text or ""
        for model in models
        for each in read_jsonl(
            project.root / stages[0].at({"question_set": question_set, "model": model}) / RECORDS, AnswerRecord
        )
    }
    name, own = grades(project.root)
    people: dict[str, dict[Place, float]] = {}
    for path in sheets:
        for rater, given in read_grades(project.root / path, question_set, answers).items():
            if people.setdefault(rater, given) is not given:
                raise ConfigError(f"two of the sheets hold grades by {rater!r:.100}; put them into one")
    others = dict(people)
    for root in checkouts:
        other, given = grades(root)
        others[f"{other} of {root}"] = given
    questions = read_questions(project.root / MMVet().data.at({"question_set": question_set}))
    return agreement_of(name, own, others, people, {each.id: each.image_sha256 for each in questions})


def as_table(found: "RatersAgreement") -> "Group":
    """Who graded how much, how far each two agree, and what that says of the judge."""
    from rich.console import Group

    from driftledger.core.terminal import figure, line, lines, table

    pairs = table("raters", "kappa", "answers", numbers=["kappa", "answers"])
    for pair in found.pairs:
        kappa = "–" if pair.kappa is None else figure(pair.kappa, 3)
        pairs.add_row(*map(line, (f"{pair.one} and {pair.other}", kappa, str(pair.answers))))
    told = [f"alpha of all: {'–' if found.alpha is None else figure(found.alpha, 3)}", ""]
    if found.operating is None:
        told += ["people call no answer right, or none wrong: nothing is said of the judge's mistakes"]
        return Group(pairs, lines(told))
    by = found.operating
    told += [
        f"by people's word {found.judge} has sensitivity {figure(by.sensitivity, 3)} and specificity "
        f"{figure(by.specificity, 3)}, over {by.right} answers that are rather right and {by.wrong} rather wrong ones"
    ]
    totals = table("model", "graded, mean", "corrected", numbers=["graded, mean"])
    for each in found.corrected:
        ends = "–" if each.corrected is None else _ends(each.corrected)
        totals.add_row(line(each.model), line(figure(100 * each.raw, 2)), line(ends))
    return Group(pairs, lines(told), "", totals)


def _ends(corrected: tuple[float, float, float]) -> str:
    from driftledger.core.terminal import figure

    estimate, low, high = (100 * each for each in corrected)
    return figure(estimate, 2, (low, high))

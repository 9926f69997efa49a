"""``driftledger grades``: people grade answers too, and the judge is held to what they say."""

from pathlib import Path
from typing import Annotated

import typer

from driftledger.core.escaping import for_terminal

app = typer.Typer(help="Let people grade open answers, and compare the judge with them.", no_args_is_help=True)


@app.command()
def sheet(
    context: typer.Context,
    question_set: Annotated[str, typer.Argument(help="A question set of params.yaml.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="The CSV file; none is overwritten.")],
    questions: Annotated[int, typer.Option(min=1, help="How many, the same of every model.")] = 20,
    rater: Annotated[str, typer.Option(help="Whose sheet it is.")] = "",
) -> None:
    """Write a sheet in which answers are graded from 0 to 1, without the judge's grades."""
    from driftledger.benchmarks.mm_vet.people import write_sheet
    from driftledger.benchmarks.mm_vet.spec import MMVet

    root, run = context.obj.root, context.obj.settings.run
    rows = write_sheet(root, run.models, question_set, root / out, count=questions, rater=rater, seed=run.seed)
    images = f"{MMVet().data.at({'question_set': question_set})}/images"
    typer.echo(
        for_terminal(
            f"{out}: {rows} answers to grade, from 0 (totally wrong) to 1 (totally right); <AND> in the truth means "
            f"that all parts are needed, <OR> that one is enough; the images are {images}"
        )
    )


@app.command()
def agreement(
    context: typer.Context,
    question_set: Annotated[str, typer.Argument(help="A question set of params.yaml.")],
    sheets: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Sheets that people filled in.")],
) -> None:
    """Print Cohen's kappa of the judge and each person, and of each two persons."""
    from driftledger.benchmarks.mm_vet.people import agreement as compared
    from driftledger.core.terminal import figure, line, show, table

    shown = table("raters", "kappa", "answers", numbers=["kappa", "answers"])
    for pair in compared(context.obj.root, context.obj.settings.run.models, question_set, sheets):
        kappa = "–" if pair.kappa is None else figure(pair.kappa, 3)
        shown.add_row(*map(line, (f"{pair.one} and {pair.other}", kappa, str(pair.answers))))
    show(shown)

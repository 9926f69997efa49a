"""``driftledger human``: people describe images, as a row in every table."""

from typing import Annotated

import typer

from driftledger.core.text import for_terminal

app = typer.Typer(help="Let people describe images, as a row in every table.", no_args_is_help=True)


@app.command()
def sheet(
    context: typer.Context,
    dataset: Annotated[str, typer.Argument(help="A dataset of params.yaml.")],
    model: Annotated[str, typer.Argument(help="A model of provider human.")],
    generator: Annotated[str | None, typer.Argument(help="Whose drawings are described from t = 2 on.")] = None,
) -> None:
    """Write the sheet to fill in, with the images beside it; what people wrote stays."""
    from driftledger.benchmarks.genception.human import human_sheet  # stages are processes that have to start

    typer.echo(for_terminal(human_sheet(context.obj, dataset, model, generator)))

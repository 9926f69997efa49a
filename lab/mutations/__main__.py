"""``python -m lab.mutations``."""

import signal
from pathlib import Path
from typing import Annotated

import typer

from lab.entry import here, new_app, run
from lab.mutations import campaign
from lab.mutations.outcomes import as_text

OUT = Path(".driftledger") / "mutations"

app = new_app("Put small faults into the code and see whether a test notices.")


@app.command()
def mutations(
    count: Annotated[int, typer.Option(min=1, help="How many.")] = 200,
    seed: Annotated[int, typer.Option(help="Decides which.")] = 1,
    only: Annotated[list[Path] | None, typer.Option(help="A file or folder of src/driftledger; repeatable.")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="Tried at once, each in a clone of its own.")] = 1,
    reach: Annotated[int, typer.Option(min=1, help="Test files per mutation, at most.")] = 16,
    budget: Annotated[float, typer.Option(min=0, help="Seconds of tests per mutation, as fast as they were.")] = 60,
    limit: Annotated[float, typer.Option(min=1, help="Seconds of the processor before tests time out, at least.")] = 60,
    marks: Annotated[str, typer.Option(help="Which tests, as for pytest -m.")] = "not slow and not neural",
    out: Annotated[Path, typer.Option(help="Where results and reports go.")] = OUT,
) -> None:
    """Try mutations that are not settled yet, and report all of them."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what is running ends, and clones are removed
    options = campaign.Options(count, seed, only or (), jobs, reach, budget, limit, marks, out)
    typer.echo(as_text(campaign.run(here().root, options)), nl=False)


if __name__ == "__main__":
    run(app)

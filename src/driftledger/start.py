"""The start of the ``driftledger`` command, of which a run makes a hundred."""

import gc
import os

_UNTIL_GARBAGE = 50_000
"""New objects until Python looks for garbage, some MB; by its own 700 that takes a fifth of what imports take."""


def main() -> None:
    """Import the command line, and run it."""
    gc.set_threshold(_UNTIL_GARBAGE)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "true")  # else it reads about all that is installed to find some
    from driftledger.cli import main as run

    run()

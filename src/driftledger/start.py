"""The start of the ``driftledger`` command, of which a run makes a hundred."""

import gc


def main() -> None:
    """Import the command line, and run it.

    What it imports stays to the end: Python is kept from looking for garbage in it, which takes a fifth of the start.
    """
    gc.disable()
    from driftledger.cli import main as run

    gc.freeze()
    gc.enable()
    run()

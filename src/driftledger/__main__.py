"""``python -m driftledger``."""

from driftledger.cli import main

main()

"""``python -m driftledger_check score.zip``."""

from driftledger_check.cli import main

if __name__ == "__main__":
    main()

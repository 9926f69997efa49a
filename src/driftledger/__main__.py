"""``python -m driftledger``."""

from driftledger.start import main

main()

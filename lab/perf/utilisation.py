"""Share of time that the device of a model and a generator is busy, in 1,000 chains of five
iterations.

Run: python -m lab.perf.utilisation

On a virtual clock, with the stand-ins of tests/support/simulated.py, whose one writer makes
durable what has come, as the store does.
"""

import tempfile
from pathlib import Path

from tests.support.simulated import Batches, Pen, simulate

with tempfile.TemporaryDirectory() as folder:
    print(simulate(Batches(), Pen(), 1000, 5, Path(folder)))

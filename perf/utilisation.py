"""Share of time that a model and a generator are busy, in 1,000 chains of five iterations.

Run: python -m perf.utilisation

On a virtual clock, with the stand-ins of tests/support/simulated.py, whose one writer makes
durable what has come, as the store does: *queue* for vLLM, *brief_queue* for vLLM that answers one
word, and *batches* for transformers.
"""

import tempfile
from pathlib import Path

from tests.support.simulated import Batches, BriefQueue, Pen, Queue, simulate

for model in (Queue(), BriefQueue(), Batches()):
    with tempfile.TemporaryDirectory() as folder:
        print(model.provider, simulate(model, Pen(), 1000, 5, Path(folder)))

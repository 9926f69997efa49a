"""How busy are a model and a generator in chains of five iterations over 1,000 samples? Run: python
perf/utilisation.py

On a virtual clock, with the stand-ins of tests/support/simulated.py: *queue* for vLLM,
*brief_queue* for vLLM that answers one word, and *batches* for transformers. One thread writes to
the store.
"""

import sys
import tempfile
from pathlib import Path

from _report import ROOT

sys.path.insert(0, str(ROOT))

from tests.support.simulated import Batches, BriefQueue, Pen, Queue, simulate

for model in (Queue(), BriefQueue(), Batches()):
    with tempfile.TemporaryDirectory() as folder:
        print(model.provider, simulate(model, Pen(), 1000, 5, Path(folder)))

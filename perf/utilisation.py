"""How busy are a model and a generator in chains of five iterations over 1,000 samples? On a virtual clock.

Run: python perf/utilisation.py  (a minute of CPU; no GPU)

*queue* has the timing of an engine as vLLM, with 64 slots in a process of its own: a token takes 20 ms, and 0.1 ms for
each busy slot. *batches* has that of transformers: a batch of 16 takes as long as its longest answer. Answers have 20
to 1,000 tokens. A drawing takes 0.05 seconds of the other device, or of the same one; encoding and storing take 0.1
seconds each. Gaps, in which a device had nothing to do, are given as [start, seconds].
"""

import sys
import tempfile
from pathlib import Path

from _report import ROOT, write

sys.path.insert(0, str(ROOT))

from tests.support.simulated import Batches, Pen, Queue, simulate


def main() -> None:
    results = {}
    for model in (Queue(), Batches()):
        with tempfile.TemporaryDirectory(prefix="driftledger-") as folder:
            results[model.provider] = simulate(model, Pen(), 1000, 5, Path(folder))
    write("utilisation", results, libraries=())


if __name__ == "__main__":
    main()

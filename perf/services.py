"""How long do chains take whose model and generator are services that answer after a second?

Run: python perf/services.py  (a minute)

A local server, in this process, takes a second for every answer. ``driftledger collect`` asks it for at most 32 calls
of the model and 32 of the generator at a time. Ideally one half of the samples is being described while the other is
being drawn, so that no place is ever empty; the ratio to that ideal includes the start of the command.
"""

import math
import sys
import tempfile
from pathlib import Path

from _report import ROOT, quiet, took, write

sys.path.insert(0, str(ROOT))

from lab.kills import ITERATIONS, Project, Service

SAMPLES, WIDTH, LATENCY = 96, 32, 1.0


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="driftledger-") as folder:
        service = Service(LATENCY)
        project = Project(Path(folder) / "project", ROOT, service, images=SAMPLES, at_once=WIDTH)
        environment = quiet(project.root)
        took(("driftledger", "stage", "resolve"), project.root, environment)
        took(("driftledger", "stage", "data"), project.root, environment)
        spent = took(("driftledger", "collect"), project.root, environment)
    calls = SAMPLES * ITERATIONS * 2
    ideal = (math.ceil(SAMPLES / WIDTH) * ITERATIONS + 1) * LATENCY
    results = {
        "calls": calls,
        "seconds": round(spent.seconds, 1),
        "ratio_to_ideal": round(spent.seconds / ideal, 2),
        "cpu_ms_per_call": round(1000 * spent.cpu_seconds / calls, 1),
    }
    write("services", results, libraries=("openai",))


if __name__ == "__main__":
    main()

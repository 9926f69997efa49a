"""The same numbers on every machine: tried on one, by having numpy and OpenBLAS take it for an older one."""

import json
import subprocess
import sys

import pytest
from numpy._core._multiarray_umath import __cpu_features__

from tests.support.machines import DISPATCHED, MACHINES, blas, environment, without

METRICS = """
import json
import numpy as np
from driftledger.metrics.consistency import support
from driftledger.metrics.drift import cosine_similarity, gc_at
from driftledger.metrics.exact import exact_mean, round_significant
from driftledger.metrics.frechet import frechet_distance
from driftledger.metrics.intervals.means import mean_interval, mean_of_category_means

raw = np.random.PCG64(1).random_raw((4, 48, 768))
start, *steps = ((raw >> np.uint64(40)).astype(np.float32) / np.float32(2**24))
steps = [start + np.float32(t) * step for t, step in enumerate(steps, 1)]
similarities = np.stack([cosine_similarity(start, step) for step in steps], axis=1)
gc = gc_at(similarities, 3)
categories = ["a"] * 8 + ["b"] * 40
interval = mean_interval(gc - 0.9, categories, 0.95).interval
distances = [frechet_distance(start, steps[0]), frechet_distance(start[:, :40], steps[1][:30, :40])]
zero = frechet_distance(start, start)
singular = np.linalg.svd(start.astype(np.float64) @ steps[0].T, compute_uv=False)

print(json.dumps({
    "cosine": [value.hex() for value in similarities.ravel().tolist()],
    "gc": [value.hex() for value in gc.tolist()],
    "mean": exact_mean(gc).hex(),
    "category means": mean_of_category_means(gc, categories).hex(),
    "interval": [value.hex() for value in interval],
    "support": [value.hex() for value in support(start[:6], [steps[0][:9], steps[1][:5]]).tolist()],
    "frechet": [round_significant(value, 6).hex() for value in [*distances, zero]],
    "unprotected dot": [float(np.dot(a, b)).hex() for a, b in zip(start, steps[0])],
    "unprotected exp": [float(value).hex() for value in np.exp(start.ravel().astype(np.float64))],
    "unprotected svd": [value.hex() for value in singular.tolist()],
}))
"""


def computed_on(machine):
    command = [sys.executable, "-c", METRICS]
    done = subprocess.run(command, env=environment(machine), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def here():
    return computed_on({})


@pytest.mark.slow
@pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES.keys())
def test_another_machine_gives_the_same_bits(machine, here):
    there = computed_on(machine)
    protected = {name for name in here if not name.startswith("unprotected")}
    assert {name: there[name] for name in protected} == {name: here[name] for name in protected}


@pytest.mark.slow
@pytest.mark.skipif(not __cpu_features__.get("X86_V3"), reason="this CPU cannot pose as an older one")
def test_emulation_does_change_bits_that_nothing_protects(here):
    there = computed_on(without(*DISPATCHED) | blas("Nehalem", 1))
    wide = __cpu_features__.get("AVX512_SKX") or __cpu_features__.get("X86_V4")
    of_newer = ["unprotected exp"] if wide else []  # all older machines have the same exp of numpy's
    for name in ("unprotected dot", "unprotected svd", *of_newer):
        assert there[name] != here[name]

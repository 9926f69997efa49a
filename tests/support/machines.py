"""Other processors, emulated on this one: numpy and OpenBLAS are made to take it for an older machine."""

import os
from collections.abc import Mapping

from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

DISPATCHED = [name for name in __cpu_dispatch__ if __cpu_features__[name]]
"""Features beyond numpy's baseline that this CPU has, in ascending order; a baseline one cannot be disabled."""

CORES = {"Prescott": "SSE3", "Nehalem": "SSE42", "Haswell": "X86_V3", "SkylakeX": "X86_V4"}
"""OpenBLAS kernels, and what a CPU must have to run them."""


def without(*features: str) -> dict[str, str]:
    return {"NPY_DISABLE_CPU_FEATURES": " ".join(features)} if features else {}


def blas(core: str, threads: int) -> dict[str, str]:
    return {"OPENBLAS_CORETYPE": core, "OPENBLAS_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}


NUMPY_LEVELS = {
    f"numpy without {DISPATCHED[first]} and later": without(*DISPATCHED[first:]) for first in range(len(DISPATCHED))
}
BLAS_KERNELS = {
    f"OpenBLAS for {core} with {threads} thread(s)": blas(core, threads)
    for core, needed in CORES.items()
    for threads in (1, 2)
    if __cpu_features__.get(needed)
}


def paired(kernels: Mapping[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """So few machines that each of numpy's levels and each of these kernels is in one, older ones together.

    Another byte on a machine is found, whichever of the two it comes from.
    """
    parts = [list(some.items()) for some in (NUMPY_LEVELS, kernels) if some]
    count = max(map(len, parts), default=0)
    machines = [[part[at * len(part) // count] for part in parts] for at in range(count)]
    return {
        ", ".join(name for name, _ in machine): {k: v for _, env in machine for k, v in env.items()}
        for machine in machines
    }


def environment(machine: dict[str, str]) -> dict[str, str]:
    """This process's environment on another machine."""
    emulation = ("OPENBLAS_", "NPY_", "OMP_", "MKL_")
    return {key: value for key, value in os.environ.items() if not key.startswith(emulation)} | machine

"""Seeds that depend on what a call is for, never on when it is made."""

from driftledger.core.canonical import sha256_of


def derive_seed(run_seed: int, dataset: str, sample: str, t: int, repeat: int = 0) -> int:
    """The seed of one call, in 0 … 2³²−1; batching, concurrency and resuming cannot change it."""
    return int(sha256_of([run_seed, dataset, sample, t, repeat])[:8], 16)

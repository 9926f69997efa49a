"""A Ray cluster on this machine whose nodes can be lost."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil

from driftledger.collect.ray import import_ray

MEMORY = 2**27
"""Bytes of each node's object store."""


@contextmanager
def two_nodes() -> Iterator[Any]:
    """A head that runs nothing, and two nodes of one CPU each; all of its processes are gone in the
    end."""
    # Else a process that has started a cluster of its own has a token that this one lacks.
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    import_ray(local=True)
    from ray.cluster_utils import Cluster

    cluster: Any = Cluster()
    cluster.add_node(num_cpus=0, include_dashboard=False, object_store_memory=MEMORY)
    for _ in range(2):
        add_node(cluster)
    try:
        yield cluster
    finally:
        cluster.shutdown()


def add_node(cluster: Any) -> None:
    cluster.add_node(num_cpus=1, object_store_memory=MEMORY)


def end_node(cluster: Any) -> None:
    """Lose a node that is not the head, and every process on it, as when a machine is switched
    off."""
    node = next(iter(cluster.worker_nodes))
    raylet = psutil.Process(node.all_processes["raylet"][0].process.pid)
    on_it = raylet.children(recursive=True)
    cluster.remove_node(node, allow_graceful=False)
    # actors go by themselves, and Ray's own helpers later
    for process in psutil.wait_procs(on_it, timeout=3)[1]:
        process.kill()

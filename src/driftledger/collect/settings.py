"""Settings of where calls to local components are made; not part of any fingerprint."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from driftledger.core.strict import Strict

Amount = Annotated[float, Field(ge=0, le=4096)]
ResourceName = Annotated[str, StringConstraints(min_length=1, max_length=100)]

Place = Literal["here", "ray"]


class CollectSettings(Strict):
    """The section ``collect``."""

    where: Place = "here"
    """Not called ``on``, since YAML reads that word as a truth value."""
    address: str | None = Field(default=None, min_length=1, max_length=300)
    """Address of a Ray cluster: ``auto``, ``HOST:PORT`` or ``ray://…``; null starts one here."""

    @model_validator(mode="after")
    def _address_is_of_a_cluster(self) -> "CollectSettings":
        if self.address is not None and self.where != "ray":
            cluster = f"address is {self.address!r}, which is of a Ray cluster"
            raise ValueError(f"{cluster}; set where to 'ray', or address to null")
        return self


class WorkerSettings(Strict):
    """``workers`` of an entry: the actors that Ray starts for a component, and their needs."""

    replicas: int | None = Field(default=None, ge=1, le=4096)
    """None: one per device that the entry names."""
    num_gpus: Amount | None = None
    """None: one if the entry's device is CUDA, else none."""
    num_cpus: Amount = 1.0
    resources: dict[ResourceName, Amount] = Field(default_factory=dict)
    """Other resources that the cluster's nodes are started with."""

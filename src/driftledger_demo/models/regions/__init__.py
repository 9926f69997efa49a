"""A describer made of classical vision: ``see`` finds regions, ``say`` puts them into words."""

from driftledger_demo.models.regions.model import Regions

__all__ = ["Regions"]

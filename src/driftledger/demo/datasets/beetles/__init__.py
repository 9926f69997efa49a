"""Drawn beetles as a labelled dataset: ``species`` tells them apart, ``drawing`` draws one, ``provider`` serves all."""

from driftledger.demo.datasets.beetles.provider import Beetles

__all__ = ["Beetles"]

"""Runs component calls: which ones at once, which from the store, and what becomes of the results.

A protocol is written once, as a generator function that yields a call and is sent its result, for one sample and in
the order in which the paper tells it (:data:`~driftledger.execution.steps.Steps`). How the steps of many samples are
interleaved is decided in :mod:`~driftledger.execution.run`.
"""

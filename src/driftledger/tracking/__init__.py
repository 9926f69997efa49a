"""Show runs in MLflow: what a run has there, the way into a store, and one push to it.

MLflow is a view that can be deleted and made again. The room may import reports, ledger and all
below.
"""

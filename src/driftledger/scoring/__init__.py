"""Scores: metrics, values of samples, and numbers. May import
``metrics``, ``components`` and ``core``; benchmarks and all that shows scores import it."""

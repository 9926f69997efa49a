"""What a score is made of: metrics, values, and the numbers that they become. May import
``metrics``, ``components`` and ``core``; benchmarks and all that shows scores import it."""

"""Nothing here is a test: pytest, which looks for doctests, would import libraries that may not be
installed."""

collect_ignore_glob = ["*.py"]

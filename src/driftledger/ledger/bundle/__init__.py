"""One file with everything behind a run, for who has no checkout."""

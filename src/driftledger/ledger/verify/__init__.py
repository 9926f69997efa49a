"""Check every file, lock entry and link behind a score."""

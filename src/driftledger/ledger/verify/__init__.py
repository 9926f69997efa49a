"""Check every file, lock entry, link and number behind a score."""

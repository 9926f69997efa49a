"""Check whether every file, lock entry and link behind a score is the one that the ledger names."""

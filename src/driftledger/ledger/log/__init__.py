"""The append-only, hash-chained ``ledger.jsonl``."""

"""Bytes by their hashes: in DVC's cache, the workspace, or Git's history."""

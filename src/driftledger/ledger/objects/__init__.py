"""Bytes that evidence names: DVC's cache and remote, files, Git."""

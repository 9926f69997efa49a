"""Providers of samples: one file each, and the one way in which all are checked and stored."""

"""Providers of samples, one file each."""

"""Encoders without weights."""

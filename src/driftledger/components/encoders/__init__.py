"""Encoders with published weights."""

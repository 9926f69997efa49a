"""Tests of driftledger.tracking; a package, so that they can share ``stores``, ``contents`` and ``steps``."""

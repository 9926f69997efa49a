"""Models, generators, encoders and judges, each with a fingerprint.

The real ones are among them. It imports ``data`` and ``core``.
"""

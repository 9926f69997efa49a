"""Models, generators, encoders and judges: frozen specifications with a fingerprint.

The real ones are among them. It imports ``data`` and ``core``.
"""

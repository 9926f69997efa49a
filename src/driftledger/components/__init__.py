"""Models, generators, encoders and judges: frozen specifications with a fingerprint, and the real
ones among them."""

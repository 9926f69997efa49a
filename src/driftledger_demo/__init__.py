"""Components and data without weights, network or GPU, deterministic to the bit."""

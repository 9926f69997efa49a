"""How good the checkpoints of ``trio/`` are, measured where the truth is known."""

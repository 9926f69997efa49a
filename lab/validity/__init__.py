"""Does each metric rank a better model higher? The stages of one model's training know the answer:
later is better.

What the checkpoints of ``lab/checkpoints/`` can do where the truth is known is measured here too.
"""

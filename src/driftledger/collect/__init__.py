"""Component calls: the loop that makes missing ones, batches, the store of finished calls.

It imports ``components``, ``data`` and ``core``, and knows no benchmark.
"""

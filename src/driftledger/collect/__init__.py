"""Component calls: the loop that makes missing ones, and the store.

It imports ``components``, ``data`` and ``core``, and knows no benchmark.
"""

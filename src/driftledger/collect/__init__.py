"""Component calls: make missing ones, store finished ones.

It imports ``components``, ``data`` and ``core``, and knows no benchmark.
"""

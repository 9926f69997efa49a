"""Runs in the formats of other tools. Nothing here is measured or decided, and no benchmark is known by its name."""

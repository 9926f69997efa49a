"""The generator that paints a description's words."""

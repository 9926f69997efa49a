"""Commands of the terminal, a module each, imported when used.

They may import every room; no room but ``cli`` imports them.
"""

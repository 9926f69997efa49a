"""TRAC: do descriptions tell classes apart?."""

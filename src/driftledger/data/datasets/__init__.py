"""Where samples come from: one file per provider, and the one way in which all are checked and
stored."""

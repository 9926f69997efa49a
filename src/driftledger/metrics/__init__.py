"""Pure functions on arrays and text; no files, no models."""

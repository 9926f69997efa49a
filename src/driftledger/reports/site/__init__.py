"""The report as static pages."""

"""The report as static pages, which load nothing from elsewhere."""

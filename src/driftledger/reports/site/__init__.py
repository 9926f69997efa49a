"""The report as pages: static, opened from a folder or a server, loading nothing from elsewhere."""

"""The report as pages: static, the same bytes every time, opened from a folder or a server, asking nobody anything."""

"""Questions about images: their sources and rules."""

"""Questions about images: sources and checks."""

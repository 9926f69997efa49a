"""Questions about images: where they come from, and what makes a set of them whole."""

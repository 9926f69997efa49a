"""Self-retrieval: is an image found by its description, among all images?."""

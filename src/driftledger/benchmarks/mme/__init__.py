"""MME: yes or no, two questions about each image."""

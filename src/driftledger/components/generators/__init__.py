"""Text-to-image services and pipelines."""

"""What a score is made of: metrics, values, numbers."""

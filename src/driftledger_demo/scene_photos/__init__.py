"""Scenes as somebody might have photographed them, and asked about in words of their own."""

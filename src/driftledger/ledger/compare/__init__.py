"""Two runs side by side: what may be compared, and which is better on the samples that both have."""

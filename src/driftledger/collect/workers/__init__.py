"""Where batches of components on this machine, or on others, are made."""

"""What benchmarks share; benchmarks of others derive from it, too."""

"""What benchmarks share: others' benchmarks derive from these classes, too."""

"""MM-Vet: open questions, graded by a pinned judge."""

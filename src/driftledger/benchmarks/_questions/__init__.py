"""Parts of the benchmarks that ask questions about images: the same questions are put in the same
way, whatever the answers are read as; each benchmark reads and scores them in its own folder."""

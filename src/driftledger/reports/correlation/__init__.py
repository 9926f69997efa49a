"""Our metrics against each other and against other people's leaderboards."""

PAIRS, MATRIX, TABLES, PICTURE = "correlation.csv", "correlation_matrix.csv", "correlation.md", "correlation.svg"
"""What the stage writes into ``reports/``."""

FILES = (TABLES, PICTURE, PAIRS, MATRIX)

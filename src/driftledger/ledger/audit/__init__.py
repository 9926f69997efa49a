"""Where a score comes from, and what a version touched: questions to the working tree, Git history and MLflow."""

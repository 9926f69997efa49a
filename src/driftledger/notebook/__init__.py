"""driftledger from Python: runs, scores, chains and a first look, for notebooks. What is shown is escaped."""

"""driftledger from Python: runs, scores, chains and a first look, for notebooks.

It reads what stages have stored and hands it out as pandas has it; what is shown is text and images of others, so that
all of it is escaped.
"""

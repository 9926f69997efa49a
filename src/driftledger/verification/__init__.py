"""Is a score what its records give, and a record what its components give? Both are made again here and compared.

Reading the ledger needs no component, and :mod:`driftledger.ledger` imports none. This needs the very versions that
were at work, and says what it cannot check without them.
"""

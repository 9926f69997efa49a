"""The net under a change of everything inside: what driftledger gives, held without one inner name
of the package.

Commands, files, MLflow's client and the public functions are all that is used here, so that any
room can be replaced under these tests. What a deliberate change moves stands in one place each: the
tables in ``places.py``, and the files in ``golden/``, which ``python -m tests.acceptance.renew
CHECKOUT`` writes again from an evaluated checkout; but what 1.x keeps is only added to, by
``python -m tests.acceptance.stability``.

``pytest tests/acceptance`` evaluates the default project once, in some minutes;
``DRIFTLEDGER_EVALUATED`` names a checkout that holds its results already. With ``--confcutdir
tests/acceptance`` nothing else in ``tests/`` is loaded.
"""

"""Would a test notice? Small faults are put into the code one by one, and the tests nearest to it are run.

    python -m lab.mutations --count 200 --seed 1 --jobs 2
    python -m lab.mutations --count 200 --seed 1 --reach 200 --marks "not neural"     # the survivors, asked again
    python -m lab.mutations --count 20 --only src/driftledger/metrics/drift.py

**What is changed.** ``in`` and ``not in``, comparisons, ``+ - * /``, ``and`` and ``or``, ``not`` and signs taken away,
numbers and truth values, the value of a ``return``, ``sorted``, ``min`` and ``max``, defaults of arguments, the first
and the last index: :mod:`lab.mutations.operators`. Types, decorators, messages in f-strings and what follows ``raise``
are left alone, and so is ``/`` where it joins paths.

**Which.** All mutations of the rooms in question are put in an order by a hash of the seed and of their own text, and
the first ``--count`` are taken: a change elsewhere in the code leaves the choice nearly as it was.

**Where.** In clones of this checkout, uncommitted changes included, below the folder for temporary files; one per job.
The checkout is never touched, and the clones are removed. A fault runs with the rights of whoever runs this: tests that
delete files or open sockets do so with a fault in them.

**Which tests.** Those whose imports lead to the changed file, the nearest first: :mod:`lab.mutations.nearest`. As many
of them as fit in ``--budget`` seconds of what they took before, of at most ``--reach`` files, without those that
``--marks`` leaves out.

**What counts.** Before anything is changed, the tests are run with a line without meaning in every file in question: a
test that fails then is left out, since it would fail under any fault. After that a mutation is *killed* if a test
fails, *timed out* if the tests take five times as much of the processor as they took time before, and more than
``--limit`` seconds, or else has *survived*. Timed out counts as noticed.

**Again.** Each outcome is a line of ``results.jsonl`` in ``--out`` as soon as it is known. Started again, what was
killed in a file that is still the same is not tried again, and neither is what survived the same tests.

``report.json`` and ``report.txt`` in ``--out`` have the figures, and a diff of every survivor. The exit code is 0
whatever they say.
"""

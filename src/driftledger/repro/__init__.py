"""``dvc repro`` as ``driftledger run`` does it: in one process, to the same bytes.

DVC starts Python for each stage, parses ``params.yaml`` seven times for each, and reads and writes all of a lock for
each stage in it. Here stages of ours are forked from a process that has imported what they need, a file of parameters
is parsed once, and locks are written together. Beside it, where there is a second core, embedded components are asked
what later stages will ask. DVC decides what is run, in which order, and when that is done.
"""

"""What is raised over files that were not written by this code, or not as they are now.

Each check tells of it, and goes on with what else there is to check.
"""

from driftledger.core.errors import DriftledgerError

UNFIT = (DriftledgerError, ValueError, LookupError, OSError, SyntaxError, NotImplementedError)
"""The last two are Pillow's words for a PNG with something else between its chunks, and for a pixel format that it does
not read."""

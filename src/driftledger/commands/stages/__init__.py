"""One function per DVC stage: read, call the part that does the work, write whole files.

Each takes names, as ``dvc.yaml`` passes them, and a ``Project`` that finds everything else.
A stage's module is imported when the stage is asked for: a run starts a hundred of them, each in its own process.
"""

from importlib import import_module
from typing import Any

_MODULES = {
    "sources": ("resolve", "dataset", "question_set"),
    "genception": ("chain", "drift"),
    "distinctiveness": ("describe", "trac"),
    "faithfulness": ("redraw", "fidelity"),
    "questions": ("answer", "grade", "score"),
    "views": ("report", "track"),
}


def __getattr__(name: str) -> Any:
    for module, stages in _MODULES.items():
        if name in stages:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(name)

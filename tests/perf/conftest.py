import sys
from importlib import import_module
from pathlib import Path

import pytest

PERF = Path(__file__).parents[2] / "perf"


@pytest.fixture
def perf(monkeypatch):
    """Imports a module of ``perf/``, which is no package."""
    monkeypatch.syspath_prepend(str(PERF))
    before = set(sys.modules)
    yield import_module
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(PERF)):
            del sys.modules[name]

"""What a component is in a process of its own: its fingerprint, and what it makes of the same calls.

Run as a program it reads from standard input what :func:`elsewhere` writes there.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from driftledger.components.base import Component
from driftledger.components.contract.findings import NotApplicableError
from driftledger.components.contract.tasks import tasks
from driftledger.core.errors import ConfigError
from driftledger.core.places import import_place, place_of

_HASH_SEED = "271828"
"""Of ``hash()`` in the other process: what depends on it, such as the order of a set of texts, comes out otherwise."""


class Elsewhere(NamedTuple):
    """What another process says."""

    fingerprint: str
    results: dict[str, list[Any]]
    """Task → a result per item, as JSON."""


def elsewhere(component: Component) -> Elsewhere:
    """Make the component, and its ordinary calls, in a fresh process.

    Raises:
        NotApplicableError: its class is not found by a name.
        RuntimeError: the process ends with an error; the message is its last line.
    """
    cls = type(component)
    place = place_of(cls)
    try:
        found = import_place(place)
    except ConfigError:
        found = None
    if found is not cls or cls.__module__ == "__main__":
        raise NotApplicableError(f"no other process finds {place}, which is made in a function or a notebook")
    asked = {
        "place": place,
        "settings": component.model_dump(mode="json"),
        "path": [*map(os.path.abspath, sys.path)],
    }
    done = subprocess.run(
        [sys.executable, "-m", __name__],
        input=json.dumps(asked),
        env=os.environ | {"PYTHONHASHSEED": _HASH_SEED, "PYTHONPATH": os.pathsep.join(asked["path"])},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[-1])
    return Elsewhere(**json.loads(done.stdout.splitlines()[-1]))


def _answer(asked: dict[str, Any]) -> Elsewhere:
    sys.path[:] = asked["path"]
    component: Component = import_place(asked["place"]).model_validate(asked["settings"])
    with TemporaryDirectory() as folder:
        results = {
            task.name: [task.plain(each) for each in task.make(component, task.items)]
            for task in tasks(component, Path(folder))
        }
    return Elsewhere(component.fingerprint, results)


if __name__ == "__main__":
    print("\n" + json.dumps(_answer(json.load(sys.stdin))._asdict()))

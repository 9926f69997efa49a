"""Watch what a push writes, and end the process at a chosen step. For use in a child process only."""

import os
from pathlib import Path
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Engine

KILLED = 77


class Steps:
    """Counts steps; at number ``kill_at``, the process ends there and then, as after ``kill -9``."""

    def __init__(self, kill_at: int | None = None) -> None:
        self.count = 0
        self._kill_at = kill_at

    def step(self) -> None:
        self.count += 1
        if self.count == self._kill_at:
            os._exit(KILLED)


def watch_writes(kill_at: int | None = None) -> Steps:
    """A step before each commit that writes, before an upload, and with one file half uploaded."""
    from mlflow.store.artifact.local_artifact_repo import LocalArtifactRepository

    steps = Steps(kill_at)
    dirty: set[int] = set()

    def executed(connection: Any, cursor: Any, statement: str, *_: Any) -> None:
        if statement.lstrip().split()[0] in ("INSERT", "UPDATE", "DELETE"):
            dirty.add(id(connection.connection.dbapi_connection))

    def commits(connection: Any) -> None:
        if id(connection.connection.dbapi_connection) in dirty:
            steps.step()
            dirty.clear()

    event.listen(Engine, "before_cursor_execute", executed)
    event.listen(Engine, "commit", commits)
    repository: Any = LocalArtifactRepository  # untyped
    upload = repository.log_artifacts

    def half_then_whole(self: Any, local_dir: str, artifact_path: str | None = None) -> None:
        steps.step()
        first = min(file for file in Path(local_dir).rglob("*") if file.is_file())
        torn = Path(self.artifact_dir, first.relative_to(local_dir))
        torn.parent.mkdir(parents=True, exist_ok=True)
        torn.write_bytes(first.read_bytes()[:1])
        steps.step()
        upload(self, local_dir, artifact_path)

    repository.log_artifacts = half_then_whole
    return steps


def watch_statements(kill_at: int) -> None:
    """A step before every statement that a database is sent."""
    steps = Steps(kill_at)
    event.listen(Engine, "before_cursor_execute", lambda *_: steps.step())

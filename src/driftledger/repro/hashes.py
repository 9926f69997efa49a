"""Hashes of files and folders, looked up once as long as nothing runs.

DVC walks a folder for the stage that makes it and again for each that depends on it. Of stages that turn out to be up
to date one after the other, nothing has changed between two looks. What is written into a lock is never from here: DVC
computes it anew after each stage that runs.
"""

from collections.abc import Callable
from copy import copy
from functools import wraps
from typing import Any


class Hashes:
    """What was found at paths of this machine, until anything runs or is fetched."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str | None], tuple[Any, Any]] = {}

    def forget(self) -> None:
        """Something may be otherwise now."""
        self._found.clear()

    def remembering(self, look: Callable[[Any], tuple[Any, Any]]) -> Callable[[Any], tuple[Any, Any]]:
        """``Output._get_hash_meta``, which looks once; what it returns is the caller's own."""

        def look_once(output: Any) -> tuple[Any, Any]:
            if output.fs.protocol != "local":
                return look(output)
            place = output.fs_path, output.hash_name
            if place not in self._found:
                self._found[place] = look(output)
            meta, hash_info = self._found[place]
            return copy(meta), copy(hash_info)

        return look_once

    def forgetting(self, change: Callable[..., Any]) -> Callable[..., Any]:
        """A function that may change files, before and after which everything is forgotten."""

        @wraps(change)
        def change_and_forget(*arguments: Any, **more: Any) -> Any:
            self.forget()
            try:
                return change(*arguments, **more)
            finally:
                self.forget()

        return change_and_forget

"""What a setting names and this machine does not have.

Whoever reads, scores or shows what others have made needs neither their images nor their weights: that these are not
here is told apart from every other mistake in a setting.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from driftledger.core.errors import ConfigError


class MissingSourceError(ConfigError):
    """A folder, file or repository that a setting names is not here, and may be elsewhere."""

    def __init__(self, sentence: str, place: str) -> None:
        super().__init__(sentence)
        self.place = place
        """What the setting names."""


def nothing_at(path: Path) -> bool:
    """Whether there is nothing of that name, as far as can be told; a link that leads nowhere is nothing."""
    try:
        return not path.expanduser().exists()
    except (OSError, RuntimeError, ValueError):
        return False


@contextmanager
def may_be_missing(path: Path) -> Iterator[None]:
    """Let an error about what is at ``path`` be a :class:`MissingSourceError` where nothing is."""
    try:
        yield
    except ConfigError as error:
        if nothing_at(path):
            raise MissingSourceError(str(error), str(path)) from None
        raise

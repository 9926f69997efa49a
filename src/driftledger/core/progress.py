"""A progress bar with rate and time left, and what each component is at; a line every ten seconds where nobody can
watch a bar."""

import sys
from dataclasses import dataclass
from typing import Any, TextIO

from tqdm import tqdm


class _WholeLines:
    """A stream on which what tqdm draws over itself becomes one line after the other."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        if line := text.strip():
            self._stream.write(f"{line}\n")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@dataclass
class Share:
    """What one component has to do with it."""

    name: str
    expected: int = 0
    """Calls, at the most."""
    done: int = 0
    """Calls made, and those that were stored already."""
    made: int = 0
    batches: int = 0
    replicas: int | None = None
    cost: float | None = None

    def text(self, seconds: float) -> str:
        """A line for people, so many seconds after the beginning.

        >>> Share("regions", expected=40, done=12, made=10, batches=3, replicas=2).text(5.0)
        'regions: 12/40 in 3 batches, 2.0 calls/s on 2 replicas, 0:14 left'
        >>> Share("openai gpt", expected=30, done=10, made=10, cost=0.5).text(5.0)
        'openai gpt: 10/30, 2.0 calls/s, 0:10 left, cost 0.50 and about 1.00 to come'
        """
        of_all = f"/{self.expected}" if self.expected else ""
        words = [
            f"{self.name}: {self.done}{of_all}"
            + (f" in {_many(self.batches, 'batch', 'batches')}" if self.batches else "")
        ]
        left = max(0, self.expected - self.done)
        if self.made and seconds > 0:
            where = f" on {_many(self.replicas, 'replica', 'replicas')}" if self.replicas is not None else ""
            words.append(f"{self.made / seconds:.1f} calls/s{where}")
            words += [f"{clock(left * seconds / self.made)} left"] if left else []
            if self.cost is not None:
                to_come = f" and about {left * self.cost / self.made:.2f} to come" if left else ""
                words.append(f"cost {self.cost:.2f}{to_come}")
        return ", ".join(words)


def _many(count: int, one: str, more: str) -> str:
    return f"{count} {one if count == 1 else more}"


def clock(seconds: float) -> str:
    """Minutes and seconds, and hours where there are some.

    >>> clock(130), clock(3661)
    ('2:10', '1:01:01')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Progress(tqdm):  # type: ignore[type-arg]  # tqdm is generic in its stubs only
    """tqdm over component calls; nothing for no calls. Piped into a file or a log, it prints whole lines and
    few of them."""

    def __init__(self, description: str, total: int, unit: str = "call") -> None:
        watched = sys.stderr.isatty()
        self._shares: dict[str, Share] = {}
        self._lines: dict[str, Any] | None = {} if watched and total else None  # a bar of each share's own
        super().__init__(
            desc=description,
            total=total,
            unit=unit,
            file=sys.stderr if watched else _WholeLines(sys.stderr),
            dynamic_ncols=watched,
            mininterval=0.1 if watched else 10.0,
            maxinterval=10.0,
            ascii=not watched,
            disable=not total,
        )

    def skip(self, calls: int) -> None:
        """Take calls off the total that will not be made after all."""
        self.total = (self.total or 0) - calls

    def share(self, name: str) -> Share:
        """What a component has to do with it, to be counted up."""
        return self._shares.setdefault(name, Share(name))

    @property
    def format_dict(self) -> dict[str, Any]:
        """What a line is made of."""
        found = dict(super().format_dict)
        if self._lines is None:
            found["postfix"] = "; ".join(share.text(found["elapsed"]) for share in self._shares.values()) or None
        return found

    def display(self, msg: str | None = None, pos: int | None = None) -> None:
        """Draw the bar, and a line below it for each component."""
        super().display(msg, pos)
        if self._lines is not None:
            elapsed = super().format_dict["elapsed"]
            for name, share in self._shares.items():
                if name not in self._lines:
                    self._lines[name] = tqdm(bar_format="{desc}", file=sys.stderr, dynamic_ncols=True)
                self._lines[name].set_description_str(share.text(elapsed))

    def close(self) -> None:
        """End the bar and the lines below it, which stay."""
        super().close()
        lines, self._lines = self._lines, None
        for line in (lines or {}).values():
            line.close()

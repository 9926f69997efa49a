"""One way to read YAML: safely, within bounds, and in C where PyYAML was built with it, since a lock has thousands of
lines."""

from typing import Any

import yaml

from driftledger.core.limits import DEEPEST, LARGEST_YAML, MOST_VALUES, TOO_DEEP

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_yaml(text: str | bytes) -> Any:
    """What a text holds.

    Raises:
        yaml.YAMLError: it is not YAML, or has more bytes, levels or values than :mod:`driftledger.core.limits` allows.
        ValueError: it holds a value that cannot be one, such as the 30th of February.
    """
    _check_size(text)
    return yaml.load(text, LOADER)


def _check_size(text: str | bytes) -> None:
    """Refuse what would take long, or crash the parser, before anything is built from it.

    An alias is a few bytes, and stands for all that its anchor holds, other aliases among that.
    """
    if len(text) > LARGEST_YAML:
        raise _too_much(f"it has {len(text):,} characters, and up to {LARGEST_YAML:,} are read")
    sizes, open_, values = dict[str, int](), list[tuple[str | None, int]](), 0
    for event in yaml.parse(text, LOADER):
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, before = open_.pop()
            if anchor is not None:
                sizes[anchor] = values - before
            continue
        if not isinstance(event, yaml.NodeEvent):
            continue
        if isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _ in open_):
                raise _too_much(f"the alias *{event.anchor:.80} stands in what it repeats", event)
            values += sizes.get(str(event.anchor), 1)
        elif isinstance(event, yaml.CollectionStartEvent):
            open_.append((event.anchor, values))
        values += 1
        if len(open_) > DEEPEST:
            raise _too_much(TOO_DEEP, event)
        if values > MOST_VALUES:
            raise _too_much(f"it holds more than {MOST_VALUES:,} values, those that aliases repeat among them", event)


def _too_much(what: str, event: Any = None) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=what, problem_mark=event and event.start_mark)

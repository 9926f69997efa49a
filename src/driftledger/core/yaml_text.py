"""One way to read YAML: safely, and in C where PyYAML was built with it, since a lock has thousands of lines."""

from typing import Any

import yaml

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def load_yaml(text: str | bytes) -> Any:
    """What a text holds.

    Raises:
        yaml.YAMLError: it is not YAML.
        ValueError: it holds a value that cannot be one, such as the 30th of February.
    """
    return yaml.load(text, LOADER)

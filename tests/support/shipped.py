"""The results that this repository ships, for tests that say something about them.

Who has evaluated something else has results of their own in their places, about which these tests
have nothing to say: where ``params.yaml`` is not the default, they are skipped.
"""

import yaml

from tests.conftest import REPOSITORY
from tests.support.params import default_params

OTHERS = "other results than the repository's own stand here"


def is_default() -> bool:
    """Whether ``params.yaml`` is what tests start from, but for what MLflow shows, on which no
    score depends."""
    params = yaml.safe_load((REPOSITORY / "params.yaml").read_text(encoding="utf-8"))
    return {**params, "tracking": None} == {**default_params(), "tracking": None}

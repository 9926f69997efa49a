"""The commands that train the trio."""

import subprocess
import sys

from tests.conftest import REPOSITORY


def test_a_mistake_is_one_sentence_and_exit_code_2() -> None:
    command = [sys.executable, "-m", "lab.trio", "train", "looker", "panter"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        "part 'panter' is unknown; did you mean 'painter'? valid: describer, looker, painter, pair"
    ]

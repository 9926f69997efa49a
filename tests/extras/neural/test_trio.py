"""The commands that train the trio."""

from tests.lab.test_commands import asked


def test_a_mistake_is_one_sentence_and_exit_code_2() -> None:
    done = asked("lab.trio", "train", "looker", "panter")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines() == [
        "part 'panter' is unknown; did you mean 'painter'? valid: describer, looker, painter, pair"
    ]

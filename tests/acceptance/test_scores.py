"""Every number of every score is the one in ``golden/``."""

import os
from pathlib import Path

import pytest

from tests.acceptance import records
from tests.acceptance.numbers import differences, lines_of, read_golden, shorten
from tests.acceptance.places import REPOSITORY

NEURAL = "DRIFTLEDGER_NEURAL"
KINDS = ("scores", "details")
DEFAULT = {"photos", "digits", "scenes_mm_sap", "scenes_mm_vet", "scenes_mme"}
"""The datasets and question sets of the default run; those of the neural run are others."""


def _of_default(files):
    return {
        name: lines
        for name, lines in files.items()
        if Path(name).stem.partition("-")[2] in DEFAULT
    }


def _compare(golden, now):
    assert golden, "there are no golden numbers"
    wrong = [
        each
        for name in sorted(golden)
        for each in differences(golden[name], now.get(name, {}))
    ]
    assert not wrong, shorten(wrong)


@pytest.mark.parametrize("kind", KINDS)
def test_the_default_run_gives_the_golden_numbers(evaluated, kind):
    _compare(_of_default(read_golden(kind)), _of_default(lines_of(evaluated.root)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_scores_in_git_are_the_golden_numbers(kind):
    now = {
        name: lines
        for name, lines in lines_of(REPOSITORY).items()
        if name.startswith(f"{kind}/")
    }
    golden = _of_default(read_golden(kind))
    _compare(golden, now)
    assert now.keys() == golden.keys()


@pytest.mark.skipif(
    NEURAL not in os.environ,
    reason=f"{NEURAL} does not name a checkout after 'make run-neural'",
)
@pytest.mark.parametrize("kind", ["scores", "details"])
def test_the_neural_run_gives_the_golden_numbers(kind):
    golden = {
        name: lines
        for name, lines in read_golden(kind).items()
        if name not in _of_default(read_golden(kind))
    }
    _compare(golden, lines_of(Path(os.environ[NEURAL])))


# Every record and image that the embedded components make is the one in ``golden/``.


def test_embedded_components_say_and_draw_the_same(evaluated):
    golden, now = records.read_golden(), records.digests(evaluated.root)
    assert golden, "there are no golden digests"
    wrong = [
        f"{name}: {now.get(name)}, golden {rest}"
        for name, rest in golden.items()
        if now.get(name) != rest
    ]
    assert not wrong, "\n".join(wrong)
    assert now.keys() == golden.keys()

"""``driftledger init`` with folders of checkpoints, as the README has it for names: from a few
images to a score."""

import re

import pytest

from tests.acceptance.checkout import Checkout, draw
from tests.acceptance.places import REPOSITORY

pytestmark = pytest.mark.slow

IMAGES = 3


def test_folders_of_checkpoints_become_a_model_a_generator_and_an_encoder(tmp_path):
    project = Checkout(tmp_path / "theirs", tmp_path / "state")
    for number in range(IMAGES):
        draw(project.root / "photos" / f"{number}.png", number)
    project.run("git", "init", "--quiet")
    folders = {"--model": "llava_final", "--generator": "sd_2", "--encoder": "vit"}
    given = [
        word
        for option, name in folders.items()
        for word in (option, str(REPOSITORY / "lab/checkpoints" / name))
    ]
    shown = project.driftledger("init", "--images", "photos", *given).stdout
    assert "missing" not in shown
    # of 1,024 in all
    project.params(
        lambda params: params["models"]["llava_final"].update(max_new_tokens=64)
    )
    project.params(lambda params: params["genception"].update(iterations=2))
    assert re.search(
        rf"^models\.llava_final +{IMAGES * (2 + 1)}$",
        project.driftledger("plan").stdout,
        re.M,
    )
    assert "audit llava_final/sd_2/vit:gc_at_2" in project.driftledger("run").stdout
    answer = project.driftledger("audit", "llava_final/sd_2/vit:gc_at_2").stdout
    assert re.search(r"generator +sd_2@[0-9a-f]{8}", answer), answer

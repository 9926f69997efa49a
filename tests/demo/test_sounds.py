"""The demonstration for sounds, from params.yaml to a bundle that is checked and to files that were
changed."""

import json
import sqlite3
from typing import Any

import numpy as np
import pytest

from driftledger import notebook
from driftledger.core.media import read_wav
from driftledger_demo.sounds import LogMel, Sounds, listen, read, say, synthesise
from tests.acceptance.checkout import Folder
from tests.acceptance.numbers import numbers
from tests.support.bundles import Forger, differing

RUN = "listener_fine/synthesiser/log_mel"
MODELS = ("listener_fine", "listener_coarse", "blind")


def short(params):
    """Two iterations of two sounds of each category."""
    sounds = {"provider": "synthesised", "per_category": 2, "general_category": "sound"}
    params["datasets"] = {
        "sounds": sounds,
        "sounds_labelled": sounds | {"labelled": True},
    }
    params["genception"]["iterations"] = 2


@pytest.fixture(scope="module")
def heard(tmp_path_factory):
    root = tmp_path_factory.mktemp("sounds")
    folder = Folder(root / "project", root)
    folder.root.mkdir()
    folder.git("init", "--quiet")
    folder.run("driftledger", "init", "--preset", "sound_demo")
    folder.params(short)
    folder.commit("begin")
    folder.run("driftledger", "run", "--plain")
    return folder


def test_a_run_over_sounds_is_scored_bundled_and_checked(heard):
    def score(model, benchmark):
        place = (
            f"reports/scores/{model}/{benchmark}/sounds/synthesiser/log_mel/score.json"
        )
        content: dict[str, Any] = json.loads((heard.root / place).read_text())
        return content

    fine = score("listener_fine", "genception")
    gc = {name: numbers(score(name, "genception"))["gc_at_2"] for name in MODELS}
    assert gc["listener_fine"] > 0.9 > gc["listener_coarse"] > 0.5 > gc["blind"]
    assert any("8 sounds" in number.get("why", "") for number in fine["numbers"])
    fidelity = score("listener_fine", "fidelity")
    assert {"sound_similarity", "frechet"} < numbers(fidelity).keys()
    assert "ssim" not in {number["metric"] for number in fidelity["numbers"]}
    assert (
        "all holds"
        in heard.run("driftledger", "verify", RUN, "--regenerate", "2").stdout
    )
    heard.run("driftledger", "bundle", RUN, "-o", "run.zip")
    assert (
        " 0 differ"
        in heard.run("driftledger", "check", "run.zip", "--trust-features").stdout
    )


def test_the_leaderboard_of_sounds_speaks_of_sounds(heard):
    text = (heard.root / "reports/leaderboard.md").read_text()
    assert "over 8 sounds, fewer than the encoder's" in text
    assert "images, fewer than" not in text


def test_mlflow_has_fidelity_of_sounds(heard):
    with sqlite3.connect(heard.root / "mlflow.db") as database:
        shown = {
            name
            for (name,) in database.execute("select distinct key from latest_metrics")
        }
    assert {
        "sound_similarity/sounds",
        "gc_at_2/sounds",
        "trac_accuracy/sounds_labelled",
    } < shown


def test_people_see_a_spectrogram_and_hear_each_sound(heard):
    page = next(heard.root.glob("reports/site/runs/*listener_fine*.html")).read_text()
    assert (
        page.count("<audio controls")
        == page.count('<img src="../images/')
        == 8 * 3 + 8 * 2 + 8 * 2
    )
    assert "media-src 'self'" in page
    chains = notebook.OpenedProject(heard.root, trust=True).chains("bells-0")
    assert chains._repr_html_().count('<audio controls src="data:audio/wav') == 9
    sounds = [
        path
        for path in heard.root.glob("mlartifacts/**/attachments/*")
        if path.read_bytes()[8:12] == b"WAVE"
    ]
    assert sounds


def test_one_changed_byte_of_a_sound_is_found(heard, tmp_path):
    data = next((heard.root / "data/datasets/sounds/sounds").glob("*.wav"))
    made = next(
        (heard.root / "data/records/listener_fine/genception").glob("**/2/*.wav")
    )
    for file in (data, made):
        whole = file.read_bytes()
        file.chmod(0o644)
        file.write_bytes(
            changed := whole[:5_000] + bytes([whole[5_000] ^ 1]) + whole[5_001:]
        )
        done = heard.run("driftledger", "verify", RUN, check=False)
        file.write_bytes(whole)
        assert done.returncode == 1
        assert file.name in done.stdout
    heard.run("driftledger", "bundle", RUN, "-o", tmp_path / "run.zip")
    bundle = Forger(tmp_path / "run.zip")
    name = next(name for name, data in bundle.members.items() if data == whole)
    bundle.members[name] = changed
    assert any(file.name in each for each in differing(bundle.check(tmp_path)))


def test_what_is_said_in_full_is_made_again_as_it_was():
    encoder = LogMel()
    for item in Sounds().items():
        sound = read_wav(item.read())
        again, briefly = (
            synthesise(read(say(listen(sound), detail)), 7)
            for detail in ("fine", "coarse")
        )  # type: ignore[arg-type]
        features = encoder.encode_sounds([sound, again, briefly])
        fine, coarse = (
            features[1:]
            @ features[0]
            / np.linalg.norm(features[1:], axis=1)
            / np.linalg.norm(features[0])
        )
        assert fine > 0.9, item.id
        assert fine > coarse, item.id

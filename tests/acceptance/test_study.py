"""``examples/study``, from its pictures to bundles that hold, with simulated services.

Drawn images stand in for the photographs, and an encoder of colours and words for both encoders.
"""

import hashlib
import json
import re
import subprocess
import sys

import pytest
import yaml

from tests.acceptance import own_code
from tests.acceptance.checkout import Checkout, Folder, draw
from tests.acceptance.places import REPOSITORY
from tests.acceptance.service import Service

GENERATOR = "generators.gpt_image_2_6_flare_low"
STUDY = REPOSITORY / "examples" / "study"
PAGE = (STUDY / "README.md").read_text(encoding="utf-8")
LISTED = [
    line.split("  ")
    for line in (STUDY / "pictures.txt").read_text(encoding="utf-8").splitlines()
]


def fetch(folder, source, listed):
    """Fetch what ``listed`` names, as a program of its own."""
    for path in (STUDY / "fetch.py", listed):
        (folder / path.name).write_bytes(path.read_bytes())
    command = [sys.executable, "fetch.py", "photos", source.as_uri()]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.fixture
def source(tmp_path):
    """A folder with three pictures, and the list of them."""
    folder = tmp_path / "source"
    lines = []
    for number, (_, place) in enumerate(LISTED[::40]):
        path = draw(folder / place, number)
        lines.append(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {place}")
    assert len(lines) == 3
    (folder / "pictures.txt").write_text("\n".join(lines), encoding="utf-8")
    return folder


def test_pictures_are_fetched_by_kind_and_once(source, tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    done = fetch(work, source, source / "pictures.txt")
    assert (done.returncode, done.stdout) == (0, "3 pictures in photos\n"), done.stderr
    kinds = {path.parent.name for path in (work / "photos").rglob("*.jpg")}
    assert kinds == {"Apple", "Milk", "Pepper"}
    for path in source.rglob("*.jpg"):
        path.unlink()
    assert fetch(work, source, source / "pictures.txt").returncode == 0


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda path: path.write_bytes(b"another"), "has other bytes than"),
        (lambda path: path.unlink(), "cannot be fetched"),
    ],
)
def test_another_picture_is_not_taken(source, tmp_path, damage, says):
    work = tmp_path / "work"
    work.mkdir()
    first, *_, last = sorted(source.rglob("*.jpg"))
    damage(last)
    done = fetch(work, source, source / "pictures.txt")
    assert done.returncode == 2
    [sentence] = done.stderr.splitlines()
    assert says in sentence
    assert last.name in sentence
    names = {path.name for path in (work / "photos").rglob("*") if path.is_file()}
    assert first.name in names
    assert last.name not in names
    assert not [*work.rglob("*.part")]


def test_there_are_twenty_different_pictures_of_each_kind():
    assert len({digest for digest, _ in LISTED}) == 100
    kinds = [place.split("/")[3] for _, place in LISTED]
    assert {kind: kinds.count(kind) for kind in kinds} == dict.fromkeys(
        ("Apple", "Juice", "Milk", "Yoghurt", "Pepper"), 20
    )


STAND_INS = """
import numpy as np
from driftledger.components.base import Encoder


class Colours(Encoder):
    version = "1"

    def encode_images(self, images):
        small = [np.asarray(image.convert("RGB").resize((2, 2))) for image in images]
        return np.stack([pixels.ravel() + 1 for pixels in small]).astype(np.float32)


class ColoursAndWords(Colours):
    def encode_texts(self, texts):
        counts = np.ones((len(texts), 12), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.split():
                counts[row, sum(map(ord, word)) % 12] += 1
        return counts
"""
"""Encoders of an installed distribution, for those that need weights."""
TOKENS = {"models": (90, 20), "generators": (20, 16)}
"""Section → tokens in and out that the service counts for each answer."""


def commands():
    """Return the commands of the page, before ``plan`` and after it."""
    [block] = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    before, plan, after = re.split(r"^(driftledger plan.*\n)", block, flags=re.M)
    assert plan
    return before, after


def entry_of(section, name, params):
    """Return an entry of the study, or of the catalogue."""
    if name in params.get(section, {}):
        return params[section][name]
    catalogue = REPOSITORY / "src/driftledger/catalogue" / f"{section}.yaml"
    entry = yaml.safe_load(catalogue.read_text(encoding="utf-8"))[name]
    return {key: value for key, value in entry.items() if key != "about"}


def simulated(params, address):
    """Let services be at this address, and stand-ins be the encoders."""
    for section in ("models", "generators"):
        entries = {}
        for name in params["run"][section]:
            entries[name] = entry_of(section, name, params)
            if entries[name]["provider"].startswith("openai"):
                entries[name] |= {"base_url": address, "api_key_env": "OPENAI_API_KEY"}
                limits = entries[name].get("limits", {})
                entries[name]["limits"] = limits | {"concurrency": 4}
        params[section] = entries
    sees, reads = params["run"]["encoders"]
    assert params["self_retrieval"]["encoders"] == [reads]
    params["encoders"] = {sees: {"provider": "sees"}, reads: {"provider": "reads"}}


def planned(project):
    """Return the plan, whatever is missing."""
    done = project.run("driftledger", "plan", "--json", check=False)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)["calls"]


def total(plan, key):
    return sum(calls[key] or 0.0 for calls in plan.values())


@pytest.fixture
def study(tmp_path):
    """Make the study by the commands of its page, with drawn images for the photographs."""
    for number, (_, place) in enumerate(LISTED):
        draw(tmp_path / "study/photos" / place.split("/")[3] / f"{number}.png", number)
    clone = Folder(REPOSITORY, tmp_path / "state")
    clone.env["HOME"] = str(tmp_path)
    clone.env.pop("OPENAI_API_KEY", None)
    before, _ = commands()
    fetching, *making = before.splitlines()
    assert "fetch.py ~/study/photos" in fetching
    making = [line for line in making if not line.startswith("export")]
    clone.run("bash", "-ec", "\n".join(making))
    project = Checkout(tmp_path / "study", tmp_path / "state")
    project.env = clone.env
    site = tmp_path / "site"
    own_code.write(site, stand_ins=STAND_INS)
    points = {"sees": "stand_ins:Colours", "reads": "stand_ins:ColoursAndWords"}
    points = {f"driftledger.encoders {name}": at for name, at in points.items()}
    own_code.install(site, "stand-ins", "1", points)
    project.on_path(site)
    return project


@pytest.mark.slow
def test_the_study_is_paid_as_planned_and_its_bundles_hold(study):
    pytest.importorskip("openai")
    study.env["OPENAI_API_KEY"] = "sk-simulated"
    with Service() as service:
        study.params(lambda params: simulated(params, service.base_url))
        service.listed = ["gpt-image-2.6-flare", "gpt-6-luna"]
        service.listed += ["gpt-6.1-terra", "gpt-6.1-sol"]
        plan = planned(study)
        calls = {name: counts["to_make"] for name, counts in plan.items()}
        drawn = calls[GENERATOR]
        described = sum(calls.values()) - drawn - calls["models.blind"]
        assert (described, drawn) == (301, 500)
        study.params(lambda params: params["run"].update(genception=[]))
        study.run("driftledger", "run")
        assert service.kinds == {"completions": described}
        study.params(lambda params: params["run"].update(genception=["photos"]))
        study.run("bash", "-ec", commands()[1])
        assert service.kinds == {"completions": described, "generations": drawn}
    after = planned(study)
    params = yaml.safe_load((study.root / "params.yaml").read_text(encoding="utf-8"))
    bill = 0.0
    for name in plan:
        section, entry = name.split(".")
        prices = params[section][entry].get("prices", {"input": 0, "output": 0})
        read, written = TOKENS[section]
        price = (read * prices["input"] + written * prices["output"]) / 1e6
        bill += price * plan[name]["to_make"]
    assert total(after, "to_make") == 0
    assert total(after, "most_spent") == pytest.approx(bill)
    assert 0 < bill <= total(plan, "most_cost")
    bundles = sorted(study.root.glob("*.zip"))
    assert len(bundles) == 10
    [check] = re.findall(r"```sh\n(.*?)\n```", PAGE)
    named = "gpt_6_luna-dinov2.zip"
    assert named in check
    for bundle in bundles:
        checked = study.run(*check.replace(named, bundle.name).split())
        assert " 0 not checked, 0 differ" in checked.stdout


def test_the_page_has_the_plan_of_its_settings(study):
    """Without keys and weights, as it was printed for the page."""
    printed = study.run("driftledger", "plan", check=False).stdout
    assert "drawings" in printed
    assert f"```text\n{printed}```" in PAGE

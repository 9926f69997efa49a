"""Whoever changes what a stage writes raises its version: the bytes of a small fixed project are
known here. It selects our benchmarks except self-retrieval; another one needs no entry.

Every component and all data of the project are this file's own, so that a change of the
demonstration changes nothing. ``python -m tests.pipelines.test_versions`` renews
``golden_versions.json``, once the versions are raised.
"""

import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import yaml

from driftledger.benchmarks.base.records import CARD, RECORDS
from driftledger.commands import stages
from driftledger.core.canonical import sha256_file, sha256_of
from driftledger.core.made import INPUTS
from driftledger.project import resolve
from driftledger.project.project import Project
from tests.conftest import draw
from tests.support.cases import CASES
from tests.support.own_code import write_module
from tests.support.params import default_params
from tests.support.small import update

GOLDEN = Path(__file__).with_name("golden_versions.json")
RENEW = "python -m tests.pipelines.test_versions"
OTHERS = {
    "data": "DATA_VERSION in driftledger.project.resolve",
    "report": "REPORT_VERSION in driftledger.project.resolve",
}
"""Stage that is no benchmark's → where its version stands."""

COMPONENTS = """
import driftledger
from PIL import Image
from driftledger.components.base import Generator, Model
from driftledger.core.types import Result


class Says(Model):
    '''Says how bright the image is; asked for a letter, or for yes or no, says always the same.'''

    version = "1"
    words: str
    letter: str
    yes: str

    def respond(self, conversations):
        return [Result(self._answer(each)) for each in conversations]

    def _answer(self, conversation):
        asked = str(conversation)
        if "letter" in asked:
            return self.letter
        return self.yes if "Is it" in asked else self.words.format(light=self._light(conversation))

    def _light(self, conversation):
        return conversation.last_medium.open().convert("L").resize((1, 1)).getpixel((0, 0))


class Grades(Model):
    '''Gives a half.'''

    version = "1"

    def respond(self, conversations):
        return [Result("0.5") for _ in conversations]


class Plain(Generator):
    '''A colour that the number of letters and the seed choose, over a white stripe.'''

    version = "1"

    def generate(self, prompts, seeds):
        images = [self._image(len(prompt), seed) for prompt, seed in zip(prompts, seeds)]
        return [Result(image=image) for image in images]

    def _image(self, letters, seed):
        image = Image.new("RGB", (24, 18), (letters % 256, seed % 256, 90))
        image.paste((255, 255, 255), (0, 0, 24, 3))
        return image


def hues(images):
    small = [image.convert("L").resize((3, 2)) for image in images]
    return [[float(value) + 1 for value in image.tobytes()] for image in small]


def letters(texts):
    return [[float(text.count(letter)) for letter in "aeiou1234567890"] + [1.0] for text in texts]


hues = driftledger.encoder(images=hues)
letters = driftledger.encoder(texts=letters)
"""

DATA = CASES / "pipelines"
REPLACED = (
    "datasets",
    "question_sets",
    "descriptions",
    "models",
    "generators",
    "encoders",
)


def make_project(root):
    """Write the project in the current folder."""
    write_module(root, "fixed_components", COMPONENTS)
    for number in range(4):
        draw(
            root / "images" / ("round" if number % 2 else "square") / f"{number}.png",
            number,
            (24, 18),
        )
        for split, more in (("train", 10), ("test", 20)):
            draw(
                root / "classes" / split / f"class_{number % 2}" / f"{number}.png",
                number + more,
                (24, 18),
            )
    params = default_params() | {section: {} for section in REPLACED}
    changes = yaml.safe_load((DATA / "fixed_project.yaml").read_text(encoding="utf-8"))
    for section, values in changes.items():
        params[section] = params[section] | values
    (root / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    for name in changes["question_sets"]:
        shutil.copy(DATA / f"{name}.jsonl", root)
    return Project(root, own_code=True)


def files_of(folder):
    """Return file → SHA-256, without files that hold digests of components."""
    paths = sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and path.name not in (CARD, INPUTS)
    )
    return {path.relative_to(folder).as_posix(): _digest(path) for path in paths}


def _digest(path):
    """Hash a file; of records leave out the keys of calls, which depend on components."""
    if path.name != RECORDS:
        return sha256_file(path)
    return sha256_of(
        re.sub(r'"key":"[0-9a-f]{64}",', "", path.read_text(encoding="utf-8"))
    )


def rounded(text):
    """Round long numbers to nine digits: the last ones of an interval's ends differ between
    processors."""
    return re.sub(
        r"-?[0-9]+\.[0-9]{6,}(e-?[0-9]+)?",
        lambda number: f"{float(number[0]):.9g}",
        text,
    )


def written_by(stage, top):
    """Hash all that a stage of a benchmark wrote; of a score, its numbers and rows."""
    folders = sorted(top.glob(re.sub(r"\{\w+\}", "*", stage.path)))
    assert folders, f"{stage.name} wrote nothing"
    digests = []
    for folder in folders:
        if (folder / "score.json").is_file():
            score = json.loads((folder / "score.json").read_bytes())
            numbers = {
                key: score[key]
                for key in (
                    "numbers",
                    "outcomes",
                    "scored",
                    "total",
                )
            }
            digests.append(
                [
                    rounded(json.dumps(numbers, sort_keys=True)),
                    sha256_file(folder / "rows.jsonl"),
                ]
            )
        else:
            digests.append([files_of(folder)])
    return sha256_of(digests)


def written(root):
    """Return stage → its version and the digest of what it writes for the project."""
    project = make_project(root)
    update(project)
    stages.report(project)
    found = {
        f"{spec.name}.{stage.name}": [stage.version, written_by(stage, root)]
        for spec in project.settings.benchmarks
        for stage in spec.stages[1:]
    }
    tables = [
        root / "reports" / name
        for name in ("leaderboard.csv", "leaderboard.md", "correlation.md")
    ]
    data = [files_of(root / "data" / name) for name in ("datasets", "questions")]
    return found | {
        "data": [resolve.DATA_VERSION, sha256_of(data)],
        "report": [
            resolve.REPORT_VERSION,
            sha256_of(
                {
                    path.name: rounded(path.read_text(encoding="utf-8"))
                    for path in tables
                }
            ),
        ],
    }


def differences(golden, found):
    """Return a sentence for each stage whose version or bytes are not the known ones."""
    told = []
    for name in sorted({*golden, *found}):
        (known, digest), (version, now) = (
            golden.get(name, (None, "")),
            found.get(name, (None, "")),
        )
        if known == version and digest != now:
            where = OTHERS.get(name, "its version in the benchmark's table")
            told.append(
                f"{name} writes other bytes under version {version}: raise {where}, then renew "
                f"{GOLDEN.name} with '{RENEW}'"
            )
        elif known != version:
            told.append(
                f"{name} has version {version}, and {GOLDEN.name} knows {known}: renew it with "
                f"'{RENEW}'"
            )
    return told


def test_what_stages_write_is_known_by_their_versions(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    found = written(tmp_path)
    assert len(found) == 6 + 6 + 2
    assert differences(json.loads(GOLDEN.read_bytes()), found) == []


def renew():
    """Write ``golden_versions.json``, unless a stage writes other bytes under the version that is
    known."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        sys.path.insert(0, folder)
        found = written(Path(folder))
    golden = json.loads(GOLDEN.read_bytes()) if GOLDEN.exists() else {}
    wrong = [told for told in differences(golden, found) if "other bytes" in told]
    if wrong:
        sys.exit("\n".join(wrong))
    GOLDEN.write_text(
        json.dumps(found, indent=2, sort_keys=True) + "\n", encoding="utf-8"
    )


if __name__ == "__main__":
    renew()

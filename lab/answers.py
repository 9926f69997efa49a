"""Record again what the embedded describers answer to the shipped questions.

``python -m lab.answers FILE`` writes what the package has as ``answers.json``. The program that
looked for the answers, of 2,100 lines, is in Git's history alone: it is taken from there.
"""

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, NamedTuple

import typer

from driftledger.benchmarks.base.questions import permutation, rendered
from driftledger.benchmarks.registry import question_rules, shipped_section
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import ConfigError
from driftledger.core.types import Medium
from driftledger_demo.models.regions.model import pixel_digest
from driftledger_demo.scenes import ScenePhotos, Scenes
from lab.entry import here, new_app, run

COMMIT = "20633fead056dec0cd3fdd126be88ee60c3484ef"
"""The last one that has the program."""
SEED = 1
"""The shipped ``run.seed``, from which the orders of options follow."""
SETTINGS = (("coarse", False, False), ("medium", True, False), ("fine", True, True))
"""``detail``, ``knowledge`` and ``refuses`` of the catalogue's describers."""
ASK = """
import json, sys
from pathlib import Path
from driftledger.core.types import Conversation, Medium
from driftledger_demo.models.regions import Regions

names = ("detail", "knowledge", "refuses")
models = [Regions(**dict(zip(names, each))) for each in json.loads(sys.argv[1])]
for file, sha256, prompt in json.load(sys.stdin):
    picture = Medium(Path(file), sha256)
    asked = [Conversation.ask(text, picture) for text in (prompt, "Describe it.")]
    row = []
    for model in models:
        answer, description = (reply.text for reply in model.respond(asked))
        row.append(None if answer == description else answer)
    print(json.dumps(row))
"""
"""The driftledger of :data:`COMMIT` runs this: a line for each question, an answer of each model.

None stands for a description of the picture.
"""

app = new_app(__doc__ or "")


class Question(NamedTuple):
    """A question as it is put to a model."""

    picture: Medium
    prompt: str


def shipped_questions(folder: Path) -> Iterator[Question]:
    """Yield every shipped question in each order of its options; pictures go into ``folder``."""
    for kind in (Scenes, ScenePhotos):
        for protocol in ("mm_sap", "mm_vet", "mme"):
            section = shipped_section(protocol)
            provider = kind.model_validate({"protocol": protocol})
            for question in provider.questions(question_rules(provider)):
                file = folder / f"{kind.folder}-{question.image_id}.png"
                data = question.read()
                assert isinstance(data, bytes)
                file.write_bytes(data)
                picture = Medium(file, sha256_file(file))
                for variant in range(section.get("permutations", 1)):
                    order = permutation(
                        SEED, question.id, variant, options=len(question.options)
                    )
                    shown = [question.options[option] for option in order]
                    prompt = rendered(section["prompt"], question.question, shown)
                    yield Question(picture, prompt)


def record(repository: Path) -> str:
    """Return the content of ``answers.json``, with the versions that requirements.txt pins.

    Raises:
        ConfigError: the commit is not in this clone.
    """
    packed = subprocess.run(
        ("git", "archive", COMMIT, "src"),
        cwd=repository,
        capture_output=True,
        check=False,
    )
    if packed.returncode:
        raise ConfigError(
            f"commit {COMMIT[:8]} is not in this clone; run 'git fetch --unshallow'"
        )
    with (
        TemporaryDirectory() as name,
        tarfile.open(fileobj=BytesIO(packed.stdout)) as archive,
    ):
        archive.extractall(name, filter="data")
        questions = [*shipped_questions(Path(name))]
        asked = [
            (str(each.picture.path), each.picture.sha256, each.prompt)
            for each in questions
        ]
        done = subprocess.run(
            [sys.executable, "-c", ASK, json.dumps(SETTINGS)],
            input=json.dumps(asked),
            env=os.environ | {"PYTHONPATH": f"{name}/src"},
            cwd=name,
            capture_output=True,
            text=True,
            check=True,
        )
        answers: dict[str, dict[str, str]] = {}
        for question, row in zip(questions, done.stdout.splitlines(), strict=True):
            picture = pixel_digest(question.picture.path, question.picture.sha256)
            answers.setdefault(picture, {})[question.prompt] = row
    return _written(answers)


def _written(answers: dict[str, dict[str, str]]) -> str:
    """Return a JSON object with a line for each question about each picture."""
    pictures = []
    for picture, rows in sorted(answers.items()):
        lines = [f"{json.dumps(prompt)}: {row}" for prompt, row in sorted(rows.items())]
        pictures.append(f"{json.dumps(picture)}: {{\n" + ",\n".join(lines) + "\n}")
    head = f'"schema": 1,\n"settings": {json.dumps(SETTINGS)},\n'
    return "{\n" + head + '"answers": {\n' + ",\n".join(pictures) + "\n}\n}\n"


@app.command()
def main(
    file: Annotated[Path, typer.Argument(help="What is written.")],
) -> None:
    """Record the answers again."""
    file.write_text(record(here().root), encoding="utf-8")


if __name__ == "__main__":
    run(app)

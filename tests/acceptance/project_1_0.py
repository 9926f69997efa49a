"""A project as version 1.0.0 left it, in ``golden/project_1_0.tar.xz``.

``python -m tests.acceptance.project_1_0`` makes it again; a release of 1.x never does. It holds
drawn images, questions, two embedded models and a service, which answers while the project is made
and never again: a call made later fails.
"""

import json
import lzma
import tarfile
import tempfile
from http.server import BaseHTTPRequestHandler
from io import BytesIO
from pathlib import Path
from typing import Any

import yaml

from tests.acceptance.checkout import Checkout, draw, init
from tests.acceptance.places import GOLDEN
from tests.acceptance.service import Service, send

FILE = GOLDEN / "project_1_0.tar.xz"
PORT = 18754
SIZE = (40, 30)
RUN = "eyes/hands/layout"
OTHER_RUN = "regions_fine/painter/layout"
BUNDLE = "score.zip"
NOT_KEPT = {"hooks", "tmp", "mlflow.db", "mlartifacts", "features", "locks"}
OPTIONS = ["red", "green", "blue", "black", "I cannot tell"]
ANSWERS = {b"option's letter": "B", b"yes or no": "Yes"}
SETTINGS = """
run:
  datasets: [photos, digits]
  question_sets: [my_mm_sap, my_mm_vet, my_mme]
  genception: [photos]
  trac: [digits]
  fidelity: [photos]
  mm_sap: [my_mm_sap]
  mm_vet: [my_mm_vet]
  mme: [my_mme]
  models: [regions_fine, blind, eyes]
  generators: [painter, hands]
  encoders: [layout]
  text_encoders: [tfidf]
  descriptions: [short]
  judge: rubric
genception: { iterations: 2, cross_check: [regions_fine] }
mm_sap: { permutations: 2, min_coverage: 0.1 }
mm_vet: { gradings: 2, min_coverage: 0.1 }
descriptions:
  short: { prompt: "What are the main visual features of the {category}?", max_tokens: [60] }
datasets:
  digits: { provider: digits, support_per_label: 2, test_per_label: 1 }
question_sets:
  my_mm_sap: { provider: table, protocol: mm_sap, path: mm_sap.jsonl }
  my_mm_vet: { provider: table, protocol: mm_vet, path: mm_vet.jsonl }
  my_mme: { provider: table, protocol: mme, path: mme.jsonl }
models:
  regions_fine: { provider: regions, detail: fine, knowledge: true }
  blind: { provider: blind }
  rubric: { provider: rubric }
  eyes:
    provider: openai
    model: eyes
    base_url: SERVICE
    api_key_env: EYES_KEY
    understood_by: [painter, layout, rubric]
    prices: { input: 100, output: 1000 }
    limits: { attempts: 3, concurrency: 4 }
generators:
  painter: { provider: painter, longest_side: 32 }
  hands:
    provider: openai_images
    model: hands
    base_url: SERVICE
    api_key_env: EYES_KEY
    image_size: 64x64
    prices: { image: 0.5 }
    limits: { attempts: 3, concurrency: 4 }
encoders:
  layout: { provider: layout }
  tfidf: { provider: tfidf }
""".replace("SERVICE", f"http://127.0.0.1:{PORT}/v1")
"""What the project sets; the rest is as ``driftledger init`` leaves it."""


class Eyes(Service):
    """Describes, draws and answers questions."""

    def _serve(self, request: BaseHTTPRequestHandler, body: bytes) -> None:
        for words, text in ANSWERS.items():
            if words in body:
                choice = {"index": 0, "message": {"role": "assistant", "content": text}}
                send(request, {"model": "eyes", "choices": [choice]})
                return
        super()._serve(request, body)


def _questions() -> dict[str, list[dict[str, Any]]]:
    """Return the rows of a table for each benchmark that asks questions."""
    image = {"image": "photos/round/1.png"}
    of_mm_sap = [
        {"question": "Which colour?", "subset": "basic", "answer": "red"},
        {"question": "Which is right?", "subset": "know", "answer": "blue"},
        {"question": "What is behind it?", "subset": "beyond"},
    ]
    choices = {"options": OPTIONS, "refusal": OPTIONS[-1]}
    of_mme = [
        {"question": f"Is it {answer}? Please answer yes or no.", "answer": answer, "category": "color"}
        for answer in ("yes", "no")
    ]
    of_mm_vet = [
        {"question": "Which colour?", "answer": "red", "capabilities": ["rec"]},
        {"question": "How many?", "answer": "2", "capabilities": ["math", "rec"]},
    ]
    return {
        "mm_sap": [row | choices | image for row in of_mm_sap],
        "mm_vet": [row | image for row in of_mm_vet],
        "mme": [row | image for row in of_mme],
    }


def _settings(params: dict[str, Any]) -> None:
    for name, content in yaml.safe_load(SETTINGS).items():
        params[name] = params.get(name, {}) | content


def make(folder: Path) -> Checkout:
    """Make the project in ``folder``, evaluate it, and write its bundle."""
    for number in range(4):
        category = ("square", "round")[number % 2]
        draw(folder / "project/photos" / category / f"{number}.png", number, SIZE)
    project = init(folder, "--preset", "default", "--images", "project/photos")
    for name, rows in _questions().items():
        lines = [json.dumps(row) + "\n" for row in rows]
        (project.root / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
    project.env["EYES_KEY"] = "sk-eyes"
    project.params(_settings)
    project.driftledger("upgrade")
    project.commit("settings")
    with Eyes(PORT):
        project.driftledger("run")
    project.driftledger("bundle", RUN, "-o", BUNDLE)
    return project


def _member(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    if NOT_KEPT & {*Path(member.name).parts}:
        return None
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


def pack(top: Path) -> None:
    """Write a project into :data:`FILE`."""
    content = BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        archive.add(top, arcname="project", filter=_member)
    FILE.write_bytes(lzma.compress(content.getvalue(), preset=9))


def unpack(folder: Path) -> Checkout:
    """Return the project in ``folder``, its results committed, with a key and no service."""
    with tarfile.open(FILE) as archive:
        archive.extractall(folder, filter="data")
    project = Checkout(folder / "project", folder / "state")
    project.env["EYES_KEY"] = "sk-eyes"
    project.commit("the project of 1.0.0")
    return project


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        pack(make(Path(made)).root)
    print(f"wrote {FILE}, {FILE.stat().st_size:,} bytes")

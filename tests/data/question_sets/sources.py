"""Sources of questions for tests: rows that are right for each benchmark, and providers of given
questions."""

import io
import json
from functools import partial
from typing import ClassVar

from PIL import Image
from pydantic import Field

from driftledger.benchmarks.registry import question_rules
from driftledger.data.build import build_questions
from driftledger.data.question_sets.base import QuestionProvider, SourceQuestion

REFUSAL = "Sorry, I can't tell from the image"
SAP = {
    "image": "a.png",
    "question": "What colour is the truck?",
    "options": ["red", "blue", REFUSAL, "green", "white"],
    "answer": "blue",
    "refusal": REFUSAL,
    "subset": "basic",
    "subtask": "colour",
}
BEYOND = SAP | {
    "question": "What is the driver called?",
    "answer": None,
    "subset": "beyond",
    "subtask": "name",
}
VET = {
    "image": "a.png",
    "question": "What is x?",
    "answer": "-1 <AND> -5",
    "capabilities": ["ocr", "math"],
}
MME = [
    {
        "image": "a.png",
        "question": "Is there a dog?",
        "answer": "Yes",
        "category": "existence",
    },
    {
        "image": "a.png",
        "question": "Is there a cat?",
        "answer": "No",
        "category": "existence",
    },
]


def png(red=0, kind="PNG"):
    """A small image file, different for every number."""
    buffer = io.BytesIO()
    Image.new("RGB", (8, 6), (red, 0, 0)).save(buffer, kind)
    return buffer.getvalue()


def images(folder, *names):
    """A folder with these images, all different."""
    for red, name in enumerate(names or ("a.png",)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(png(red))
    return folder


def jsonl(folder, *rows, name="questions.jsonl"):
    """A JSONL file of rows beside the image ``a.png``."""
    images(folder)
    (folder / name).write_text(
        "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
    )
    return folder / name


def source(row, number=0, **changes):
    """The question that a row stands for, without any table between."""
    fields = {
        "id": str(number),
        "name": f"row {number}",
        "read": partial(png, 0),
        "image_id": "a.png",
    }
    fields |= {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in row.items()
        if key != "image"
    }
    return SourceQuestion(**(fields | changes))


def build_set(name, provider, target):
    """Build a set by the rules of its protocol."""
    build_questions(name, provider, question_rules(provider), target)


class Given(QuestionProvider):
    """Questions as the test gives them."""

    provider: ClassVar[str] = "given"
    given: tuple[SourceQuestion, ...] = Field(default=(), exclude=True)

    def questions(self, rules):
        yield from self.given

    def source_digest(self):
        return "0"

    def source(self):
        return {"kind": "given"}

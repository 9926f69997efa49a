"""Sources of questions for tests: rows that are right for each benchmark, and providers of given
questions."""

import io

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
DOG = {
    "image": "a.png",
    "question": "Is there a dog?",
    "answer": "Yes",
    "category": "existence",
}
MME = [DOG, DOG | {"question": "Is there a cat?", "answer": "No"}]


def png(red=0, kind="PNG"):
    """A small image file, different for every number."""
    buffer = io.BytesIO()
    Image.new("RGB", (8, 6), (red, 0, 0)).save(buffer, kind)
    return buffer.getvalue()


def source(row, number=0, **changes):
    """The question that a row stands for, without any table between."""
    fields = {"id": str(number), "name": f"row {number}", "image_id": "a.png"}
    for key, value in row.items():
        fields[key] = tuple(value) if isinstance(value, list) else value
    fields |= {"read": png} | changes
    del fields["image"]
    return SourceQuestion(**fields)


def build_set(name, provider, target):
    """Build a set by the rules of its protocol."""
    build_questions(name, provider, question_rules(provider), target)


class Given(QuestionProvider):
    """Questions as the test gives them."""

    provider = "given"
    given: tuple[SourceQuestion, ...] = Field(default=(), exclude=True)

    def questions(self, rules):
        yield from self.given

    def source_digest(self):
        return "0"

    def source(self):
        return {"kind": "given"}

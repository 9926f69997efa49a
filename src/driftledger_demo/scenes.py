"""Question sets about drawn scenes and photographs of them, in which every fact is known.

The images and questions in ``data/`` were drawn once; ``python -m lab.scenes sets FOLDER`` draws
them again.
"""

import json
from collections.abc import Iterator
from importlib.resources import files
from typing import ClassVar, Literal

from pydantic import Field

from driftledger.core.canonical import sha256_bytes, sha256_of
from driftledger.data.question_sets.base import (
    QuestionProvider,
    QuestionRules,
    SourceQuestion,
)

COUNT = 120


class Scenes(QuestionProvider):
    """Drawings of scenes, and questions about them in the plainest form."""

    provider: ClassVar[str] = "scenes"
    version: ClassVar[str] = "2"
    """Raised whenever a byte of an image or a word of a question changes."""
    folder: ClassVar[str] = "drawings"

    protocol: Literal["mm_sap", "mm_vet", "mme"]
    count: int = Field(default=COUNT, ge=1, le=COUNT)
    """Scenes, from the first on; mm_sap asks three or four questions about each, mme two."""

    def questions(self, rules: QuestionRules) -> Iterator[SourceQuestion]:
        data = files(__package__) / "data" / self.folder
        for line in (
            (data / f"{self.protocol}.jsonl").read_text(encoding="utf-8").splitlines()
        ):
            row = json.loads(line)
            number, rank = row["id"].split("-")
            if int(number) >= self.count:
                return
            yield SourceQuestion(
                id=row["id"],
                name=f"question {rank} about scene {number}",
                image_id=number,
                read=(data / "images" / row["image"]).read_bytes,
                question=row["question"],
                options=tuple(row.get("options", ())),
                answer=row.get("answer"),
                refusal=row.get("refusal"),
                subset=row.get("subset"),
                subtask=row.get("subtask"),
                capabilities=tuple(row.get("capabilities", ())),
                category=row.get("category"),
                source={"theme": row["theme"]},
            )

    def source_digest(self) -> str:
        data = files(__package__) / "data" / self.folder
        questions = (data / f"{self.protocol}.jsonl").read_bytes()
        images = sorted((data / "images").iterdir(), key=lambda image: image.name)[
            : self.count
        ]
        digests = [sha256_bytes(image.read_bytes()) for image in images]
        return sha256_of([self.count, sha256_bytes(questions), *digests])

    def source(self) -> dict[str, str]:
        return {"kind": self.provider, "version": self.version}


class ScenePhotos(Scenes):
    """Photographs of the same scenes, and the same questions in other words.

    Ids and right answers are the same.
    """

    provider: ClassVar[str] = "scene_photos"
    folder: ClassVar[str] = "photographs"

"""A question benchmark from hand-written questions to its score, through all of its stages and
their files."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from string import ascii_uppercase

from driftledger.benchmarks.base.benchmark import Collecting, Scoring
from driftledger.benchmarks.base.collecting import write_collected
from driftledger.benchmarks.base.records import (
    RECORDS,
    stream_records,
)
from driftledger.benchmarks.base.scoring import write_score
from driftledger.benchmarks.base.settings import Section
from driftledger.benchmarks.registry import benchmark
from driftledger.collect.run import Collector
from driftledger.collect.store import CallStore
from driftledger.commands.collect import ask
from driftledger.components.base import Model
from driftledger.core.canonical import sha256_file
from driftledger.core.files import write_json, write_jsonl
from driftledger.core.types import Outcome, Result
from driftledger.data.records import QuestionEntry
from driftledger.ledger.rescoring import play
from tests.conftest import draw

OPTIONS = ["red", "blue", "green", "yellow", "It cannot be determined."]
KEYS = {"question_set": "exam", "model": "seer"}
COMMON = {"min_coverage": 0.5, "unread": "worst", "confidence": 0.95}
SECTIONS = {
    "mm_sap": COMMON
    | {
        "permutations": 5,
        "prompt": "{question}\n{options}\nAnswer with the letter.",
        "count_free_refusals": True,
    },
    "mm_vet": COMMON
    | {
        "prompt": "{question}",
        "grade_prompt": "Grade it.\n\n{question} | {truth} | {prediction} | ",
        "grade_again": "\nA digit: ",
        "gradings": 2,
        "grades": "tolerant",
    },
    "mme": COMMON
    | {"prompt": "{question} Please answer yes or no.", "read": "tolerant"},
}


class Says(Model):
    """Answers every conversation with ``text``, or the question of a number with what is known of
    it."""

    provider = "says"
    version = "1"
    text: str = ""
    texts: tuple[str, ...] = ()
    """The answer to each question, by its number."""
    chosen: tuple[str, ...] = ()
    """The option of each question whose letter is the answer; ``text`` where it is empty."""
    outcome: Outcome = Outcome.OK
    served_model: str | None = None

    def respond(self, conversations):
        return [
            Result(self._said(each), self.outcome, served_model=self.served_model)
            for each in conversations
        ]

    def _said(self, conversation):
        question, *lines = str(conversation.turns[-1].parts[-1]).splitlines()
        number = int(re.sub(r"\D", "", question) or 0)
        if self.texts:
            return self.texts[number]
        if not (self.chosen and self.chosen[number]):
            return self.text
        ending = f". {self.chosen[number]}"
        return next(line for line in lines if line.endswith(ending))[:1]


class Grades(Model):
    """A judge that grades a prediction by the share of the truth that it holds; a prompt that holds
    ``unsure`` gets no grade, or one when the judge is asked again."""

    provider = "grades"
    version = "1"
    known: dict[str, str] | None = None
    """What it says of some predictions, also when it is asked again."""
    unsure: str | None = None
    hums: str = "Hm."
    """What it says where it is unsure."""
    decides: bool = True
    outcome: Outcome = Outcome.OK
    """Of what it says where it is unsure."""
    served_model: str | None = None

    def respond(self, conversations):
        prompts = [
            str(conversation.turns[-1].parts[0]) for conversation in conversations
        ]
        return [
            Result(self.hums, self.outcome, served_model=self.served_model)
            if self._hesitates(prompt)
            else Result(self._grade(prompt), served_model=self.served_model)
            for prompt in prompts
        ]

    def _hesitates(self, prompt):
        again = prompt.endswith(SECTIONS["mm_vet"]["grade_again"])
        return (
            self.unsure is not None
            and self.unsure in prompt
            and not (again and self.decides)
        )

    def _grade(self, prompt):
        _, truth, prediction = prompt.partition("\n\n")[2].split(" | ", 2)
        said = prediction.split(" | ")[0]
        if self.known and said in self.known:
            return self.known[said]
        wanted = [
            part.strip() for part in truth.replace("<OR>", "<AND>").split("<AND>")
        ]
        share = sum(part in prediction for part in wanted) / len(wanted)
        if "<OR>" in truth:
            share = float(any(part in prediction for part in wanted))
        return f"{share:.1f}"


@dataclass(frozen=True)
class Exam:
    """A folder with a question set, and who answers it."""

    root: Path
    benchmark: str
    model: Model
    judge: Model | None
    section: Section

    def folder(self, stage):
        """Where a stage writes."""
        spec = benchmark(self.benchmark)
        found = next(each for each in spec.stages if stage in (each, each.name))
        return self.root / found.at(KEYS)

    @property
    def answers(self):
        """The folder of the records."""
        return self.folder("answer")

    def records(self):
        """What is collected of the questions."""
        return [each for each in stream_records(self.answers) if each.step]

    def rewrite(self, records):
        """Write other records in the place of those of the questions."""
        beforehand = [each for each in stream_records(self.answers) if not each.step]
        write_jsonl(self.answers / RECORDS, [*records, *beforehand])

    def read_as(self, readings):
        """Rewrite the records so that this is read in each, in their order: an outcome, and what is
        read where it is OK."""
        self.rewrite(
            self._said(*pair) for pair in zip(self.records(), readings, strict=True)
        )
        return self

    def _said(self, record, reading):
        outcome, value = reading
        last = record.results[-1]
        if outcome is Outcome.OK:
            said = f"{value}"
            if self.benchmark == "mm_sap":
                said = f"{ascii_uppercase[record.extra['order'].index(value)]}."
            elif self.benchmark == "mme":
                said = "Yes." if value else "No."
            ended = {"outcome": Outcome.OK, "text": said}
        elif outcome in (Outcome.UNPARSED, Outcome.REFUSED):
            refused = "I'm sorry, but I cannot determine that."
            ended = {
                "outcome": Outcome.OK,
                "text": refused if outcome is Outcome.REFUSED else "Perhaps.",
            }
        else:
            ended = {"outcome": outcome, "text": None}
        return record.model_copy(
            update={"results": [*record.results[:-1], replace(last, **ended)]}
        )

    def collecting(self):
        """What its records are made from."""
        spec = benchmark(self.benchmark)
        components = {"model": (KEYS["model"], self.model)}
        if self.judge is not None:
            components["judge"] = ("umpire", self.judge)
        given = Collecting(
            spec=spec,
            keys=KEYS,
            data=self.folder(spec.data),
            components=components,
            section=self.section,
            seed=3,
        )
        return replace(given, protocol=spec.protocol(given))

    def collect(self):
        """Ask everything, and write the records."""
        collecting = self.collecting()
        with CallStore(self.root / "store") as store, Collector(store) as collector:
            write_collected(self.answers, collecting, ask(collecting, collector))
        return self

    def follow(self):
        """The records that follow from the results in the records, and what was replayed."""
        spec = benchmark(self.benchmark)
        data = self.folder(spec.data)
        played = play(spec, self.answers, data, {}, keeps_calls=True)
        return [*played.records], played.replay

    def score(self):
        """Score what is collected, and write it."""
        spec = benchmark(self.benchmark)
        folders = {stage.name: self.folder(stage) for stage in spec.stages[:-1]}
        scored = spec.score(Scoring(spec, KEYS, folders, self.section, seed=3))
        write_score(self.folder(spec.scores), spec, scored)
        return scored


def exam(
    root,
    benchmark_name,
    questions,
    model,
    judge=None,
    groups=None,
    **settings,
):
    """Write a question set; the number of a question is in its text, and ``picture`` the number of
    its image."""
    entries = []
    folder = root / "data" / "questions" / KEYS["question_set"]
    for number, given in enumerate(questions):
        fields = dict(given)
        picture = fields.pop("picture", number)
        name = f"images/{picture}.png"
        if not (folder / name).exists():
            draw(folder / name, int(str(picture)))
        plain = {
            "id": f"q{number}",
            "image": name,
            "image_sha256": sha256_file(folder / name),
            "image_id": name,
            "question": f"What is {number}?",
        }
        entries.append(QuestionEntry.model_validate(plain | fields))
    write_jsonl(folder / "questions.jsonl", entries)
    card = {
        "schema": 2,
        "name": "exam",
        "provider": "table",
        "protocol": benchmark_name,
        "settings": {},
        "source": {},
        "digest": "d" * 64,
        "questions": len(entries),
        "images": len({entry.image for entry in entries}),
        "groups": groups or {},
    }
    write_json(folder / "question_set.json", card)
    section = benchmark(benchmark_name).settings.model_validate(
        SECTIONS[benchmark_name] | settings
    )
    return Exam(root, benchmark_name, model, judge, section)


def sap(*answers, subsets=()):
    """Questions of MM-SAP: the right option of each, None in beyond; the refusal is option 4."""
    names = subsets or ["beyond" if answer is None else "basic" for answer in answers]
    return [
        {"options": OPTIONS, "refusal": 4, "subtask": "colour", "subset": subset}
        | ({} if answer is None else {"answer": OPTIONS.index(answer)})
        for answer, subset in zip(answers, names, strict=True)
    ]


SAP = sap(
    "red",
    "blue",
    "green",
    "yellow",
    None,
    None,
    subsets=["basic"] * 2 + ["know"] * 2 + ["beyond"] * 2,
)
"""Two questions of each subset."""
VET = [
    {"answer": "red <AND> blue", "capabilities": ["rec"]},
    {"answer": "7 <OR> seven", "capabilities": ["ocr", "math"]},
]
MME = [
    {"picture": picture, "answer": answer, "category": "count"}
    for picture in range(3)
    for answer in ("yes", "no")
]

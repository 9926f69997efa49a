"""A ledger whose units have pictures and texts to show, and the site of its units alone."""

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from driftledger.benchmarks.score import Row, Score
from driftledger.core.files import write_jsonl
from driftledger.core.types import Outcome
from driftledger.data.question_sets.files import QuestionEntry
from tests.support.description_ledgers import add_fidelity, add_trac, fidelity_score, trac_score
from tests.support.ledgers import (
    KEYS,
    add_stages,
    genception_row,
    genception_score,
    lock_entries,
    locked,
    write_collected,
    write_image,
    write_ledger,
    write_scored,
)
from tests.support.question_ledgers import question_score

HOSTILE = "<script>document.title = 'owned'</script><img src=x onerror=\"document.title = 'owned'\">\x1b[31m\u202e"
PEER = KEYS | {"model": "peer"}
OPTIONS = ["a cat", "a dog", "I cannot tell"]


def write_units(root: Path) -> list[Score]:
    """Chains by two models, of which one refuses to describe the ring; a question in two orders; digits and redrawings.

    What the model says and what the question asks is hostile.
    """
    write_ledger(root, said=HOSTILE)
    scores = [genception_score(), genception_score(model="peer"), trac_score("short", "reader")]
    scores += [trac_score("short", "counter"), fidelity_score(), question_score()]
    _add_peer(root, scores[1])
    add_trac(root, *scores[2:4], said="a hook")
    add_fidelity(root, scores[4], said="a disc")
    _add_question(root, scores[5])
    return scores


def _add_peer(root: Path, score: Score) -> None:
    texts = {"disc": ["a red disc on grey", "a blue disc on grey"], "ring": [None]}
    records: list[dict[str, Any]] = []
    for sample, said in texts.items():
        for t, text in enumerate(said, 1):
            file = f"images/{sample}/{t}.png"
            drawn = {"image": file, "image_sha256": "b" * 64, "description": text, "outcome": "ok"}
            refused = {"outcome": "refused", "error": "I would rather not."}
            common = {"sample": sample, "t": t, "parent_sha256": "a" * 64, "seed": t}
            records.append(common | (refused if text is None else drawn))
            if text is not None:
                write_image(root / "data/chains/shapes/peer/brush" / file, (250, 30, 100 * t))
    folder = write_collected(root, score, "chain", records)
    rows = [
        genception_row("disc", [0.5, 0.123456], [0.5, 0.25]),
        Row(unit="ring", group="round", cluster="ring", outcome=Outcome.REFUSED),
    ]
    write_scored(root, score, rows)
    folders = {
        "dataset": locked("data/datasets/shapes", "1" * 32 + ".dir"),
        "chain": locked(folder.relative_to(root).as_posix(), "6" * 32 + ".dir"),
    }
    add_stages(root, lock_entries(root, score, folders))


def _add_question(root: Path, score: Score) -> None:
    folder = root / "data/questions/exam"
    write_image(folder / "images/pet.png", (120, 90, 60))
    entry = QuestionEntry(
        id="q0", image="images/pet.png", image_sha256="c" * 64, image_id="pet", question=f"What is it? {HOSTILE}",
        options=OPTIONS, answer=0, refusal=2, subset="basic",
    )  # fmt: skip
    write_jsonl(folder / "questions.jsonl", [entry])
    pairs = [{"question": "q0", "variant": variant, "outcome": "ok"} for variant in (0, 1)]
    orders, said, chosen = [[2, 0, 1], [1, 2, 0]], ["B", "the dog, I think"], [0, 1]
    answers = [pair | {"order": order, "text": text} for pair, order, text in zip(pairs, orders, said, strict=True)]
    grades = [
        pair | {"choice": choice, "how": how}
        for pair, choice, how in zip(pairs, chosen, ("letter", "words"), strict=True)
    ]
    folders = {
        "question_set": folder,
        "answer": write_collected(root, score, "answer", answers),
        "grade": write_collected(root, score, "grade", grades),
    }
    row = Row(unit="q0", group="all", cluster="pet", outcome=Outcome.OK, values={"score": [1.0, 0.0]})
    write_scored(root, score, [row])
    outs = {
        stage: locked(each.relative_to(root).as_posix(), f"{number}d" * 16 + ".dir")
        for number, (stage, each) in enumerate(folders.items(), 1)
    }
    add_stages(root, lock_entries(root, score, outs))


class Elements(HTMLParser):
    """Every element of a page, and the text inside each."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str], list[str]]] = []
        self._open: list[int] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {key: value or "" for key, value in attributes}, []))
        if tag not in ("img", "meta", "link", "br"):
            self._open.append(len(self.found) - 1)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self.found[self._open.pop()][0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        for place in self._open:
            self.found[place][2].append(data)

    def texts(self, tag: str, kind: str = "") -> list[str]:
        """The texts of all elements of a name and a class."""
        return [
            " ".join("".join(text).split())
            for name, attributes, text in self.found
            if name == tag and (not kind or kind in attributes.get("class", "").split())
        ]

    def attributes(self, tag: str, name: str) -> list[str]:
        return [attributes[name] for each, attributes, _ in self.found if each == tag and name in attributes]


def elements(file: Path) -> Elements:
    return Elements(file.read_text(encoding="utf-8"))


def units_on(file: Path) -> dict[str, Elements]:
    """Name → each unit that a model's page shows."""
    _, *some = file.read_text(encoding="utf-8").split('<details class="unit"')
    found = [Elements(f'<details class="unit"{each}') for each in some]
    return {each.texts("b")[0]: each for each in found}

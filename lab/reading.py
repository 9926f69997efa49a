"""How well replies are read: refusals, choices, yes and no, against cases whose right reading is
known.

Run as ``python -m lab.reading`` in the top folder. The unseen fifth of each kind is counted and
never printed. Beside our reading stand the rules of two public evaluators, written anew from what
their documentation and code say they do, and run on the same cases: no program of theirs is used.
``--show`` prints the seen cases that are read otherwise. ``--haloquest FILE`` reads a copy of
HaloQuest's answers: people's own words where an image cannot answer.
"""

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import typer

from driftledger.benchmarks.base.parsing.choice import parse_choice
from driftledger.benchmarks.base.parsing.refusal import is_refusal
from driftledger.benchmarks.base.parsing.yes_no import parse_yes_no
from lab.entry import new_app, run

CASES = Path("tests/cases/reading")
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
Case = dict[str, Any]
Reader = Callable[[Case], str]

app = new_app(__doc__ or "")


def cases(name: str) -> list[Case]:
    return [
        json.loads(line)
        for line in (CASES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    ]


class Count(NamedTuple):
    """Of ``total`` cases: what was read as it should be, what was read wrongly, what was not
    read."""

    right: int
    wrong: int
    unread: int

    @property
    def total(self) -> int:
        return sum(self)


def ours(case: Case) -> str:
    choice = parse_choice(case["reply"], case["options"], case["refusal"])
    return choice.outcome.value if choice.value is None else LETTERS[choice.value]


def yes_or_no(case: Case) -> str:
    read = parse_yes_no(case["reply"])
    return read.outcome.value if read.value is None else "yes" if read.value else "no"


def by_tokens(case: Case) -> str:
    """VLMEvalKit's exact matching: the one option letter among the words, if it is one of the last
    four; else the one option whose text is part of a reply that is not long. Its judge, which takes
    what is left, is not part of it."""
    reply, texts = case["reply"], case["options"]
    words = re.sub(r"[.()\[\],:;!*#{}]", " ", reply).split()
    letters = [letter for letter in LETTERS[: len(texts)] if letter in words]
    if len(letters) == 1 and words.index(letters[0]) > len(words) - 5:
        return letters[0]
    if len(reply) > 2 * sum(map(len, texts)):
        return "unparsed"
    matching = [
        LETTERS[index]
        for index, text in enumerate(texts)
        if text.lower() in reply.lower()
    ]
    return matching[0] if len(matching) == 1 else "unparsed"


def by_last_place(case: Case) -> str:
    """lmms-eval's and MMMU's rule: letters in brackets, else letters between blanks, else in more
    than five words the texts; of several the last. Where there is none it draws one at random,
    which counts as unread here."""
    texts = case["options"]
    reply = f" {case['reply'].strip(',.!?;:' + chr(39))} "
    letters = LETTERS[: len(texts)]
    for form in ("({})", " {} "):
        places = {
            reply.rfind(form.format(letter)): letter
            for letter in letters
            if form.format(letter) in reply
        }
        if places:
            return places[max(places)]
    if len(reply.split()) > 5:
        low = reply.lower()
        places = {
            low.rfind(text.lower()): letters[at]
            for at, text in enumerate(texts)
            if text.lower() in low
        }
        if places:
            return places[max(places)]
    return "unparsed"


def by_first_four(case: Case) -> str:
    """MME's own script: yes, else no, in the first four characters."""
    head = case["reply"].lower()[:4]
    return "yes" if "yes" in head else "no" if "no" in head else "unparsed"


def counted(read: Reader, those: list[Case], answers: tuple[str, ...]) -> Count:
    readings = [
        (read(case), {case["reads"], *case.get("may_read", ())}) for case in those
    ]
    right = sum(reading in accepted for reading, accepted in readings)
    wrong = sum(
        reading in answers and reading not in accepted for reading, accepted in readings
    )
    return Count(right, wrong, len(readings) - right - wrong)


def kinds(those: list[Case]) -> dict[str, tuple[int, int]]:
    """Kind of refusal → how many are known, of how many."""
    total = Counter(case["kind"] for case in those)
    known = Counter(case["kind"] for case in those if is_refusal(case["reply"]))
    return {kind: (known[kind], total[kind]) for kind in sorted(total)}


def shown(count: Count) -> str:
    """Cells of a row."""
    return f"{count.right} | {count.wrong} | {count.unread}"


def table(part: str) -> Iterator[str]:
    """Markdown rows: ours beside the public rules."""
    for name in ("options_ordinary", "options_adversarial"):
        those = cases(name + part)
        readers: dict[str, Reader] = {
            "driftledger": ours,
            "VLMEvalKit": by_tokens,
            "lmms-eval": by_last_place,
        }
        for who, read in readers.items():
            count = counted(read, those, tuple(LETTERS))
            yield f"| {name} | {who} | {count.total} | {shown(count)} |"
    those = cases("yes_no_plain" + part)
    for who, read in {"driftledger": yes_or_no, "MME's script": by_first_four}.items():
        count = counted(read, those, ("yes", "no"))
        yield f"| yes_no_plain | {who} | {count.total} | {shown(count)} |"


@app.command()
def main(
    show: bool = typer.Option(False), haloquest: Path | None = typer.Option(None)
) -> None:
    """Print how many cases are read as they should be."""
    for part, title in (("", "seen"), ("_unseen", "unseen")):
        refusals, near = cases("refusals" + part), cases("near_refusals" + part)
        known = sum(is_refusal(case["reply"]) for case in refusals)
        alarms = [case["reply"] for case in near if is_refusal(case["reply"])]
        print(
            f"{title}: {known} of {len(refusals)} refusals known, {len(alarms)} of {len(near)} "
            "false alarms"
        )
        parts = [
            f"{kind} {known}/{total}"
            for kind, (known, total) in kinds(refusals).items()
        ]
        print(f"  {', '.join(parts)}")
        print(
            "| cases | rules | total | right | wrong | unread |\n|---|---|---:|---:|---:|---:|",
            *table(part),
            sep="\n",
        )
    if show:
        print(
            *(
                f"missed: {case['reply']}"
                for case in cases("refusals")
                if not is_refusal(case["reply"])
            ),
            sep="\n",
        )
        print(
            *(
                f"alarm: {case['reply']}"
                for case in cases("near_refusals")
                if is_refusal(case["reply"])
            ),
            sep="\n",
        )
        for name in ("options_ordinary", "options_adversarial"):
            for case in cases(name):
                if (reading := ours(case)) not in (
                    case["reads"],
                    *case.get("may_read", ()),
                ):
                    print(
                        f"{reading}, not {case['reads']}: {case['reply']!r} {case['options']}"
                    )
    if haloquest:
        with haloquest.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        for kind in ("insufficient context", "visual challenge"):
            given = [
                row["groundtruth responses"].split(";")
                for row in rows
                if row["hallucination type"] == kind
            ]
            replies = sorted(
                {reply.strip() for group in given for reply in group if reply.strip()}
            )
            print(
                f"HaloQuest, {kind}: {sum(map(is_refusal, replies))} of {len(replies)} refuse"
            )


if __name__ == "__main__":
    run(app)

"""LaVIN's published answers to MME, read by both readers: the folder ``LaVIN`` of MME's evaluation
tool.

Run as ``python -m lab.lavin FOLDER``. The tool is ``tools/eval_tool.zip`` in the branch Evaluation
of github.com/BradyFU/Awesome-Multimodal-Large-Language-Models; its files are not part of this
repository.
"""

from collections.abc import Callable
from pathlib import Path

from driftledger.benchmarks._questions.parsing.reply import Parsed
from driftledger.benchmarks._questions.parsing.yes_no import (
    parse_yes_no,
    read_literally,
)
from driftledger.benchmarks.mme.spec import SUBTASKS
from driftledger.metrics import yes_no
from lab.entry import new_app, run

app = new_app(__doc__ or "")


def subtask(file: Path, read: Callable[[str], Parsed[bool]]) -> yes_no.YesNoScores:
    """Score one file: a line per question with image, question, right answer and reply, two lines
    per image."""
    rows = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()]
    replies = [read(reply).value for _, _, _, reply in rows]
    truth = [right.lower() == "yes" for _, _, right, _ in rows]
    images = [str(number // 2) for number in range(len(rows))]
    return yes_no.score(replies, truth, images, unread_is_wrong=True)


@app.command()
def main(folder: Path) -> None:
    """Print the scores of perception and cognition by each reader."""
    for name, read in (("tolerant", parse_yes_no), ("literal", read_literally)):
        for ability, subtasks in SUBTASKS.items():
            scores = {each: subtask(folder / f"{each}.txt", read) for each in subtasks}
            print(f"{name} {ability}: {yes_no.total(scores).score:.2f}")


if __name__ == "__main__":
    run(app)

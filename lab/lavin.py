"""LaVIN's published answers to MME, read by both readers: the folder ``LaVIN`` of MME's evaluation
tool.

Run as ``python -m lab.lavin FOLDER``. The tool is ``tools/eval_tool.zip`` in the branch Evaluation
of github.com/BradyFU/Awesome-Multimodal-Large-Language-Models; its files are not part of this
repository.
"""

from collections.abc import Callable
from pathlib import Path
from statistics import mean

from driftledger.benchmarks.base.parsing.reply import Parsed
from driftledger.benchmarks.base.parsing.yes_no import (
    parse_yes_no,
    read_literally,
)
from driftledger.benchmarks.mme.spec import PER_IMAGE, SUBTASKS
from driftledger.metrics.yes_no import image_score
from lab.entry import new_app, run

app = new_app(__doc__ or "")


def subtask(file: Path, read: Callable[[str], Parsed[bool]]) -> float:
    """Score one file: a line per question with image, question, right answer and reply, two lines
    per image."""
    right = []
    for line in file.read_text(encoding="utf-8").splitlines():
        _, _, truth, reply = line.split("\t")
        right.append(float(read(reply).value == (truth.lower() == "yes")))
    scores = []
    for place in range(0, len(right), PER_IMAGE):
        pair = right[place : place + PER_IMAGE]
        scores.append(image_score(pair) or 0.0)
    return mean(scores)


@app.command()
def main(folder: Path) -> None:
    """Print the scores of perception and cognition by each reader."""
    for name, read in (("tolerant", parse_yes_no), ("literal", read_literally)):
        for ability, subtasks in SUBTASKS.items():
            total = sum(subtask(folder / f"{each}.txt", read) for each in subtasks)
            print(f"{name} {ability}: {total:.2f}")


if __name__ == "__main__":
    run(app)

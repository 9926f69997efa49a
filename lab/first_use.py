"""What the first commands print, and how long each takes: ``python -m lab.first_use`` in the top
folder, a minute of CPU.

The commands are those of the quick start. Everything is real but the services, which name the
colour of an image roughly, each as well as the other, and the encoder, which finds colours in
words. README shows the price and the result without a generator.

``--programs FOLDER`` runs the ``driftledger`` of that folder, such as the ``bin`` of an environment
with the wheel, and ``--encoder FOLDER`` takes a checkpoint in place of the toy; then no page is
written.
"""

import base64
import re
import shlex
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from PIL import Image

from driftledger.core.files import write_text
from tests.acceptance import own_code
from tests.acceptance.checkout import Checkout, draw
from tests.support.server import ChatAnswer, Server, digest

README = Path("README.md")
QUICK_START = Path("docs/quick_start.md")
BEGIN = "<!-- python -m lab.first_use: begin -->\n"
END = "<!-- python -m lab.first_use: end -->"
PHOTOGRAPHS = 12
ENCODER = "qwen_3_vl_embedding_2b"
"""The encoder of the quick start, for which the toy stands in."""
WORST = 60
"""How far the colours that a service may name for one image lie apart."""
END_AT = {
    "plan": "missing",
    "run": "(self-retrieval recall|Cost, |Floor: )",
}
"""Command that README shows → how the line begins from which on it has no room."""


class Measured(NamedTuple):
    """A command, what it printed, and what it took."""

    command: str
    text: str
    """What it wrote to its standard output."""
    seconds: float
    cpu: float
    lines: int
    """Of both outputs; a bar of progress is one."""


def commands() -> Iterator[list[str]]:
    """Yield the commands of the quick start that need nothing but a shell."""
    page = QUICK_START.read_text(encoding="utf-8").split("\n## ")[1]
    for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL):
        for line in block.splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["driftledger"] and words[1] not in ("ui", "report"):
                yield words


def named(body: dict[str, Any]) -> ChatAnswer:
    """Name the mean colour of the last image of a request."""
    [url] = [
        part["image_url"]["url"]
        for part in body["messages"][-1]["content"]
        if part["type"] == "image_url"
    ]
    picture = Image.open(BytesIO(base64.b64decode(url.partition(",")[2])))
    colour = picture.convert("RGB").resize((1, 1)).tobytes()
    wrong = digest([body["model"], url])
    red, green, blue = (
        value + error % WORST - WORST // 2
        for value, error in zip(colour, wrong, strict=False)
    )
    return ChatAnswer(f"The colour of the image is {red}, {green}, {blue}.")


def measured(
    folder: Path, encoder: str | None, programs: Path | None
) -> Iterator[Measured]:
    """Run the commands of the quick start in a new repository."""
    project = Checkout(folder / "my-repository", folder / "state")
    for number in range(PHOTOGRAPHS):
        draw(project.root / "photos" / f"{number}.png", number)
    if encoder is None:
        toy = own_code.READER.replace("Hues", ENCODER.capitalize())
        own_code.write(project.root, toy=toy)
        encoder = f"toy:{ENCODER.capitalize()}"
    project.run("git", "init", "--quiet")
    project.env |= {"OPENAI_API_KEY": "sk-simulated", "COLUMNS": "100"}
    if programs:
        project.env["PYTHONPATH"] = ""
    with Server(reply=named) as server:
        address = ["--base-url", server.base_url, "--key-env", "OPENAI_API_KEY"]
        for words in commands():
            more = {"init": ["--encoder", encoder, *address], "add": address}
            program = str((programs or Path(sys.executable).parent) / words[0])
            before = getrusage(RUSAGE_CHILDREN)
            start = time.perf_counter()
            done = project.run(program, *words[1:], *more.get(words[1], []))
            seconds = time.perf_counter() - start
            after = getrusage(RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            printed = re.sub(r".*\r|.*call/s.*\n", "", done.stdout + done.stderr)
            yield Measured(
                shlex.join(words),
                done.stdout.rstrip(),
                seconds,
                cpu,
                lines=len(printed.splitlines()),
            )
            project.commit(words[1])


def shown(runs: list[Measured]) -> str:
    """Return the first plan and run with the part of their outputs that README has room for."""
    parts = []
    for name, end in END_AT.items():
        each = next(run for run in runs if run.command.split()[1] == name)
        head = re.split(rf"^(?={end})", each.text, maxsplit=1, flags=re.MULTILINE)[0]
        parts.append(f"$ {each.command}\n{head}".rstrip())
    return "```text\n" + "\n\n".join(parts) + "\n```\n"


def put(text: str) -> None:
    """Replace what README shows."""
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    write_text(README, f"{before}{BEGIN}{text}{END}{after}")


def main() -> None:
    """Replace what README shows, and print what commands took."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--encoder")
    parser.add_argument("--programs", type=Path)
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        runs = [*measured(Path(folder), given.encoder, given.programs)]
    print(f"{'command':72} {'s':>6} {'CPU s':>6} {'lines':>5}")
    for each in runs:
        took = f"{each.seconds:6.1f} {each.cpu:6.1f} {each.lines:5}"
        print(f"{each.command:72} {took}")
    if given == parser.parse_args([]):
        put(shown(runs))


if __name__ == "__main__":
    main()

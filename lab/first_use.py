"""What the first commands of README print: ``python -m lab.first_use`` in the top folder, a minute
of CPU.

Everything is real but the service, which describes and draws at random, and the encoder, which
compares colours.
"""

import re
import shlex
from pathlib import Path
from tempfile import TemporaryDirectory

from driftledger.core.files import write_text
from tests.acceptance import own_code
from tests.acceptance.checkout import Checkout, draw
from tests.acceptance.service import Service

README = Path("README.md")
BEGIN = "<!-- python -m lab.first_use: begin -->\n"
END = "<!-- python -m lab.first_use: end -->"
PHOTOGRAPHS = 12
LAST = {"plan": "all", "audit": "encoder"}
"""Command → how the last line begins that README has room for."""


def first_commands() -> list[list[str]]:
    """Return the commands with which README begins, with an encoder that needs no weights."""
    text = README.read_text(encoding="utf-8")
    [block] = re.findall(r"```console\n(.*?)```", text, re.DOTALL)[:1]
    block = block.replace("--encoder dinov2", "--encoder hues:hues")
    lines = block.replace("/dinov2:", "/hues:").splitlines()
    commands = [shlex.split(line, comments=True) for line in lines]
    return [command for command in commands if command[0] == "driftledger"]


def printed(folder: Path) -> str:
    """Return the commands of README, each with what it prints."""
    project = Checkout(folder / "my-repository", folder / "state")
    for number in range(PHOTOGRAPHS):
        draw(project.root / "photos" / f"{number}.png", number)
    own_code.write(project.root, hues=own_code.ENCODER)
    project.run("git", "init", "--quiet")
    project.env |= {"OPENAI_API_KEY": "sk-simulated", "COLUMNS": "100"}
    shown = []
    with Service() as service:
        service.listed = ["gpt-5.4-mini-2026-03-17", "gpt-image-2-2026-04-21"]
        address = ("--base-url", service.base_url, "--key-env", "OPENAI_API_KEY")
        for command in first_commands():
            name = command[1]
            if name == "ui":
                continue
            more = address if name == "init" else ()
            output = project.run(*command, *more).stdout.rstrip()
            project.commit(name)
            if name in LAST:
                lines = output.splitlines()
                last = [
                    n for n, line in enumerate(lines) if line.startswith(LAST[name])
                ]
                head = "\n".join(lines[: last[-1] + 1])
                shown.append(f"$ {' '.join(command)}\n{head}")
    return "\n\n".join(shown)


def main() -> None:
    """Replace what README shows."""
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    with TemporaryDirectory() as folder:
        text = printed(Path(folder)).replace("hues", "dinov2")
    write_text(README, f"{before}{BEGIN}```text\n{text}\n```\n{END}{after}")


if __name__ == "__main__":
    main()

"""Fetch the pictures of the study: ``python fetch.py FOLDER``.

``pictures.txt`` lists them: the SHA-256 and the path of each photograph in the Grocery Store
Dataset (Klasson et al., WACV 2019; MIT licence), at a commit of its repository. They are 20 of each
of five kinds of goods: of a kind's test photographs, sorted by path, every n/20-th.
"""

import hashlib
import sys
from http.client import HTTPException
from pathlib import Path
from urllib.request import urlopen

COMMIT = "fc80ba90f803d79d0383df52c5a4ac5de99ff6fc"
SOURCE = f"https://raw.githubusercontent.com/marcusklasson/GroceryStoreDataset/{COMMIT}"
LIST = Path(__file__).with_name("pictures.txt")
SECONDS = 30
"""How long a picture may take."""


def fetch(folder: Path, source: str = SOURCE, listed: Path = LIST) -> list[Path]:
    """Write each listed picture to ``folder/KIND/NAME``, and return the paths.

    Pictures that are there already, with the listed bytes, are not fetched again.

    Raises:
        SystemExit: a picture cannot be fetched, or has other bytes; it is not written.
    """
    paths = []
    for line in listed.read_text(encoding="utf-8").splitlines():
        digest, place = line.split("  ")
        kind, name = Path(place).parts[3], Path(place).name
        path = folder / kind / name
        paths.append(path)
        if path.is_file() and sha256(path.read_bytes()) == digest:
            continue
        try:
            with urlopen(f"{source}/{place}", timeout=SECONDS) as answer:
                content = answer.read()
        except (OSError, HTTPException) as error:
            stop(f"{source}/{place} cannot be fetched ({error}); run this again later")
        if sha256(content) != digest:
            stop(f"{source}/{place} has other bytes than {listed} lists; use no others")
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        part.write_bytes(content)
        part.replace(path)
    return paths


def sha256(content: bytes) -> str:
    """Return the digest as ``sha256sum`` writes it."""
    return hashlib.sha256(content).hexdigest()


def stop(reason: str) -> None:
    """End with exit code 2 and a sentence."""
    print(reason, file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        stop("name the folder for the pictures: python fetch.py FOLDER [SOURCE]")
    written = fetch(Path(sys.argv[1]), *sys.argv[2:])
    print(f"{len(written)} pictures in {sys.argv[1]}")

"""Where is this image from? ``driftledger audit`` over 10,000 originals that 100 runs have redrawn.

Run: python perf/audit.py (one minute, 1 GB of disk)

The ledger is made in a temporary folder: 20 models and 5 generators over one dataset, a million images in all, with
their records, DVC's manifests, score files and Git history, but without pixels, which an audit does not look at. Each
question is asked by a process of its own, whose start counts. *Cold* is the first question after everything was written
out and dropped from the page cache; *warm* is the median of those that follow. There is no index to build: every list
of images is searched for the hash.
"""

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import yaml
from _report import write

from driftledger.benchmarks.base import Stage
from driftledger.benchmarks.records import CARD, RECORDS
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import SCORE, Inputs, Score
from driftledger.components.card import ComponentCard
from driftledger.core.canonical import canonical_json
from driftledger.core.errors import LedgerError
from driftledger.core.files import write_json
from driftledger.core.terminal import show
from driftledger.ledger.audit.audit import as_tree
from driftledger.ledger.audit.query import parse_query
from driftledger.ledger.audit.sources import Sources
from driftledger.ledger.audit.targets import resolve_target
from driftledger.ledger.audit.touched import as_table, touched

SAMPLES, MODELS, GENERATORS = 10_000, 20, 5
REPEATS = 5
SPEC = benchmark("genception")
[CHAIN] = SPEC.collects
DESCRIPTION = (
    "A photograph of a harbour at dusk: two red boats, a white lighthouse, clouds, and gulls above the pier. " * 3
)


EMPTY = hashlib.md5(b"{}\n", usedforsecurity=False).hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ask", nargs=3, metavar=("KIND", "ROOT", "IMAGE"), help="ask one question in this process")
    asked = parser.parse_args().ask
    if asked is not None:
        ask(*asked)
        return
    with tempfile.TemporaryDirectory(prefix="driftledger-") as folder:
        started = time.perf_counter()
        root = Path(folder) / "ledger"
        make(root)
        print(f"made in {time.perf_counter() - started:.0f} s")
        results = {question: measure(root, asked) for question, asked in QUESTIONS.items()}
        lists = sum(file.stat().st_size for file in root.rglob("*.jsonl"))
    for question, measured in results.items():
        print(f"{question:<38}  cold {measured['cold_seconds']:>5.2f} s  warm {measured['warm_seconds']:>5.2f} s")
    sizes = {"originals": SAMPLES, "runs": MODELS * GENERATORS, "images": SAMPLES * (1 + MODELS * GENERATORS)}
    write("audit", sizes | {"lists_mb": lists // 1_000_000, "questions": results}, libraries=("dvc", "pyyaml"))


def hashed(*parts: object) -> str:
    return hashlib.sha256(canonical_json(list(map(str, parts))).encode()).hexdigest()


class Question(NamedTuple):
    """What is asked of which image, and what the answer must say."""

    kind: str
    image: str
    expected: str


QUESTIONS = {
    "an original": Question("audit", hashed("sample", SAMPLES // 2), "sample photo_05000 of dataset photos"),
    "an image of the last run": Question(
        "audit", hashed("drawn", MODELS - 1, GENERATORS - 1, SAMPLES - 1), "chains/photos/model_19/generator_4/images/"
    ),
    "an image that is nowhere": Question("audit", hashed("nowhere"), "there is no run, score file, image"),
    "the scores that an original is behind": Question("touched", hashed("sample", SAMPLES // 2), "\n100 scores\n"),
}


def ask(kind: str, root: str, image: str) -> None:
    """Ask, print the answer, and the peak memory of this process in MiB on standard error."""
    with Sources(Path(root)) as sources:
        try:
            if kind == "audit":
                show(as_tree(resolve_target(sources, image), sources))
            else:
                show(as_table(touched(sources, parse_query(image=image))))
        except LedgerError as error:
            print(error)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stderr)


def measure(root: Path, question: Question) -> dict[str, float]:
    forget(root)
    seconds, peaks = [], []
    for _ in range(1 + REPEATS):
        started = time.perf_counter()
        command = [sys.executable, __file__, "--ask", question.kind, str(root), question.image]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root)
        seconds.append(time.perf_counter() - started)
        if question.expected not in done.stdout:
            raise RuntimeError(f"the answer is wrong: {done.stdout[:1000]}")
        peaks.append(int(done.stderr.split()[-1]))
    cold, *warm = seconds
    return {"cold_seconds": round(cold, 2), "warm_seconds": round(median(warm), 2), "peak_mib": max(peaks)}


def forget(root: Path) -> None:
    """As after a restart: nothing remembered, and no file of the ledger in memory."""
    (root / ".driftledger" / "audit.db").unlink(missing_ok=True)
    os.sync()
    for file in root.rglob("*"):
        if file.is_file() and hasattr(os, "posix_fadvise"):
            with file.open("rb") as opened:
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def make(root: Path) -> None:
    """The ledger, committed."""
    root.mkdir()
    git(root, "init", "--quiet")
    (root / ".dvc").mkdir()
    (root / ".dvc" / "config").write_text("[core]\n    analytics = false\n")
    (root / ".gitignore").write_text("/data/\n/.driftledger/\n/.dvc/cache/\n/.dvc/tmp/\n")
    stages: dict[str, Any] = {}
    store(root, stages, SPEC.data, {"dataset": "photos"}, "dataset.json", "samples.jsonl", samples())
    for model in range(MODELS):
        for generator in range(GENERATORS):
            roles = {"model": f"model_{model}", "generator": f"generator_{generator}", "encoder": "encoder"}
            keys = {"dataset": "photos", **roles}
            store(root, stages, CHAIN, keys, CARD, RECORDS, records(model, generator))
            score(root, stages, keys, roles)
    text = yaml.dump({"schema": "2.0", "stages": stages}, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper))
    (root / "dvc.lock").write_text(text, encoding="utf-8")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "scores")


def samples() -> Iterator[dict[str, Any]]:
    for number in range(SAMPLES):
        name = f"photo_{number:05}"
        yield {
            "id": name,
            "file": f"images/{name}.png",
            "sha256": hashed("sample", number),
            "width": 512,
            "height": 512,
        }


def records(model: int, generator: int) -> Iterator[dict[str, Any]]:
    for number in range(SAMPLES):
        name = f"photo_{number:05}"
        hashes = {
            "image_sha256": hashed("drawn", model, generator, number),
            "parent_sha256": hashed("sample", number),
        }
        said = {"description": DESCRIPTION, "outcome": "ok", "served_model": f"model_{model}-2026", "seed": number}
        yield {"sample": name, "t": 1, "image": f"images/{name}/1.png", **hashes, **said}


def store(
    root: Path,
    stages: dict[str, Any],
    stage: Stage,
    keys: dict[str, str],
    card: str,
    listed: str,
    rows: Iterator[dict[str, Any]],
) -> None:
    """A folder with its list, and DVC's manifest of the list and the images; an MD5 here is the start of a SHA-256."""
    folder = root / stage.at(keys)
    folder.mkdir(parents=True)
    digest, files = hashlib.md5(usedforsecurity=False), []
    with (folder / listed).open("wb") as file:
        for row in rows:
            line = canonical_json(row).encode() + b"\n"
            file.write(line)
            digest.update(line)
            files.append(
                {"md5": (row.get("image_sha256") or row["sha256"])[:32], "relpath": row.get("image") or row["file"]}
            )
    (folder / card).write_bytes(b"{}\n")
    files += [{"md5": digest.hexdigest(), "relpath": listed}, {"md5": EMPTY, "relpath": card}]
    manifest = json.dumps(sorted(files, key=lambda each: each["relpath"]), sort_keys=True).encode()
    md5 = hashlib.md5(manifest, usedforsecurity=False).hexdigest()
    kept = root / ".dvc" / "cache" / "files" / "md5" / md5[:2] / f"{md5[2:]}.dir"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(manifest)
    out = {"path": stage.at(keys), "hash": "md5", "md5": f"{md5}.dir", "size": 1, "nfiles": len(files)}
    stages[stage.named(keys)] = {"cmd": f"driftledger {stage.name}", "outs": [out]}


def score(root: Path, stages: dict[str, Any], keys: dict[str, str], roles: dict[str, str]) -> None:
    """A score file, as small as one may be."""
    cards = {
        role: ComponentCard(
            name=name, fingerprint=hashed(role, name), provider=role, version="1", settings={}, identity={}
        )
        for role, name in roles.items()
    }
    made = Score(
        benchmark=SPEC.name,
        keys=keys,
        components=cards,
        metrics={"gc_at_1": 0.5},
        scored=SAMPLES,
        counted=SAMPLES,
        total=SAMPLES,
        coverage=1.0,
        inputs=Inputs(data_digest=hashed("photos"), records={}, protocol={"iterations": 1}, settings={}),
    )
    path = f"{SPEC.scores.at(keys)}/{SCORE}"
    write_json(root / path, made)
    data = (root / path).read_bytes()
    out = {"path": path, "hash": "md5", "md5": hashlib.md5(data, usedforsecurity=False).hexdigest(), "size": len(data)}
    stages[SPEC.scores.named(keys)] = {"cmd": f"driftledger {SPEC.name}", "outs": [out]}


def git(root: Path, *arguments: str) -> None:
    who = {f"GIT_{role}_{what}": "benchmark" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    subprocess.run(["git", *arguments], cwd=root, check=True, env=os.environ | who)


if __name__ == "__main__":
    main()

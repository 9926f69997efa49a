"""A real bundle of a small run, and what a forger who knows its form can make of it."""

import hashlib
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from driftledger.core.paths import Combination
from driftledger.ledger.bundle.write import write_bundle
from driftledger.ledger.lineage import Evidence, read_evidence
from driftledger.ledger.log import chain
from driftledger.project.project import Project
from driftledger_check import archive
from driftledger_check.archive import Archive
from driftledger_check.bundle import ENVIRONMENT, EVIDENCE, FILES, LINE, MANIFEST, Bundle, Digests
from driftledger_check.cli import check
from driftledger_check.links import run_fingerprint, sha256_of
from driftledger_check.report import Report
from driftledger_check.strict_json import canonical
from tests.conftest import REPOSITORY, Checkout, make_checkout

RUN = Combination("regions_medium", "painter", "layout")
DATASET, CHAINS = "data/datasets/my_images", "data/chains/my_images/regions_medium/painter"
SCORE = "reports/scores/genception/my_images/regions_medium/painter/layout"

STAGES = f"""
import sys
sys.path.append({str(REPOSITORY)!r})
from pathlib import Path
from driftledger.commands.resolve import resolve
from driftledger.project.project import Project
from tests.support.evaluation import build, evaluate
project = Project(Path.cwd())
resolve(project)
build(project)
evaluate(project)
"""


def make_published(folder: Path) -> None:
    """The smallest checkout, evaluated, and its run in the ledger."""
    made = make_checkout(folder)
    made.run(sys.executable, "-c", STAGES)
    listed = made.run("dvc", "stage", "list", "--all", "--name-only").stdout.split()
    made.run("dvc", "commit", "--force", *(each for each in listed if each not in ("report", "correlation", "track")))
    made.commit("scores")
    publish(made)


def publish(made: Checkout) -> None:
    """Write the line of the run, as ``track`` does."""
    chain.append(made.root / "ledger.jsonl", [evidence_of(made)], made.root / ".driftledger" / "lock")
    made.commit("published")


def evidence_of(made: Checkout) -> Evidence:
    return read_evidence(made.root, Project(made.root).selected, RUN)


def bundled(made: Checkout, out: Path, *, images: bool = True) -> Path:
    write_bundle(Project(made.root), evidence_of(made), out, images=images)
    return out


class Forger:
    """The members of a bundle, to be changed."""

    def __init__(self, path: Path) -> None:
        with Archive(path.open("rb")) as opened:
            self.members = {name: opened.read(name) for name in opened.names}

    @property
    def said(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.members[MANIFEST])
        return found

    def json(self, name: str, change: Callable[[Any], object]) -> None:
        """Change a JSON member, in its one form where it must be."""
        value = json.loads(self.members[name])
        change(value)
        pretty = json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False).encode() + b"\n"
        self.members[name] = pretty if name.startswith(FILES) else canonical(value)

    def row(self, name: str, change: Callable[[dict[str, Any]], object], number: int = 0) -> None:
        """Change a line of a JSONL file of the project."""
        rows = [json.loads(line) for line in self.members[FILES + name].splitlines()]
        change(rows[number])
        self.members[FILES + name] = b"".join(canonical(row) + b"\n" for row in rows)

    def put(self, path: str, data: bytes) -> None:
        """Put or replace a file of the project."""
        self.members[FILES + path] = data

    def rehash(self) -> None:
        """Let ``bundle.json`` have the hash of all that is there, and nothing else."""

        def change(said: dict[str, Any]) -> None:
            paths = {name.removeprefix(FILES): data for name, data in self.members.items() if name.startswith(FILES)}
            said["files"] = {path: Digests.of(data).to_dict() for path, data in paths.items()}
            others = {name: data for name, data in self.members.items() if not name.startswith((FILES, MANIFEST))}
            said["members"] = {name: Digests.of(data).sha256 for name, data in others.items()}

        self.json(MANIFEST, change)

    def follow(self) -> None:
        """Let lock entries, score, fingerprint and the ledger's line say of the files what they now are: all that an
        owner can write who knows the design."""
        said = self.said

        def measured(locked: dict[str, Any]) -> None:
            path = locked["path"]
            named = said["files"] | said["left_out"]
            if path in named:
                locked.update(md5=named[path]["md5"], size=named[path]["bytes"])
            elif inside := {name: each for name, each in named.items() if name.startswith(f"{path}/")}:
                rows = [{"md5": each["md5"], "relpath": name[len(path) + 1 :]} for name, each in sorted(inside.items())]
                md5 = hashlib.md5(json.dumps(rows, sort_keys=True).encode()).hexdigest()
                locked.update(md5=f"{md5}.dir", size=sum(each["bytes"] for each in inside.values()), nfiles=len(rows))

        def change(evidence: dict[str, Any]) -> None:
            for lineage in evidence["lineages"]:
                for locked in (lineage["score_file"], lineage["rows_file"], lineage["data"]):
                    measured(locked)
                for locked in lineage["collected"].values():
                    measured(locked)
                for entry in lineage["stages"].values():
                    for locked in (*entry["deps"], *entry["outs"]):
                        measured(locked)

        self.rehash()
        said = self.said
        self.json(EVIDENCE, change)
        self.seal()

    def seal(self) -> None:
        """Let the fingerprint be that of the evidence, and the line that of both."""

        def fingerprint(evidence: dict[str, Any]) -> None:
            evidence["fingerprint"] = found

        def line(value: dict[str, Any]) -> None:
            value["fingerprint"] = found
            value["evidence_sha256"] = Digests.of(self.members[EVIDENCE]).sha256
            del value["line_sha256"]
            value["line_sha256"] = sha256_of(value)

        self.rehash()
        with Archive(self._file()) as opened:
            found = run_fingerprint(Bundle(opened))
        self.json(EVIDENCE, fingerprint)
        if LINE in self.members:
            self.json(LINE, line)
        self.json(MANIFEST, lambda said: said["run"].update(fingerprint=found))
        self.rehash()

    def write(self, path: Path) -> Path:
        path.write_bytes(self._file().getvalue())
        return path

    def check(self, folder: Path) -> Report:
        """What the checker says of it."""
        return check(self.write(folder / "forged.zip"))

    def _file(self) -> io.BytesIO:
        file = io.BytesIO()
        archive.write(file, {name: lambda data=data: data for name, data in self.members.items()})  # type: ignore[misc]
        return file


def differing(report: Report) -> list[str]:
    """Where and what of all that differs."""
    return [
        f"{each.where}: {each.what}" for some in report.groups.values() for each in some if each.status == "differs"
    ]


__all__ = ["ENVIRONMENT", "Forger", "bundled", "differing", "make_published"]

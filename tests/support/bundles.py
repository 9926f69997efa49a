"""A forger of bundles, who knows their form and can make all hashes fit."""

import io
import json
from functools import cache
from pathlib import Path
from typing import Any

from driftledger.core.canonical import canonical_json, sha256_bytes, sha256_of
from driftledger.ledger.bundles import archive
from driftledger.ledger.bundles.archive import Archive
from driftledger.ledger.bundles.checking import check, compute, open_score
from driftledger.ledger.bundles.reading import (
    EVIDENCE,
    FILES,
    LEDGER,
    LISTINGS,
    MANIFEST,
    Bundle,
    digests,
)
from driftledger.ledger.bundles.report import Report
from driftledger.ledger.links import folders_of, run_fingerprint
from driftledger.ledger.objects.files import listing_bytes, listing_md5
from tests.support.forging import change


def canonical(value: Any) -> bytes:
    return canonical_json(value).encode()


known = cache(digests)
"""Of a forged bundle, nearly all members are those of the bundle before."""


class Forger:
    """The members of a bundle, to be changed."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            opened = Archive(file)
            self.members = {name: opened.read(name) for name in opened.sizes}

    def read(self, name: str) -> Any:
        """Read a JSON member."""
        return json.loads(self.members[name])

    def lines(self, name: str) -> list[Any]:
        """Read the lines of a JSONL member."""
        return [json.loads(line) for line in self.members[name].splitlines()]

    def names(self, start: str) -> list[str]:
        """List the members whose names begin so."""
        return sorted(name for name in self.members if name.startswith(start))

    def put(self, name: str, *at: str | int, **to: Any) -> None:
        """Put the value ``to`` at a place in a member, or remove what is there."""
        change(self.members, {"in": name, "at": at, **to})

    def add(self, name: str, *at: str | int, item: Any) -> None:
        """Add an item to a list in a member."""
        change(self.members, {"in": name, "at": at, "item": item})

    def rehash(self) -> None:
        """Let ``bundle.json`` have the hash of all members that there are."""
        manifest = self.read(MANIFEST) | {"files": {}, "members": {}}
        for name, data in self.members.items():
            if name.startswith(FILES):
                manifest["files"][name.removeprefix(FILES)] = known(data)
            elif name != MANIFEST:
                manifest["members"][name] = known(data)["sha256"]
        self.members[MANIFEST] = canonical(manifest)

    def follow(self) -> None:
        """Make listings, lock entries, fingerprint and published file fit to the files as they are:
        all that an owner can write."""
        self.rehash()
        manifest = self.read(MANIFEST)
        named = manifest["files"] | manifest["left_out"]
        evidence = self.members[EVIDENCE].decode()
        places: dict[str, dict[str, str]] = {}
        for lineage in json.loads(evidence)["lineages"]:
            for folder in folders_of(lineage):
                places.setdefault(folder["md5"], {})[folder["path"]] = folder["out"]
        sizes = {}
        for md5, folders in places.items():
            listing = json.loads(self.members.pop(LISTINGS + md5))
            files = {row["relpath"]: row["md5"] for row in listing}
            for path, out in folders.items():
                for name in [*files]:
                    if f"{out}/{name}".startswith(f"{path}/"):
                        del files[name]
                for name, file in named.items():
                    if name.startswith(f"{path}/"):
                        files[name.removeprefix(f"{out}/")] = file["md5"]
            now = listing_md5(files)
            self.members[LISTINGS + now] = listing_bytes(files)
            sizes[now] = len(files)
            evidence = evidence.replace(md5, now)
        content = json.loads(evidence)
        for lineage in content["lineages"]:
            for entry in lineage["stages"].values():
                for each in (*entry["outs"], *entry["deps"]):
                    if each["md5"] in sizes:
                        each["nfiles"] = sizes[each["md5"]]
        self.members[EVIDENCE] = canonical(content)
        self._seal()

    def _seal(self) -> None:
        """Let the fingerprint be that of the scores, and publish the run once more."""
        self.rehash()
        bundle = self.opened()
        scores = {each["folder"]["path"]: each["score"] for each in bundle.lineages}
        fingerprint = run_fingerprint(bundle.evidence["combination"], scores)
        self.put(EVIDENCE, "fingerprint", to=fingerprint)
        self.put(MANIFEST, "run", "fingerprint", to=fingerprint)
        for name in self.names(LEDGER):
            published = json.loads(self.members.pop(name))
            published["fingerprint"] = fingerprint
            for score in published["scores"]:
                folder = f"{FILES}{score['path']}/"
                score["score"] = sha256_bytes(self.members[f"{folder}score.json"])
                score["rows"] = sha256_bytes(self.members[f"{folder}rows.jsonl"])
                score["inputs"] = sha256_of(self.read(f"{folder}score.json")["inputs"])
            self.members[f"{LEDGER}{sha256_of(published)}.json"] = canonical(published)
        self.rehash()

    def fit(self, encoder: str, top: Path) -> None:
        """Let the scores of an encoder have the numbers that its features give, and all hashes fit
        to them."""
        bundle = self.opened()
        for lineage in bundle.lineages:
            stored = lineage["score"]
            cards = stored["components"].values()
            if encoder not in [card["fingerprint"] for card in cards]:
                continue
            again, _ = compute(bundle, open_score(bundle, lineage, top))
            kept = {key: stored[key] for key in ("components", "inputs", "driftledger")}
            folder = f"{FILES}{lineage['folder']['path']}/"
            score = stored | again.score.to_dict() | kept
            self.members[f"{folder}score.json"] = canonical(score)
            rows = [canonical(row.to_dict()) + b"\n" for row in again.rows]
            self.members[f"{folder}rows.jsonl"] = b"".join(rows)
        self.follow()

    def write(self, path: Path) -> Path:
        path.write_bytes(self._file().getvalue())
        return path

    def check(self, folder: Path) -> Report:
        """Return what the checker says of it."""
        return check(self.write(folder / "forged.zip"))

    def opened(self) -> Bundle:
        """Open the bundle as it is now."""
        return Bundle(Archive(self._file()))

    def _file(self) -> io.BytesIO:
        file = io.BytesIO()
        archive.write(
            file, {name: lambda data=data: data for name, data in self.members.items()}
        )
        return file


def differing(report: Report) -> list[str]:
    """List where and what of all that differs."""
    lines = [line for lines in report.groups.values() for line in lines]
    return [f"{line.where}: {line.what}" for line in lines if line.status == "differs"]

"""What somebody who forges a bundle and knows its form can do with it."""

import hashlib
import io
import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from driftledger.core.canonical import canonical_json, sha256_of
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
from driftledger.ledger.lineage import run_fingerprint
from driftledger.ledger.links import folders_of
from tests.support.ledgers import number_in


def canonical(value: Any) -> bytes:
    return canonical_json(value).encode()


known = cache(digests)
"""Of a forged bundle, nearly all members are those of the bundle before."""


def below(content: Any, key: str | int) -> Any:
    """Return what is at a key of a JSON value; in a score also a number, by its name."""
    if isinstance(key, str) and key not in content and "numbers" in content:
        return number_in(content, key)
    return content[key]


class Forger:
    """The members of a bundle, to be changed."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            opened = Archive(file)
            self.members = {name: opened.read(name) for name in opened.sizes}

    @property
    def manifest(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.members[MANIFEST])
        return found

    def json(self, name: str, change: Callable[[Any], object]) -> None:
        """Change a JSON member, in its one form where it must be."""
        value = json.loads(self.members[name])
        change(value)
        pretty = (
            json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False).encode()
            + b"\n"
        )
        self.members[name] = pretty if name.startswith(FILES) else canonical(value)

    def put(self, name: str, at: Sequence[str | int], to: Any) -> None:
        """Put a value at a place in a member, or remove what is there; ``*`` is every item.

        The place in a JSONL file begins with the number of a line.
        """
        *above, last = at

        def change(value: Any) -> None:
            holders = [value]
            for key in above:
                each = [
                    holder if key == "*" else [below(holder, key)] for holder in holders
                ]
                holders = [item for items in each for item in items]
            for holder in holders:
                if to is None:
                    del holder[last]
                else:
                    holder[last] = to

        if name.endswith(".jsonl"):
            number, *above = above
            self.row(name.removeprefix(FILES), change, number)
        else:
            self.json(name, change)

    def remove(self, start: str) -> None:
        """Remove all members whose names begin so."""
        kept = {
            name: data
            for name, data in self.members.items()
            if not name.startswith(start)
        }
        assert kept != self.members
        self.members = kept

    def row(
        self, name: str, change: Callable[[dict[str, Any]], object], number: int = 0
    ) -> None:
        """Change a line of a JSONL file of the project."""
        rows = [json.loads(line) for line in self.members[FILES + name].splitlines()]
        change(rows[number])
        self.members[FILES + name] = b"".join(canonical(row) + b"\n" for row in rows)

    def rehash(self) -> None:
        """Let ``bundle.json`` have the hash of all members that there are."""

        def change(manifest: dict[str, Any]) -> None:
            paths = {
                name.removeprefix(FILES): data
                for name, data in self.members.items()
                if name.startswith(FILES)
            }
            manifest["files"] = {path: known(data) for path, data in paths.items()}
            others = {
                name: data
                for name, data in self.members.items()
                if not name.startswith((FILES, MANIFEST))
            }
            manifest["members"] = {
                name: known(data)["sha256"] for name, data in others.items()
            }

        self.json(MANIFEST, change)

    def follow(self) -> None:
        """Make listings, lock entries, fingerprint and published file fit to the files as they are:
        all that an owner can write."""
        self.rehash()
        named = self.manifest["files"] | self.manifest["left_out"]
        renamed = dict[str, str]()
        lineages = json.loads(self.members[EVIDENCE])["lineages"]
        for folder in {
            str(each): each for lineage in lineages for each in folders_of(lineage)
        }.values():
            md5, out, path = (
                renamed.get(folder["md5"], folder["md5"]),
                folder["out"],
                folder["path"],
            )
            files = {
                row["relpath"]: row["md5"]
                for row in json.loads(self.members[f"{LISTINGS}{md5}"])
            }
            start = f"{path}/".removeprefix(f"{out}/")
            here = {
                name[len(out) + 1 :]: each["md5"]
                for name, each in named.items()
                if name.startswith(f"{path}/")
            }
            files = {
                name: each for name, each in files.items() if not name.startswith(start)
            } | here
            rows = [
                {"md5": each, "relpath": name} for name, each in sorted(files.items())
            ]
            data = json.dumps(rows, sort_keys=True).encode()
            now = hashlib.md5(data).hexdigest() + ".dir"
            del self.members[f"{LISTINGS}{md5}"]
            self.members[f"{LISTINGS}{now}"] = data
            renamed |= {key: now for key, value in renamed.items() if value == md5} | {
                folder["md5"]: now
            }
        for old, now in renamed.items():
            self.members[EVIDENCE] = self.members[EVIDENCE].replace(
                old.encode(), now.encode()
            )

        def nfiles(evidence: dict[str, Any]) -> None:
            for entry in (
                entry
                for lineage in evidence["lineages"]
                for entry in lineage["stages"].values()
            ):
                for each in (*entry["outs"], *entry["deps"]):
                    if (listing := f"{LISTINGS}{each['md5']}") in self.members:
                        each["nfiles"] = len(json.loads(self.members[listing]))

        self.json(EVIDENCE, nfiles)
        self.seal()

    def seal(self) -> None:
        """Let the fingerprint be that of the scores, and publish the run once more."""
        self.rehash()
        bundle = Bundle(Archive(self._file()))
        scores = {each["folder"]["path"]: each["score"] for each in bundle.lineages}
        found = run_fingerprint(bundle.evidence["combination"], scores)
        self.json(EVIDENCE, lambda evidence: evidence.update(fingerprint=found))
        self.json(MANIFEST, lambda manifest: manifest["run"].update(fingerprint=found))
        for name in [name for name in self.members if name.startswith(LEDGER)]:
            published = json.loads(self.members.pop(name)) | {"fingerprint": found}
            for score in published["scores"]:
                files = {
                    end: self.members[f"{FILES}{score['path']}/{end}"]
                    for end in ("score.json", "rows.jsonl")
                }
                inputs = sha256_of(json.loads(files["score.json"])["inputs"])
                hashes = {
                    end[:5].strip(".j"): digests(data)["sha256"]
                    for end, data in files.items()
                }
                score |= {
                    "score": hashes["score"],
                    "rows": hashes["rows"],
                    "inputs": inputs,
                }
            self.members[f"{LEDGER}{sha256_of(published)}.json"] = canonical(published)
        self.rehash()

    def fit(self, encoder: str) -> None:
        """Let the scores of an encoder have the numbers that its features give, and all hashes fit
        to them."""
        bundle = Bundle(Archive(self._file()))
        for lineage in bundle.lineages:
            if encoder not in [
                card["fingerprint"] for card in lineage["score"]["components"].values()
            ]:
                continue
            path = lineage["folder"]["path"]
            with TemporaryDirectory() as top:
                again, _ = compute(bundle, open_score(bundle, lineage, Path(top)))
            made = again.score.to_dict()
            kept = {key: lineage["score"][key] for key in ("components", "inputs")}
            kept["driftledger"] = lineage["score"]["driftledger"]
            self.json(
                f"{FILES}{path}/score.json",
                lambda old, new=made | kept: old.update(new),
            )
            rows = [canonical(row.to_dict()) + b"\n" for row in again.rows]
            self.members[f"{FILES}{path}/rows.jsonl"] = b"".join(rows)
        self.follow()

    def write(self, path: Path) -> Path:
        path.write_bytes(self.content)
        return path

    def check(self, folder: Path) -> Report:
        """What the checker says of it."""
        return check(self.write(folder / "forged.zip"))

    @property
    def content(self) -> bytes:
        """The bundle as it is now."""
        return self._file().getvalue()

    def _file(self) -> io.BytesIO:
        file = io.BytesIO()
        archive.write(
            file, {name: lambda data=data: data for name, data in self.members.items()}
        )
        return file


def differing(report: Report) -> list[str]:
    """Where and what of all that differs."""
    return [
        f"{each.where}: {each.what}"
        for some in report.groups.values()
        for each in some
        if each.status == "differs"
    ]

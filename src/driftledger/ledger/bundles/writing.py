"""``bundle``: write everything behind a run into one file.

The same run gives the same bytes, from any clone.
"""

import io
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from driftledger import __version__
from driftledger.collect.features import FeatureStore, Number, Seen
from driftledger.core.canonical import (
    Json,
    canonical_json,
    open_regular,
    sha256_bytes,
)
from driftledger.core.errors import LedgerError, first_few
from driftledger.core.files import read_regular
from driftledger.ledger.bundles import archive, reading
from driftledger.ledger.bundles.archive import BundleError
from driftledger.ledger.lineage import Run
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.objects.files import listing_bytes
from driftledger.ledger.published import read_published
from driftledger.ledger.verify.replay import recompute
from driftledger.project.project import NOTED_SETTINGS, Project


@dataclass
class KeptFeatures(FeatureStore):
    """A feature store that remembers the features of a checkout's encoders.

    An encoder that was fitted to a corpus asks no store; ``check`` computes its features again.
    """

    rows: dict[str, dict[str, NDArray[np.float32]]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    """Encoder → SHA-256 of each image or text → its features."""

    def get(
        self,
        encoder: str,
        seen: Seen,
        batch: Sequence[str],
        make: Callable[[], NDArray[Number]],
    ) -> NDArray[Number]:
        features = super().get(encoder, seen, batch, make)
        if seen != "readings":
            digests = (
                batch
                if seen == "images"
                else [sha256_bytes(text.encode()) for text in batch]
            )
            for digest, row in zip(digests, features, strict=True):
                self.rows[encoder].setdefault(digest, row.astype("<f4"))
        return features

    def members(self) -> dict[str, bytes]:
        """Return the members of a bundle that hold the features of each encoder.

        An encoder with features of several widths has none.
        """
        members = {}
        for encoder, features in self.rows.items():
            digests = sorted(features)
            rows = [features[digest] for digest in digests]
            if len({row.shape for row in rows}) == 1:
                table = io.BytesIO()
                np.save(table, np.stack(rows), allow_pickle=False)
                text = "\n".join([*digests, ""])
                members[f"{reading.FEATURES}{encoder}.npy"] = table.getvalue()
                members[f"{reading.FEATURES}{encoder}.txt"] = text.encode()
        return members


def write_bundle(
    project: Project, run: Run, out: Path, *, images: bool = True
) -> list[str]:
    """Write everything behind a run into one file, and describe it in sentences.

    The file appears complete or not at all.

    Args:
        images: whether images are in it, or only their hashes.

    Raises:
        LedgerError: something behind the run is missing or does not hold, the run was not
            published, or the file at ``out`` is not a bundle.
    """
    if not out.parent.is_dir():
        raise LedgerError(
            f"the folder {out.parent} for {out.name} does not exist; make it first"
        )
    if out.exists() and not (out.is_file() and is_bundle(out)):
        raise LedgerError(
            f"{out} is not a bundle; move it away, or name another file with -o"
        )
    contents = Contents(project.root, trust=project.own_code)
    folders = run.folders
    if absent := [folder.path for folder in folders if not contents.has(folder)]:
        raise LedgerError(f"{first_few(absent)} is not here; run 'dvc pull' first")
    # those of others may be forged
    features = KeptFeatures(project.state / "features" if project.own_code else None)
    recomputed = recompute(project, run.lineages, contents, features=features)
    if recomputed.findings:
        finding = recomputed.findings[0]
        raise LedgerError(
            f"nothing is bundled: {finding.where}: {finding.what}; run 'driftledger verify' to see "
            "all of it"
        )
    named = {
        "name": run.name,
        "combination": [*run.combination],
        "fingerprint": run.fingerprint,
    }
    small = _evidence(project, run, named) | features.members()
    notes = [f"to know: {each.where}: {each.why}" for each in recomputed.skipped]
    held = Json()
    left_out = Json()
    members = {}
    for folder in folders:
        listing = contents.output(folder.out, folder.md5)
        small[reading.LISTINGS + folder.md5] = listing_bytes(listing)
        files = contents.manifest(folder)
        if contents.listing_here(folder.path) not in ({}, files):
            notes.append(
                f"to know: {folder.path} has changed here; the bundle has what dvc.lock names"
            )
        for name, md5 in files.items():
            path = f"{folder.path}/{name}"
            file = contents.path(md5, path)
            assert file is not None  # all of it is here
            digests = reading.digests(read_regular(file))
            if images or path.endswith((".json", ".jsonl")):
                held[path] = digests
                members[reading.FILES + path] = partial(read_regular, file)
            else:
                left_out[path] = digests
    manifest = {
        "schema": reading.SCHEMA,
        "driftledger": __version__,
        "kind": reading.KIND,
        "run": named,
        "files": held,
        "left_out": left_out,
        "members": {name: sha256_bytes(data) for name, data in small.items()},
    }
    small[reading.MANIFEST] = canonical_json(manifest).encode()
    for name, data in small.items():
        members[name] = partial(bytes, data)
    partial_file = out.with_name(out.name + ".partial")
    try:
        with partial_file.open("wb") as output:
            archive.write(output, members)
        partial_file.replace(out)
    except BundleError as error:
        raise LedgerError(f"{out} {error}; try --without-images") from None
    finally:
        partial_file.unlink(missing_ok=True)
    left = f" and the hashes of {len(left_out):,} images" if left_out else ""
    return [
        f"{out}: {run.name}, {len(held):,} files{left}, {out.stat().st_size / 1e6:.1f} MB",
        *notes[:5],
        f"'driftledger check {out.name}' checks it",
    ]


def _evidence(project: Project, run: Run, named: Json) -> dict[str, bytes]:
    """Return the members with the lineages of a run, and its published file.

    Raises:
        LedgerError: the run was not published, or settings behind it are lost.
    """
    evidence = named | {"lineages": [], "code": run.code.model_dump(mode="json")}
    for name, entry in run.stages.items():
        if any(isinstance(noted, str) for noted in entry.noted.values()):
            raise LedgerError(
                f"{NOTED_SETTINGS} lacks the settings that {name} ran with; run 'dvc repro' first"
            )
    for lineage in run.lineages:
        content = lineage.model_dump(mode="json", by_alias=True, exclude={"score"})
        evidence["lineages"].append(content)
    for published in read_published(project.root):
        if published.fingerprint == run.fingerprint:
            return {
                reading.EVIDENCE: canonical_json(evidence).encode(),
                published.file: canonical_json(published.to_dict()).encode(),
            }
    raise LedgerError(f"{run.name} is not published; run 'driftledger track' first")


def is_bundle(path: Path) -> bool:
    """Return True if a file has the form of a bundle."""
    try:
        with open_regular(path) as file:
            reading.Bundle(archive.Archive(file))
    except (BundleError, OSError):
        return False
    return True

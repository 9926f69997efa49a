"""One file with everything behind a run, which :mod:`driftledger_check` checks without this
package.

The same run gives the same bytes, from whichever clone and however often.
"""

import io
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from driftledger.collect.features import OF_FILES, FeatureStore, Modality, Number
from driftledger.core.canonical import Json, canonical_json, open_regular, sha256_bytes, sha256_of
from driftledger.core.errors import LedgerError, first_few
from driftledger.core.files import read_regular
from driftledger.ledger.lineage import Run
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.objects.files import listing_bytes
from driftledger.ledger.published import read_published
from driftledger.ledger.verify.replay import recompute
from driftledger.project.project import Project
from driftledger_check import archive, bundle
from driftledger_check.archive import BundleError


@dataclass
class KeptFeatures(FeatureStore):
    """The feature store of a checkout, which remembers what encoders gave. An encoder that was
    fitted to a corpus asks no store, and who checks computes its features again."""

    rows: dict[str, dict[str, NDArray[np.float32]]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    """Encoder → SHA-256 of each image or text → its features."""

    def get(
        self,
        encoder: str,
        seen: Modality,
        batch: Sequence[str],
        make: Callable[[], NDArray[Number]],
    ) -> NDArray[Number]:
        features = super().get(encoder, seen, batch, make)
        if seen != "readings":
            digests = batch if seen in OF_FILES else [sha256_bytes(text.encode()) for text in batch]
            for digest, row in zip(digests, features, strict=True):
                self.rows[encoder].setdefault(digest, row.astype("<f4"))
        return features

    def members(self) -> dict[str, bytes]:
        """The members of a bundle that hold the features of each encoder; none of one with several
        widths."""
        members = {}
        for encoder, of_encoder in self.rows.items():
            rows = sorted(of_encoder.items())
            table = io.BytesIO()
            if len({row.shape for _, row in rows}) == 1:
                np.save(table, np.stack([row for _, row in rows]), allow_pickle=False)
                digests = "".join(f"{digest}\n" for digest, _ in rows)
                members[f"{bundle.FEATURES}{encoder}.npy"] = table.getvalue()
                members[f"{bundle.FEATURES}{encoder}.txt"] = digests.encode()
        return members


def write_bundle(project: Project, evidence: Run, out: Path, *, images: bool = True) -> list[str]:
    """Write everything behind a run into one file, which appears whole or not at all; say what is
    in it.

    Args:
        images: whether images are in it, or only their hashes.

    Raises:
        LedgerError: something behind the run is missing or does not hold, the run was not
            published, or the file at ``out`` is not a bundle.
    """
    if not out.parent.is_dir():
        raise LedgerError(f"the folder {out.parent} for {out.name} does not exist; make it first")
    if out.exists() and not (out.is_file() and is_bundle(out)):
        raise LedgerError(f"{out} is not a bundle; move it away, or name another file with -o")
    contents = Contents(project.root, trust=project.own_code)
    folders = list(
        dict.fromkeys(each for lineage in evidence.lineages for each in lineage.folders.values())
    )
    if absent := [each.path for each in folders if not contents.has(each)]:
        raise LedgerError(f"{first_few(absent)} is not here; run 'dvc pull' first")
    # those of others may be forged
    features = KeptFeatures(project.state / "features" if project.own_code else None)
    recomputed = recompute(project, evidence.lineages, contents, features=features)
    if recomputed.findings:
        first = recomputed.findings[0]
        raise LedgerError(
            f"nothing is bundled: {first.where}: {first.what}; run 'driftledger verify' to see "
            "all of it"
        )
    published = next(
        (each for each in read_published(project.root) if each.fingerprint == evidence.fingerprint),
        None,
    )
    if published is None:
        raise LedgerError(f"{evidence.name} is not published; run 'driftledger track' first")
    run = {
        "name": evidence.name,
        "combination": [*evidence.combination],
        "fingerprint": evidence.fingerprint,
    }
    lineages = [
        each.model_dump(mode="json", by_alias=True, exclude={"score"}) for each in evidence.lineages
    ]
    code = evidence.code.model_dump(mode="json")
    small = {
        bundle.EVIDENCE: canonical_json(run | {"lineages": lineages, "code": code}).encode(),
        f"{bundle.LEDGER}{sha256_of(published.to_dict())}.json": canonical_json(
            published.to_dict()
        ).encode(),
        **features.members(),
    }
    small |= {
        bundle.LISTINGS + each.md5: listing_bytes(contents.output(each.out, each.md5))
        for each in folders
    }
    held = Json()
    left_out = Json()
    members = dict[str, Callable[[], bytes]]()
    for folder in folders:
        for name, md5 in contents.manifest(folder).items():
            path = f"{folder.path}/{name}"
            file = contents.path(md5, f"{folder.path}/{name}")
            assert file is not None  # all of it is here
            if images or path.endswith((".json", ".jsonl")):
                held[path] = bundle.digests(read_regular(file))
                members[bundle.FILES + path] = partial(read_regular, file)
            else:
                left_out[path] = bundle.digests(read_regular(file))
    manifest = {
        "schema": bundle.SCHEMA,
        "kind": bundle.KIND,
        "run": run,
        "files": held,
        "left_out": left_out,
        "members": {name: sha256_bytes(data) for name, data in small.items()},
    }
    members |= {name: partial(bytes, data) for name, data in small.items()}
    members[bundle.MANIFEST] = lambda: canonical_json(manifest).encode()
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
    notes = dict.fromkeys(f"to know: {each.where}: {each.why}" for each in recomputed.skipped)
    return [
        f"{out}: {evidence.name}, {len(held):,} files{left}, {out.stat().st_size / 1e6:.1f} MB",
        *list(notes)[:5],
        f"'driftledger check {out.name}' checks it",
    ]


def is_bundle(path: Path) -> bool:
    """Whether a file has the form of a bundle."""
    try:
        with open_regular(path) as file:
            bundle.Bundle(archive.Archive(file))
    except (BundleError, OSError):
        return False
    return True

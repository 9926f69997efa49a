"""A checkout as ``dvc repro`` and ``git commit`` leave it: real bytes, known to DVC's cache and to Git."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from driftledger.benchmarks.records import RECORDS
from driftledger.benchmarks.score import Score
from driftledger.components.card import ComponentCard
from driftledger.core.canonical import sha256_file, sha256_of
from driftledger.core.files import write_json, write_jsonl
from driftledger.core.paths import Paths
from driftledger.data.records import DatasetCard, SampleEntry, dataset_digest
from driftledger.ledger.objects.files import listing_md5
from tests.support.ledgers import (
    CHAINS,
    COMBINATION,
    DATA,
    SCORE_FILE,
    component,
    genception_row,
    genception_score,
    lock_of,
    md5_of,
    varied,
    write_collected,
    write_image,
    write_scored,
)

SAMPLES = {"disc": (200, 0, 0), "ring": (200, 30, 0)}


def version(name: str, **changes: Any) -> ComponentCard:
    """A component whose fingerprint depends on what is changed."""
    return component(name, **changes).model_copy(update={"fingerprint": sha256_of([name, changes])})


class Audited:
    """One dataset, one model, one generator, one encoder, over and over."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.paths = Paths(root)
        self.dataset, self.chains, self.score_path = root / DATA, root / CHAINS, root / SCORE_FILE
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main")
        (root / ".dvc").mkdir()
        (root / ".dvc" / "config").write_text("[core]\n    analytics = false\n    no_scm = true\n")
        (root / ".gitignore").write_text("/data/\n/.driftledger/\n/.dvc/cache/\n/.dvc/tmp/\n")
        run = {"datasets": ["shapes"], "genception": ["shapes"]}
        run |= {f"{role}s": [name] for role, name in COMBINATION._asdict().items()}
        (root / "params.yaml").write_text(yaml.safe_dump({"run": run}))

    def produce(
        self,
        *,
        samples: Mapping[str, tuple[int, int, int]] = SAMPLES,
        said: str = "a disc",
        value: float = 0.7,
        paints: int = 0,
        **changes: Any,
    ) -> Score:
        """Write data, records, score and lock; ``paints`` is what drawn images look like.

        Args:
            changes: of the components and the protocol, as :func:`varied` takes them.
        """
        score = varied(genception_score(), **changes)
        score = score.model_copy(update={"metrics": score.metrics | {"gc_at_2": value}})
        for folder in (self.dataset, self.chains):
            shutil.rmtree(folder, ignore_errors=True)
        score = varied(score, data_digest=self._dataset(samples))
        score = varied(score, records={"chain": self._chain(samples, said, paints, score)})
        write_scored(self.root, score, [genception_row(sample, [0.9, 0.6], [0.9, value]) for sample in samples])
        lock = yaml.safe_dump(lock_of(self.root, score), sort_keys=False)
        for number, folder in ("1", self.dataset), ("2", self.chains):
            lock = lock.replace(number * 32 + ".dir", self._stored(folder))
        (self.root / "dvc.lock").write_text(lock)
        return score

    def commit(self, message: str, date: str = "2026-03-01T12:00:00+00:00") -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message, GIT_AUTHOR_DATE=date, GIT_COMMITTER_DATE=date)
        return self.git("rev-parse", "HEAD").strip()

    def image(self, sample: str, t: int = 0) -> Path:
        """The original, or what was drawn at ``t``."""
        if t == 0:
            return self.dataset / "images" / f"{sample}.png"
        return self.chains / "images" / sample / f"{t}.png"

    def _dataset(self, samples: Mapping[str, tuple[int, int, int]]) -> str:
        entries = []
        for sample, colour in samples.items():
            write_image(self.image(sample), colour)
            file = {"id": sample, "file": f"images/{sample}.png", "sha256": sha256_file(self.image(sample))}
            entries.append(SampleEntry(**file, category="round", width=40, height=30, source={"file": f"{sample}.jpg"}))
        write_jsonl(self.dataset / "samples.jsonl", entries)
        digest = dataset_digest(entries)
        card = {"name": "shapes", "provider": "image_folder", "settings": {}, "source": {"kind": "folder"}}
        counts = {"samples": len(entries), "categories": {"round": len(entries)}, "groups": {}}
        write_json(self.dataset / "dataset.json", DatasetCard(**card, **counts, digest=digest))
        return digest

    def _chain(self, samples: Mapping[str, Any], said: str, paints: int, score: Score) -> str:
        records = []
        for number, sample in enumerate(samples):
            for t in (1, 2):
                write_image(self.image(sample, t), (paints, 30 * number, 100 * t))
                hashes = {
                    "image_sha256": sha256_file(self.image(sample, t)),
                    "parent_sha256": sha256_file(self.image(sample, t - 1)),
                }
                image = {"image": f"images/{sample}/{t}.png", "description": said, "revised_prompt": f"{said}, revised"}
                served = {"served_model": "seer-2026", "seed": 1000 + t}
                records.append({"sample": sample, "t": t, "outcome": "ok", **image, **served, **hashes})
        return sha256_file(write_collected(self.root, score, "chain", records) / RECORDS)

    def _stored(self, folder: Path) -> str:
        """Put a folder into DVC's cache, and say what DVC calls it."""
        files = {}
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                files[path.relative_to(folder).as_posix()] = self._object(path.read_bytes())
        rows = [{"md5": md5, "relpath": name} for name, md5 in sorted(files.items())]
        self._object(json.dumps(rows, sort_keys=True).encode(), ".dir")
        return listing_md5(files)

    def _object(self, data: bytes, ending: str = "") -> str:
        md5 = md5_of(data)
        path = self.root / ".dvc" / "cache" / "files" / "md5" / md5[:2] / f"{md5[2:]}{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return md5

    def git(self, *arguments: str, **environment: str) -> str:
        names = {
            "GIT_AUTHOR_NAME": "t",
            "GIT_AUTHOR_EMAIL": "t@x",
            "GIT_COMMITTER_NAME": "t",
            "GIT_COMMITTER_EMAIL": "t@x",
        }
        env = os.environ | names | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull} | environment
        done = subprocess.run(["git", *arguments], cwd=self.root, env=env, capture_output=True, text=True, check=True)
        return done.stdout


def audited_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Audited:
    """In which nothing has been produced yet; DVC keeps to ``folder`` as well."""
    monkeypatch.setenv("DVC_SITE_CACHE_DIR", str(folder / "site"))
    monkeypatch.setenv("DVC_GLOBAL_CONFIG_DIR", str(folder / "global"))
    return Audited(folder / "checkout")

"""A checkout as ``dvc repro`` and ``git commit`` leave it: real bytes, known to DVC's cache and to Git."""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from driftledger.benchmarks.genception.records import ChainRecord, SampleScore, ScoreFile
from driftledger.components.card import ComponentCard
from driftledger.core.canonical import sha256_file, sha256_of
from driftledger.core.files import write_json, write_jsonl
from driftledger.core.paths import Combination, Layout, samples_file
from driftledger.core.types import Outcome
from driftledger.data.records import DatasetCard, SampleEntry
from driftledger.ledger.audit.audit import as_tree
from driftledger.ledger.audit.found import RunTarget
from driftledger.ledger.audit.logged import LoggedRuns
from driftledger.ledger.audit.sources import Sources
from driftledger.ledger.lineage import Evidence, Selected
from driftledger.ledger.objects.manifests import manifest_md5
from tests.support.ledgers import COMBINATION, chain_card, component, lock_of, score_file, with_chain, write_image

SELECTED = Selected(["shapes"])
SAMPLES = {"disc": (200, 0, 0), "ring": (200, 30, 0)}


def version(name: str, **changes: Any) -> ComponentCard:
    """A component whose fingerprint hangs on what is changed."""
    return component(name, **changes).model_copy(update={"fingerprint": sha256_of([name, changes])})


class Audited:
    """One dataset, one model, one generator, one encoder, over and over."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.layout = Layout(root)
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
        **cards: Any,
    ) -> ScoreFile:
        """Write data, records, score and lock; ``paints`` is what drawn images look like."""
        score = with_chain(score_file(), **cards)
        score = score.model_copy(update={"metrics": score.metrics | {"gc_at_2": value}})
        for folder in (self.layout.dataset("shapes"), self.layout.chain("shapes", "seer", "brush")):
            shutil.rmtree(folder, ignore_errors=True)
        digest = self._dataset(samples)
        records = self._chain(samples, said, paints, score)
        inputs = score.inputs.model_copy(update={"dataset_digest": digest, "records_sha256": records})
        score = score.model_copy(update={"inputs": inputs})
        write_json(self.score_path, score)
        values: dict[str, Any] = {
            "category": "round",
            "outcome": Outcome.OK,
            "similarity": [0.9, 0.6],
            "gc": [0.9, value],
        }
        write_jsonl(samples_file(self.score_path), [SampleScore(sample=sample, **values) for sample in samples])
        lock = yaml.safe_dump(lock_of(self.root, score), sort_keys=False)
        for number, folder in ("1", "data/datasets/shapes"), ("2", "data/chains/shapes/seer/brush"):
            lock = lock.replace(number * 32 + ".dir", self._stored(folder))
        (self.root / "dvc.lock").write_text(lock)
        return score

    def commit(self, message: str, date: str = "2026-03-01T12:00:00+00:00") -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message, GIT_AUTHOR_DATE=date, GIT_COMMITTER_DATE=date)
        return self.git("rev-parse", "HEAD").strip()

    def sources(
        self, mlflow: LoggedRuns | None = None, combinations: tuple[Combination, ...] = (COMBINATION,)
    ) -> Sources:
        return Sources(self.layout, SELECTED, combinations, mlflow=mlflow)

    def image(self, sample: str, t: int = 0) -> Path:
        """The original, or what was drawn at ``t``."""
        if t == 0:
            return self.layout.dataset("shapes") / "images" / f"{sample}.png"
        return self.layout.chain("shapes", "seer", "brush") / "images" / sample / f"{t}.png"

    @property
    def score_path(self) -> Path:
        return self.layout.scores("genception", "shapes", COMBINATION)

    def _dataset(self, samples: Mapping[str, tuple[int, int, int]]) -> str:
        folder, entries = self.layout.dataset("shapes"), []
        for sample, colour in samples.items():
            write_image(self.image(sample), colour)
            file = {"id": sample, "file": f"images/{sample}.png", "sha256": sha256_file(self.image(sample))}
            entries.append(SampleEntry(**file, category="round", width=40, height=30, source={"file": f"{sample}.jpg"}))
        write_jsonl(folder / "samples.jsonl", entries)
        digest = sha256_of(["shapes", *(entry.sha256 for entry in entries)])
        card = {"name": "shapes", "provider": "image_folder", "settings": {}, "source": {"kind": "folder"}}
        counts = {"samples": len(entries), "categories": {"round": len(entries)}, "groups": {}}
        write_json(folder / "dataset.json", DatasetCard(**card, **counts, digest=digest))
        return digest

    def _chain(self, samples: Mapping[str, Any], said: str, paints: int, score: ScoreFile) -> str:
        folder, records = self.layout.chain("shapes", "seer", "brush"), []
        for number, sample in enumerate(samples):
            for t in (1, 2):
                write_image(self.image(sample, t), (paints, 30 * number, 100 * t))
                hashes = {
                    "image_sha256": sha256_file(self.image(sample, t)),
                    "parent_sha256": sha256_file(self.image(sample, t - 1)),
                }
                image = {"image": f"images/{sample}/{t}.png", "description": said, "revised_prompt": f"{said}, revised"}
                served = {"served_model": "seer-2026", "seed": 1000 + t}
                records.append(ChainRecord(sample=sample, t=t, outcome=Outcome.OK, **image, **served, **hashes))
        write_jsonl(folder / "records.jsonl", records)
        chain = score.inputs.chain
        write_json(
            folder / "components.json", chain_card(**{key: getattr(chain, key) for key in ("model", "generator")})
        )
        return sha256_file(folder / "records.jsonl")

    def _stored(self, folder: str) -> str:
        """Put a folder into DVC's cache, and say what DVC calls it."""
        top, files = self.root / folder, {}
        for path in sorted(top.rglob("*")):
            if path.is_file():
                files[path.relative_to(top).as_posix()] = self._object(path.read_bytes())
        rows = [{"md5": md5, "relpath": name} for name, md5 in sorted(files.items())]
        self._object(json.dumps(rows, sort_keys=True).encode(), ".dir")
        return manifest_md5(files)

    def _object(self, data: bytes, ending: str = "") -> str:
        md5 = hashlib.md5(data, usedforsecurity=False).hexdigest()
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


def empty(root: Path) -> Sources:
    """A folder with nothing of a ledger in it."""
    return Sources(Layout(root), SELECTED, (COMBINATION,))


def run_text(evidence: Evidence) -> str:
    """What an audit tells a person about a run in the working tree."""
    return as_tree(RunTarget(evidence, "dvc.lock"), empty(Path()))

"""How an owner who knows the whole design raises a score, and what finds it.

Run as ``python -m lab.forgeries RUN`` in the top folder of an evaluated checkout, which stays as it is: every forgery
is made in a copy. It writes ``reports/perf/forgeries.json`` there.

The forger mends what there is to mend: later stages run over what was forged, every hash in the locks is made to fit,
and the run gets its line in the ledger. Components are patched while they run, as by somebody who edits an installed
package, so that no record tells of it. Which calls then differ is found by making all of them again, once; in how many
of 200 verifications one of these is among the drawn is counted over that many lots.
"""

import hashlib
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import yaml
from PIL import Image

from driftledger.benchmarks.records import RECORDS
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import METRICS, SCORE, Score
from driftledger.benchmarks.writing import dvc_metrics
from driftledger.collect.features import FeatureStore
from driftledger.commands import stages
from driftledger.commands import verify as verifying
from driftledger.core.canonical import canonical_json, pretty_json
from driftledger.core.files import read_jsonl, write_json
from driftledger.core.types import Conversation, Generated, Reply
from driftledger.data.question_sets.files import CARD, QUESTIONS, QuestionEntry, questions_digest
from driftledger.data.records import SampleEntry, dataset_digest, read_samples
from driftledger.ledger.compare.compare import compare
from driftledger.ledger.findings import VerifyResult
from driftledger.ledger.lineage import Evidence, Lineage, read_evidence
from driftledger.ledger.lock import locks_here
from driftledger.ledger.log.chain import append
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.verify.components import Components
from driftledger.ledger.verify.regenerate import draw_lots, make_again, own_seed, pools_behind
from driftledger.project.project import Project

LOTS = 200
COUNTS = (20, 100, 300)
"""How many calls a verification makes again."""

_SHOWN = 5
"""Findings of each that the results keep."""

Rows = list[dict[str, Any]]


class Forger:
    """A checkout in the hands of its owner."""

    def __init__(self, root: Path, run: str) -> None:
        """Args:
        run: ``model/generator/encoder``.
        """
        self.root, self.run = root, run

    @property
    def project(self) -> Project:
        """Read anew each time."""
        return Project(self.root)

    @property
    def evidence(self) -> Evidence:
        """Of the run."""
        project = self.project
        [combination] = [each for each in project.combinations if "/".join(each) == self.run]
        return read_evidence(self.root, project.selected, combination)

    def lineage(self, name: str) -> Lineage:
        """What stands behind the run's first score of a benchmark."""
        return next(each for each in self.evidence.lineages if each.score.benchmark == name)

    def output(self, name: str, stage: str) -> str:
        """The folder that a stage of a benchmark wrote, or that of the data, relative to the top folder."""
        lineage = self.lineage(name)
        return lineage.collected.get(stage, lineage.data).path

    def rows(self, path: str) -> Rows:
        """The lines of a JSONL file."""
        return [json.loads(line) for line in (self.root / path).read_text(encoding="utf-8").splitlines()]

    def write_rows(self, path: str, rows: Rows) -> None:
        """Replace a JSONL file, and mend the locks."""
        self.write(path, "".join(canonical_json(row) + "\n" for row in rows).encode())

    def change_json(self, path: str, change: Callable[[dict[str, Any]], object]) -> None:
        """Change a JSON file, and mend the locks."""
        content = json.loads((self.root / path).read_bytes())
        change(content)
        self.write(path, pretty_json(content).encode())

    def change_score(self, folder: str, change: Callable[[dict[str, Any]], object]) -> None:
        """Change a score, its numbers for DVC, and the hashes of both."""
        self.change_json(f"{folder}/{SCORE}", change)
        score = Score.model_validate_json((self.root / folder / SCORE).read_bytes())
        metrics = dvc_metrics(benchmark(score.benchmark), score)
        self.write(f"{folder}/{METRICS}", pretty_json(metrics).encode())

    def write(self, path: str, data: bytes) -> None:
        """Replace a file, which may be a link into DVC's cache, and mend the locks."""
        file = self.root / path
        file.unlink()
        file.write_bytes(data)
        self.mend(path)

    def mend(self, *paths: str) -> None:
        """Let the locks have the hashes of what now stands at or around paths."""

        def follow(entries: dict[str, Any]) -> None:
            for entry in entries.values():
                for locked in (*entry.get("deps", []), *entry.get("outs", [])):
                    there = locked["path"]
                    if any(f"{path}/".startswith(f"{there}/") or there.startswith(f"{path}/") for path in paths):
                        locked.update(_locked(self.root / there))

        self.change_locks(follow)

    def change_locks(self, change: Callable[[dict[str, Any]], object]) -> None:
        """Change the stages of every lock."""
        for file in locks_here(self.root):
            path = self.root / file
            lock = yaml.safe_load(path.read_text(encoding="utf-8"))
            change(lock["stages"])
            path.write_text(yaml.safe_dump(lock, sort_keys=False), encoding="utf-8")

    def remake(self, name: str, *names: str) -> None:
        """Run stages of a benchmark anew, as whatever is patched will have it, with nothing in the stores."""
        keys = self.lineage(name).score.keys
        shutil.rmtree(self.root / ".driftledger", ignore_errors=True)
        spec = benchmark(name)
        for stage in (each for each in (*spec.collects, spec.scores) if each.name in names or each is spec.scores):
            stages.run_stage(self.project, name, stage.name, [keys[key] for key in stage.keys])
            self.mend(stage.at(keys))

    def publish(self) -> None:
        """Give the run its line in the ledger."""
        append(self.project.paths.ledger, [self.evidence], self.root / ".driftledger" / "track.lock")

    def component(self, name: str, role: str) -> type[Any]:
        """The class of what played a role in a benchmark."""
        found = Components.of(self.project).get(self.lineage(name).score.components[role], role)
        return type(found)


def _locked(path: Path) -> dict[str, Any]:
    if path.is_file():
        return {"md5": _md5(path.read_bytes()), "size": path.stat().st_size}
    files = [file for file in sorted(path.rglob("*")) if file.is_file()]
    rows = [{"md5": _md5(file.read_bytes()), "relpath": file.relative_to(path).as_posix()} for file in files]
    md5 = _md5(json.dumps(sorted(rows, key=lambda row: row["relpath"]), sort_keys=True).encode())
    return {"md5": f"{md5}.dir", "size": sum(file.stat().st_size for file in files), "nfiles": len(files)}


def _md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


# The forgeries.


def draw_the_original(forger: Forger, name: str, chosen: Callable[[dict[str, Any]], bool], *, last: bool) -> None:
    """Let the generator give the photograph itself, made small, for the chosen samples: at the last iteration alone, on
    which no later call stands, or at all of them."""
    stage = benchmark(name).collects[0].name
    records = [each for each in forger.rows(f"{forger.output(name, stage)}/{RECORDS}") if each["image"]]
    ends = {each["sample"]: each["t"] for each in records}
    originals = {sample.id: sample.image for sample in read_samples(forger.root / forger.output(name, "dataset"))}
    seeds = {
        each["seed"]: originals[each["sample"]]
        for each in records
        if chosen(each) and (not last or each["t"] == ends[each["sample"]])
    }
    cls = forger.component(name, "generator")
    honest = cls.generate

    def generate(self: Any, prompts: Sequence[str], given: Sequence[int]) -> list[Generated]:
        made = honest(self, prompts, given)
        return [
            Generated(_like(seeds[seed].open(), each)) if seed in seeds else each
            for seed, each in zip(given, made, strict=True)
        ]

    with patch.object(cls, "generate", generate):
        forger.remake(name, stage)


def _like(image: Image.Image, drawn: Generated) -> Image.Image:
    return image.resize(drawn.image.size if drawn.image else image.size)


def outside_a_foreseen_sample(forger: Forger) -> None:
    """Last drawings that a verification of 20 calls, seeded by the run's seed, would not look at."""
    with _pools(forger) as pools:
        seen = {call.where for _, call in draw_lots(pools, 20, forger.project.settings.run.seed)}
    folder = forger.output("genception", "chain")
    ends = {each["sample"]: f"{folder}/{each['image']}" for each in forger.rows(f"{folder}/{RECORDS}")}
    forged = [sample for sample, image in ends.items() if image not in seen][:9]
    draw_the_original(forger, "genception", lambda record: record["sample"] in forged, last=True)


def one_drawing(forger: Forger) -> None:
    """The last drawing of one chain."""
    first = forger.rows(f"{forger.output('genception', 'chain')}/{RECORDS}")[0]["sample"]
    draw_the_original(forger, "genception", lambda record: record["sample"] == first, last=True)


def all_drawings(forger: Forger) -> None:
    """Every drawing of every chain."""
    draw_the_original(forger, "genception", lambda record: True, last=False)


def redrawings(forger: Forger) -> None:
    """A quarter of the redrawings."""
    samples = {each["sample"] for each in forger.rows(f"{forger.output('fidelity', 'redraw')}/{RECORDS}")}
    forged = set(sorted(samples)[::4])
    draw_the_original(forger, "fidelity", lambda record: record["sample"] in forged, last=True)


def better_descriptions(forger: Forger) -> None:
    """A model whose code looks more closely than its version does, in a tenth of the chains' calls."""
    cls, calls = forger.component("genception", "model"), [0]
    honest = cls.respond

    def respond(self: Any, conversations: Sequence[Conversation]) -> list[Reply]:
        made = honest(self, conversations)
        better = honest(self.model_copy(update={"detail": "fine"}), conversations)
        calls[0] += len(made)
        return [
            sharp if each.subject is not None and hashlib.sha256(each.subject.sample.encode()).digest()[0] < 64 else own
            for each, own, sharp in zip(conversations, made, better, strict=True)
        ]

    with patch.object(cls, "respond", respond):
        forger.remake("genception", "chain")


def right_answers(forger: Forger) -> None:
    """Every twentieth of a model's answers to MM-SAP, made right."""
    questions = {each["id"]: each for each in forger.rows(f"{forger.output('mm_sap', 'question_set')}/{QUESTIONS}")}
    file = f"{forger.output('mm_sap', 'answer')}/{RECORDS}"
    rows = forger.rows(file)
    for row in rows[::20]:
        question = questions[row["question"]]
        right = question["refusal"] if question["answer"] is None else question["answer"]
        row["text"] = chr(ord("A") + row["order"].index(right))
    forger.write_rows(file, rows)
    forger.remake("mm_sap", "grade")


def higher_grades(forger: Forger) -> None:
    """A judge's 0 turned into 1 for every fifth answer that has it."""
    file = f"{forger.output('mm_vet', 'grade')}/{RECORDS}"
    rows = forger.rows(file)
    low = list(dict.fromkeys(row["question"] for row in rows if row["grade"] == 0.0))[::5]
    for row in rows:
        if row["question"] in low:
            row["grade"], row["replies"][-1]["text"] = 1.0, "1.0"
    forger.write_rows(file, rows)
    forger.remake("mm_vet")


def trimmed_dataset(forger: Forger) -> None:
    """The quarter of the samples that score lowest, gone from the dataset before anything was asked."""
    lineage, folder = forger.lineage("genception"), forger.output("genception", "dataset")
    values = {row["unit"]: row["values"]["gc"][-1] for row in forger.rows(lineage.rows_file.path)}
    entries = read_jsonl(forger.root / folder / "samples.jsonl", SampleEntry)
    worst = set(sorted(values, key=lambda unit: values[unit])[: len(values) // 4])
    categories = {each.category for each in entries}
    for category in categories:  # each keeps one
        own = [each.id for each in entries if each.category == category]
        if worst >= set(own):
            worst.remove(max(own, key=lambda unit: values[unit]))
    kept = [each for each in entries if each.id not in worst]
    for each in entries:
        if each.id in worst:
            (forger.root / folder / each.file).unlink()
    counts = {
        str(category): sum(each.category == category for each in kept) for category in sorted(map(str, categories))
    }
    told = {"samples": len(kept), "digest": dataset_digest(kept), "categories": counts}
    forger.change_json(f"{folder}/dataset.json", lambda card: card.update(told))
    forger.write_rows(f"{folder}/samples.jsonl", [json.loads(canonical_json(each.to_dict())) for each in kept])
    for name in ("genception", "fidelity"):
        forger.remake(name, *(stage.name for stage in benchmark(name).collects))


def edited_truth(forger: Forger) -> None:
    """In every tenth question of MM-SAP, the option that the model chose becomes the right one."""
    folder = forger.output("mm_sap", "question_set")
    chose = {
        row["question"]: row["order"]["ABCDE".index(row["text"])]
        for row in forger.rows(f"{forger.output('mm_sap', 'answer')}/{RECORDS}")
        if row["text"] in tuple("ABCDE")
    }
    rows = forger.rows(f"{folder}/{QUESTIONS}")
    for row in [row for row in rows if row["answer"] is not None and chose.get(row["id"]) != row["refusal"]][::10]:
        row["answer"] = chose.get(row["id"], row["answer"])
    digest = questions_digest([QuestionEntry.model_validate(row) for row in rows])
    forger.write_rows(f"{folder}/{QUESTIONS}", rows)
    forger.change_json(f"{folder}/{CARD}", lambda card: card.update(digest=digest))
    forger.remake("mm_sap", "answer", "grade")


def best_of_seeds(forger: Forger) -> None:
    """Five seeds, and the one with the highest score."""
    made: dict[int, float] = {}

    def run(seed: int) -> None:
        params = yaml.safe_load((forger.root / "params.yaml").read_text(encoding="utf-8"))
        params["run"]["seed"] = seed
        (forger.root / "params.yaml").write_text(yaml.safe_dump(params, sort_keys=False), encoding="utf-8")
        forger.remake("genception", "chain")
        made[seed] = headline(forger, "genception")

    for seed in range(1, 6):
        run(seed)
    best = max(made, key=lambda seed: made[seed])
    run(best)
    names = {stage.named(forger.lineage("genception").score.keys) for stage in benchmark("genception").stages}

    def follow(entries: dict[str, Any]) -> None:
        for name in names & entries.keys():
            params = entries[name].get("params", {}).get("params.yaml", {})
            params.update({"run.seed": best} if "run.seed" in params else {})

    forger.change_locks(follow)


def edited_rows(forger: Forger) -> None:
    """Higher values in rows, and the score that these give."""
    lineage = forger.lineage("genception")
    key, value = lineage.spec.headline(lineage.score)
    rows = forger.rows(lineage.rows_file.path)
    for row in rows:
        row["values"]["gc"][-1] += 0.05
    forger.write_rows(lineage.rows_file.path, rows)
    folder, raised = lineage.score_file.path.rpartition("/")[0], {key: (value or 0.0) + 0.05}
    forger.change_score(folder, lambda score: score["metrics"].update(raised))


def forged_features(forger: Forger) -> None:
    """A feature store in which every image looks more like every other."""
    honest = FeatureStore.get

    def get(self: FeatureStore, encoder: str, seen: Any, batch: Sequence[str], make: Callable[[], Any]) -> Any:
        features = honest(self, encoder, seen, batch, make)
        return features + 2 * features.mean(axis=0, keepdims=True) if seen == "images" else features

    with patch.object(FeatureStore, "get", get):
        forger.remake("genception")


class Forgery(NamedTuple):
    """A way to raise a score."""

    name: str
    benchmark: str
    """Whose headline it raises."""
    forge: Callable[[Forger], object]


FORGERIES = (
    Forgery("nine drawings outside of a foreseen sample", "genception", outside_a_foreseen_sample),
    Forgery("one drawing of one chain", "genception", one_drawing),
    Forgery("every drawing of every chain", "genception", all_drawings),
    Forgery("a quarter of the redrawings", "fidelity", redrawings),
    Forgery("a model whose code does otherwise under its version", "genception", better_descriptions),
    Forgery("every twentieth answer made right", "mm_sap", right_answers),
    Forgery("a judge's grades raised", "mm_vet", higher_grades),
    Forgery("the worst quarter of a dataset left out", "genception", trimmed_dataset),
    Forgery("the truth of questions edited", "mm_sap", edited_truth),
    Forgery("the best of five seeds", "genception", best_of_seeds),
    Forgery("rows and score edited together", "genception", edited_rows),
    Forgery("a forged feature store", "genception", forged_features),
)


# What finds them.


def headline(forger: Forger, name: str) -> float:
    """The number that everybody looks at."""
    lineage = forger.lineage(name)
    return lineage.spec.headline(lineage.score)[1] or 0.0


def _pools(forger: Forger) -> Any:
    project = forger.project
    return pools_behind([forger.evidence], Contents(forger.root), Components.of(project), VerifyResult())


class Measured(NamedTuple):
    """What came of a forgery."""

    before: float
    after: float
    verified: list[str]
    """What verifying found without a call made again."""
    differ: int
    """How many calls differ when all are made again."""
    calls: int
    found: dict[int, float]
    """How many calls are made again → in which share of verifications a differing one is among them."""
    compared: list[str]
    """Why a comparison with the honest run is refused."""


def measure(forgery: Forgery, forger: Forger, counts: Sequence[int] = COUNTS) -> Measured:
    """Forge, mend, publish, and look how it is found."""
    honest, before = forger.evidence, headline(forger, forgery.benchmark)
    forgery.forge(forger)
    forger.publish()
    result = verifying.verify(forger.project, forger.run, regenerated=0).result
    with _pools(forger) as pools:
        calls = [call for pool in pools.values() for call in pool.calls]
        wrong = {call.where for call in calls if make_again(call).findings}
        found = {
            count: sum(any(call.where in wrong for _, call in draw_lots(pools, count, own_seed())) for _ in range(LOTS))
            / LOTS
            for count in counts
        }
    reasons = compare(honest, forger.evidence, Contents(forger.root)).reasons
    findings = [f"{each.kind}: {each.where}: {each.what}" for each in result.findings[:_SHOWN]]
    return Measured(before, headline(forger, forgery.benchmark), findings, len(wrong), len(calls), found, reasons)


def table(results: dict[str, dict[str, Any]]) -> list[str]:
    """A row of docs/trust.md for each forgery."""
    rows = []
    for name in (forgery.name for forgery in FORGERIES if forgery.name in results):
        told = results[name]
        before, after = (f"{told[key]:.3f}" if told[key] < 1 else f"{told[key]:.1f}" for key in ("before", "after"))
        found = [f"{told['found'][str(count)]:.2f}" for count in COUNTS]
        if told["verified"]:
            found = ["`verify`, always", "", ""]
        elif told["compared"]:
            found = ["0, and `compare` refuses", "", ""]
        cells = [name, f"{before} → {after}", f"{told['differ']:,}", *found]
        rows.append(f"| {' | '.join(cells)} |".replace("  |", " |"))
    return rows


def main() -> int:
    """Forge in copies of this checkout, print a table, and write the results."""
    root, run, chosen = Path.cwd(), sys.argv[1], sys.argv[2:]
    file = root / "reports" / "perf" / "forgeries.json"
    results: dict[str, Any] = json.loads(file.read_bytes())["forgeries"] if chosen and file.is_file() else {}
    for forgery in FORGERIES:
        if chosen and not any(word in forgery.name for word in chosen):
            continue
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "checkout"
            left = shutil.ignore_patterns(".venv", ".driftledger", "mlartifacts", "mlflow.db*", "trio")
            shutil.copytree(root, copy, symlinks=True, ignore=left)
            measured = measure(forgery, Forger(copy, run))
        results[forgery.name] = measured._asdict()
        print(f"{forgery.name}: {measured}", flush=True)
        write_json(file, {"run": run, "lots": LOTS, "forgeries": results})
    return 0


if __name__ == "__main__":
    sys.exit(main())

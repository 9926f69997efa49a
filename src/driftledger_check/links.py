"""Whether the parts of a bundle are what they say of one another: bytes, lock entries, records, fingerprints."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from driftledger_check import bundle as names
from driftledger_check.archive import ArchiveError
from driftledger_check.bundle import COMBINATION, RESOLVED, Bundle, ProjectFolder, own_keys
from driftledger_check.lines import Line
from driftledger_check.strict_json import canonical

_SECTIONS = {
    "model": "models",
    "witness": "models",
    "example_model": "models",
    "generator": "generators",
    "encoder": "encoders",
    "text_encoder": "encoders",
    "example_encoder": "encoders",
}
"""Role in a score → the section of ``data/resolved.json`` that has its fingerprint; the judge's is ``judge``."""
_RECORDS, _CARD = "records.jsonl", "components.json"
_QUESTION_EXTRAS = ("schema", "image", "source", "notes")
"""What the digest of a question set is not over."""
_MAY_BE_EMPTY = ("groups", "curves", "outcomes", "absent", "served", "flags", "details")
"""What the evidence leaves out of a score where it is empty."""


def sha256_of(value: Any) -> str:
    """Of canonical JSON: how fingerprints are made."""
    return hashlib.sha256(canonical(value)).hexdigest()


def same(where: str, said: object, found: object, what: str) -> Line:
    """What one part says, and what ``what`` gives."""
    if said == found and type(said) is type(found):
        return Line(where, "reproduced")
    return Line(where, "differs", f"it is {said!s:.80}, and {what} gives {found!s:.80}")


def wrong(where: str, what: str) -> Line:
    return Line(where, "differs", what)


def guarded(where: str, check: Callable[..., Iterable[Line]], *given: Any) -> list[Line]:
    """The lines of a check; one that stumbles over what it reads has found that it cannot be followed."""
    made: list[Line] = []
    try:
        made.extend(check(*given))
    except Exception as error:  # whatever a stranger's file makes of it is a finding, and never a crash
        made.append(wrong(where, f"it cannot be followed: {type(error).__name__}: {error!s:.200}"))
    return made


def check_files(bundle: Bundle) -> Iterator[Line]:
    """Every member is named by ``bundle.json`` with its hash, and all that it names are there."""
    held = {names.FILES + path: digests for path, digests in bundle.files.items()}
    for name in bundle.archive.names:
        if name in (names.MANIFEST, names.STATEMENT):
            continue
        try:
            found = names.Digests.of(bundle.archive.read(name))
        except ArchiveError as error:
            yield wrong(name, f"the file {error}")
            continue
        if name in held:
            yield same(name, held[name], found, "what is there")
        elif name in bundle.members and _is_known(name, bundle):
            yield same(name, bundle.members[name], found.sha256, "what is there")
        else:
            yield wrong(name, "nothing names it: it was put in")
    for name in sorted((held.keys() | bundle.members.keys()) - set(bundle.archive.names)):
        yield wrong(name, f"{names.MANIFEST} names it, and it is not there")
    for path in bundle.left_out:
        yield Line(names.FILES + path, "not checkable", "only its hashes are in the bundle")


def _is_known(name: str, bundle: Bundle) -> bool:
    fixed = (names.EVIDENCE, names.ENVIRONMENT, names.LINE, names.PROOF, names.CHECKPOINT)
    beside = (names.BESIDE + sha256 for each in bundle.lineages for sha256 in bundle.beside(each).values())
    features = (f"{names.FEATURES}{each}.{ending}" for each in bundle.components for ending in ("npy", "txt"))
    return name in (*fixed, *beside, *features)


def check_links(bundle: Bundle) -> Iterator[Line]:
    """Files, folders, lock entries, records and images belong together."""
    said = {key: bundle.evidence[key] for key in ("name", "combination", "fingerprint")}
    yield same(f"{names.MANIFEST}: run", dict(bundle.run), said, names.EVIDENCE)
    seen: set[str] = set()
    folders: set[str] = set()
    for lineage in bundle.lineages:
        place, data = lineage["score_file"]["path"], lineage["data"]
        yield from guarded(place, _score, bundle, lineage)
        for locked in (lineage["score_file"], lineage["rows_file"], data, *lineage["collected"].values()):
            yield from _written(lineage, locked)
            if (key := str(locked)) not in seen:
                yield from guarded(locked["path"], _locked, bundle, locked)
            seen.add(key)
        if data["path"] not in folders:
            yield from guarded(data["path"], _data, bundle.folder(data["path"]))
        for stage, locked in lineage["collected"].items():
            path = locked["path"]
            if path not in folders:
                yield from guarded(path, _collected, bundle, lineage, stage)
            yield from guarded(path, _told, bundle, lineage, stage)
        folders |= {data["path"], *(each["path"] for each in lineage["collected"].values())}
    tops = {each["path"] for lineage in bundle.lineages for each in (lineage["score_file"], lineage["rows_file"])}
    for path in bundle.named:
        if path not in tops and not any(path.startswith(f"{folder}/") for folder in folders):
            yield wrong(path, "nothing behind the run has this file: it was put in")


def check_fingerprints(bundle: Bundle) -> Iterator[Line]:
    """The run's fingerprint is that of its lock entries, each component's that of its card; and what encoders gave."""
    yield same(f"{names.EVIDENCE}: fingerprint", bundle.run["fingerprint"], run_fingerprint(bundle), "its lock entries")
    for lineage in bundle.lineages:
        for role, card in lineage["score"]["components"].items():
            where = f"{lineage['score_file']['path']}: components.{role}"
            spec = {key: card[key] for key in ("provider", "version", "settings", "identity")}
            yield same(where, card["fingerprint"], sha256_of(spec), "the card")
            yield from _noted(lineage, role, card)
    for fingerprint in bundle.components:
        table = f"{names.FEATURES}{fingerprint}"
        if {f"{table}.npy", f"{table}.txt"} & set(bundle.archive.names):
            yield from guarded(f"{table}.npy", _features, bundle, fingerprint)


def run_fingerprint(bundle: Bundle) -> str:
    """The hash of the lock entries behind a run, of which of several scores on the same data is the first, and of the
    combination where no score has a generator or an encoder."""
    shown: dict[str, Any] = {name: entry for each in bundle.lineages for name, entry in each["stages"].items()}
    firsts: dict[str, list[str]] = {}
    for each in bundle.lineages:
        score, own = each["score"], own_keys(each["score"])
        on = score["keys"].get("dataset") or score["keys"].get("question_set")
        if own:
            firsts.setdefault(f"{score['benchmark']} first on {on}", own)
    shown |= firsts
    if not any({"generator", "encoder"} & each["score"]["keys"].keys() for each in bundle.lineages):
        shown["combination"] = bundle.evidence["combination"]
    return sha256_of(shown)


def _features(bundle: Bundle, fingerprint: str) -> Iterator[Line]:
    bundle.features.table(fingerprint)
    yield Line(f"{names.FEATURES}{fingerprint}.npy: form", "reproduced")


def _written(lineage: Mapping[str, Any], locked: Mapping[str, Any]) -> Iterator[Line]:
    """A stage behind the score wrote this, and what the stages read of one another is what was written."""
    path = locked["path"]
    ends = {use: {each["md5"] for entry in lineage["stages"].values() for each in entry[use] if each["path"] == path}
            for use in ("outs", "deps")}  # fmt: skip
    if locked["md5"] not in ends["outs"]:
        yield wrong(path, f"no stage in {names.EVIDENCE} wrote it with md5 {locked['md5']}")
    for md5 in (ends["outs"] | ends["deps"]) - {locked["md5"]}:
        yield wrong(path, f"a stage in {names.EVIDENCE} has it with md5 {md5}, and the score with {locked['md5']}")


def _locked(bundle: Bundle, locked: Mapping[str, Any]) -> Iterator[Line]:
    """The bytes at a path are those of the lock entry."""
    path = locked["path"]
    if not locked["md5"].endswith(".dir"):
        there = bundle.named[path]
        yield same(f"{path}: md5", locked["md5"], there.md5, "the file")
        yield same(f"{path}: size", locked["size"], there.size, "the file")
        return
    folder = bundle.folder(path)
    rows = [{"md5": folder.digests(name).md5, "relpath": name} for name in sorted(folder.names)]
    md5 = hashlib.md5(json.dumps(rows, sort_keys=True).encode(), usedforsecurity=False).hexdigest()
    yield same(f"{path}: md5", locked["md5"], f"{md5}.dir", "the list of its files")
    yield same(f"{path}: size", locked["size"], sum(folder.digests(each).size for each in folder.names), "its files")
    yield same(f"{path}: nfiles", locked.get("nfiles"), len(folder.names), "its files")


def _score(bundle: Bundle, lineage: Mapping[str, Any]) -> Iterator[Line]:
    """The score in the evidence is the one in the file, is where its keys say, and was made with its settings."""
    score, path = lineage["score"], lineage["score_file"]["path"]
    folder, _, name = path.rpartition("/")
    stored = _without_defaults(bundle.folder(folder).json(name))
    yield same(path, sha256_of(_without_defaults(score)), sha256_of(stored), "the file")
    keys = sorted([score["benchmark"], *score["keys"].values()])
    yield same(f"{path}: keys", keys, sorted(folder.split("/")[2:]), "its path")
    stages = [
        sorted([stage, *rest.split("-")]) for stage, _, rest in (each.partition("@") for each in lineage["stages"])
    ]
    if keys not in stages:
        yield wrong(f"{path}: keys", f"no stage in {names.EVIDENCE} is of that name")
    for role, named in zip(COMBINATION, bundle.evidence["combination"], strict=True):
        yield same(f"{path}: keys.{role}", score["keys"].get(role, named), named, "the run")
    for role, card in score["components"].items():
        yield same(f"{path}: components.{role}.name", card["name"], score["keys"].get(role, card["name"]), "its key")
    for stage, entry in lineage["stages"].items():
        for key, value in entry["params"].get("params.yaml", {}).items():
            setting = "seed" if key == "run.seed" else key.removeprefix(f"{score['benchmark']}.")
            for part in ("protocol", "settings"):
                told = score["inputs"][part]
                if setting in told or (part == "protocol" and setting in _UNSAID):
                    where = f"{path}: inputs.{part}.{setting}"
                    yield same(where, told.get(setting, _UNSAID.get(setting)), value, f"stage {stage}")


def _without_defaults(score: Mapping[str, Any]) -> dict[str, Any]:
    """A score as the evidence has it, its flags in one order."""
    found = {key: value for key, value in score.items() if key != "schema" and (value or key not in _MAY_BE_EMPTY)}
    found["flags"] = sorted(found.get("flags", []))
    cards = found["components"].items()
    left = {"schema": 2, "code": None, "mark": None, "package": None}
    found["components"] = {
        role: {key: value for key, value in card.items() if key not in left or value != left[key]}
        for role, card in cards
    }
    return found | {"inputs": {key: value for key, value in found["inputs"].items() if key != "schema"}}


def _noted(lineage: Mapping[str, Any], role: str, card: Mapping[str, Any]) -> Iterator[Line]:
    """The stages ran with the component that the score names."""
    own = {f"{_SECTIONS.get(role.partition('.')[0])}.{card['name']}", *({"judge"} if role == "judge" else ())}
    for stage, entry in lineage["stages"].items():
        for key, value in entry["params"].get(RESOLVED, {}).items():
            noted = value.items() if key.startswith("named.") and isinstance(value, dict) else [(key, value)]
            for component, fingerprint in noted:
                if component in own and fingerprint != card["fingerprint"]:
                    what = (
                        f"it ran with {component} {fingerprint!s:.12}…, and the score names {card['fingerprint']:.12}…"
                    )
                    yield wrong(f"stage {stage}", what)


def _data(folder: ProjectFolder) -> Iterator[Line]:
    """A dataset or question set: its images are those of its list, and its digest is that of its list."""
    if folder.has("samples.jsonl"):
        listing, card, counted = folder.rows("samples.jsonl"), "dataset.json", "samples"
        parts = ("id", "category", "label", "split", "sha256")
        digest = sha256_of([[each.get(part) for part in parts] for each in listing])
        images = {each["file"]: each["sha256"] for each in listing}
    else:
        listing, card, counted = folder.rows("questions.jsonl"), "question_set.json", "questions"
        digest = sha256_of([{k: v for k, v in each.items() if k not in _QUESTION_EXTRAS} for each in listing])
        images = {each["image"]: each["image_sha256"] for each in listing}
    said = folder.json(card)
    yield same(f"{folder.path}/{card}: digest", said["digest"], digest, "its list")
    yield same(f"{folder.path}/{card}: {counted}", said[counted], len(listing), "its list")
    yield from _twice(folder, [each["id"] for each in listing])
    yield from _images(folder, images)


def _images(folder: ProjectFolder, images: Mapping[str, str]) -> Iterator[Line]:
    """Every image is the one in its record, and none is there without a record."""
    for name, sha256 in images.items():
        found = folder.sha256(name) if name in folder.names else "no such file"
        yield same(f"{folder.path}/{name}", sha256, found, "the image")
    for name in folder.names:
        if name not in images and not name.endswith((".json", ".jsonl")):
            yield wrong(f"{folder.path}/{name}", "no record has this file")


def _collected(bundle: Bundle, lineage: Mapping[str, Any], stage: str) -> Iterator[Line]:
    """The records of a collect stage are of the data, and their images are those that they name."""
    folder, data = bundle.folder(lineage["collected"][stage]["path"]), bundle.folder(lineage["data"]["path"])
    records = folder.rows(_RECORDS)
    listing = data.rows("samples.jsonl" if data.has("samples.jsonl") else "questions.jsonl")
    known = {each["id"]: each.get("sha256") for each in listing}
    drawn = [each for each in records if each.get("image") is not None]
    yield from _images(folder, {each["image"]: each["image_sha256"] for each in drawn})
    unknown = {str(unit) for each in records if (unit := each.get("sample") or each.get("question")) not in known}
    for unit in sorted(unknown):
        yield wrong(f"{folder.path}/{_RECORDS}", f"{data.path} has none that is called {unit:.80}")
    yield from _twice(folder, [canonical({k: v for k, v in each.items() if k in _PLACE}).decode() for each in records])
    before = {_chained(each): each["image_sha256"] for each in drawn if "t" in each}
    for each in drawn:
        if "parent_sha256" in each:
            sample, t, repeat = _chained(each)
            parent = known[sample] if t == 1 else before.get((sample, t - 1, repeat))
            again = f", repeat {repeat}" if repeat else ""
            where = f"{folder.path}/{_RECORDS}: {sample}, t = {t}{again}: parent_sha256"
            yield same(where, each["parent_sha256"], parent, "the image before")


def _chained(record: Mapping[str, Any]) -> tuple[str, int, int]:
    """Sample, t, and which of the sample's chains it is."""
    return record["sample"], record["t"], record.get("repeat", 0)


_UNSAID = {"repeats": 1}
"""Setting → its value in a protocol that does not tell of it."""

_PLACE = ("sample", "question", "model", "t", "variant", "grading", "max_tokens", "shots", "repeat")
"""What tells the records of a folder apart."""


def _twice(folder: ProjectFolder, units: Iterable[str]) -> Iterator[Line]:
    for unit, count in Counter(units).items():
        if count > 1:
            yield wrong(folder.path, f"{count} of its records are of {unit:.120}")


def _told(bundle: Bundle, lineage: Mapping[str, Any], stage: str) -> Iterator[Line]:
    """What a score and the card of a collect stage say of one another and of earlier stages."""
    score, path = lineage["score"], lineage["score_file"]["path"]
    folder = bundle.folder(lineage["collected"][stage]["path"])
    where, card, inputs = f"{folder.path}/{_CARD}", folder.json(_CARD), score["inputs"]
    records = f"{folder.path}/{_RECORDS}"
    yield same(f"{path}: inputs.records.{stage}", inputs["records"].get(stage), folder.sha256(_RECORDS), records)
    data = bundle.folder(lineage["data"]["path"])
    digest = data.json("dataset.json" if data.has("dataset.json") else "question_set.json")["digest"]
    yield same(f"{path}: inputs.data_digest", inputs["data_digest"], digest, data.path)
    yield same(f"{where}: data_digest", card["data_digest"], digest, data.path)
    yield same(f"{where}: stage", [card["benchmark"], card["stage"]], [score["benchmark"], stage], names.EVIDENCE)
    for key, value in card["keys"].items():
        yield same(f"{where}: keys.{key}", value, score["keys"].get(key, value), path)
    for earlier, sha256 in card["records"].items():
        if earlier in lineage["collected"]:
            other = bundle.folder(lineage["collected"][earlier]["path"])
            yield same(f"{where}: records.{earlier}", sha256, other.sha256(_RECORDS), other.path)
    stored = bundle.folder(path.rpartition("/")[0]).json(path.rpartition("/")[2])
    for role, each in card["components"].items():
        found = stored["components"].get(role, {})
        yield same(f"{path}: components.{role}", found.get("fingerprint"), each["fingerprint"], where)
    for key, value in card["protocol"].items():
        yield same(f"{path}: inputs.protocol.{key}", inputs["protocol"].get(key), value, where)

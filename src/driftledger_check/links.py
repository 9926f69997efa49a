"""Whether the parts of a bundle are what they say of one another: bytes, lock entries, records, fingerprints."""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from driftledger_check import bundle as names
from driftledger_check import strict_json
from driftledger_check.bundle import DIR, Bundle, Folder, Source, noted_of
from driftledger_check.report import Line

_RECORDS, _CARD, _SCORE = "records.jsonl", "components.json", "score.json"
_QUESTION_EXTRAS = ("schema", "image", "source", "notes")
"""What the digest of a question set is not over."""
_UNSAID = {"repeats": 1}
"""Setting → its value in a protocol that does not name it."""
_COMBINATION = ("model", "generator", "encoder")


def sha256_of(value: Any) -> str:
    """Of canonical JSON: how fingerprints are made."""
    return hashlib.sha256(strict_json.canonical(value)).hexdigest()


def same(where: str, said: object, found: object, what: str) -> Line:
    """Compare what one part says with what ``what`` gives."""
    if said == found and type(said) is type(found):
        return Line(where, "reproduced")
    return Line(where, "differs", f"it is {said!s:.80}, and {what} gives {found!s:.80}")


def guarded(where: str, check: Callable[..., Iterable[Line]], *given: Any) -> list[Line]:
    """The lines of a check; one that cannot read what it needs has found a difference."""
    made: list[Line] = []
    try:
        made.extend(check(*given))
    except Exception as error:  # whatever a stranger's file makes of it is a finding, and never a crash
        made.append(Line(where, "differs", f"it cannot be followed: {type(error).__name__}: {error!s:.200}"))
    return made


def check_files(bundle: Bundle) -> Iterator[Line]:
    """Every member is named by ``bundle.json`` with its hash, and all that it names are there."""
    archive, held = bundle.archive, {names.FILES + path: digests for path, digests in bundle.files.items()}
    known = {names.EVIDENCE}
    for lineage in bundle.lineages:
        known |= {f"{names.LISTINGS}{folder['md5']}" for folder in folders_of(lineage)}
        cards = lineage["score"]["components"].values()
        known |= {f"{names.FEATURES}{card['fingerprint']}.{ending}" for card in cards for ending in ("npy", "txt")}
    known |= {*[name for name in archive.sizes if name.startswith(names.LEDGER)][:1]}
    for name in [each for each in archive.sizes if each != names.MANIFEST]:
        digests = names.digests(archive.read(name))  # BundleError where its checksum is another
        if name in held:
            yield same(name, held[name], digests, "the member")
        elif name in bundle.members and name in known:
            yield same(name, bundle.members[name], digests["sha256"], "the member")
        else:
            yield Line(name, "differs", "nothing names it: it was put in")
    for name in sorted((held.keys() | bundle.members.keys()) - archive.sizes.keys()):
        yield Line(name, "differs", f"{names.MANIFEST} names it, and it is not there")
    for path in bundle.left_out:
        yield Line(names.FILES + path, "not checkable", "only its hashes are in the bundle")


def folders_of(lineage: Mapping[str, Any]) -> list[dict[str, str]]:
    """The folders behind a score, its own first."""
    return [lineage["folder"], lineage["data"], *lineage["collected"].values()]


def check_links(bundle: Bundle) -> Iterator[Line]:
    """Files, folders, lock entries, records, images and sounds belong together."""
    run = {key: bundle.evidence[key] for key in ("name", "combination", "fingerprint")}
    yield same(f"{names.MANIFEST}: run", dict(bundle.run), run, names.EVIDENCE)
    yield from guarded(names.EVIDENCE, _stages, bundle)
    seen, behind = set[str](), set[str]()
    for lineage in bundle.lineages:
        for folder in folders_of(lineage):
            yield from _written(lineage, folder)
            if (key := str(folder)) not in seen:
                yield from guarded(folder["path"], _listed, bundle, lineage, folder)
            seen.add(key)
        yield from check_lineage(bundle, lineage, behind)
        behind |= {folder["path"] for folder in folders_of(lineage)}
    for path in bundle.named:
        if behind.isdisjoint(path[: each.start()] for each in re.finditer("/", path)):
            yield Line(path, "differs", "nothing behind the run has this file: it was put in")


def check_lineage(source: Source, lineage: Mapping[str, Any], known: Container[str]) -> Iterator[Line]:
    """A score, its records and its data belong together.

    Args:
        known: the paths of folders that are checked already.
    """
    path, data = lineage["folder"]["path"], lineage["data"]["path"]
    yield from guarded(f"{path}/{_SCORE}", _score, source, lineage)
    if data not in known:
        yield from guarded(data, _data, source.folder(data))
    for stage, folder in lineage["collected"].items():
        if folder["path"] not in known:
            yield from guarded(folder["path"], _collected, source, lineage, stage)
        yield from guarded(folder["path"], _card, source, lineage, stage)


def _stages(bundle: Bundle) -> Iterator[Line]:
    """A stage has one entry in DVC's lock, whichever score it is behind."""
    entries: dict[str, Any] = {}
    for lineage in bundle.lineages:
        for stage, entry in lineage["stages"].items():
            where = f"{names.EVIDENCE}: {lineage['folder']['path']}: {stage}"
            first = entries.setdefault(stage, entry)
            yield same(where, sha256_of(entry), sha256_of(first), "another score")


def _written(lineage: Mapping[str, Any], folder: Mapping[str, str]) -> Iterator[Line]:
    """A stage behind the score wrote this, and what the stages read of one another is what was written."""
    path, out, md5 = folder["path"], folder["out"], folder["md5"]
    ends = {
        use: {each["md5"] for entry in lineage["stages"].values() for each in entry[use] if each["path"] == out}
        for use in ("outs", "deps")
    }
    if path != out and not path.startswith(f"{out}/"):
        yield Line(path, "differs", f"it is not in {out}, which {names.EVIDENCE} has for it")
    if md5 not in ends["outs"]:
        yield Line(path, "differs", f"no stage in {names.EVIDENCE} wrote {out} with md5 {md5}")
    for other in (ends["outs"] | ends["deps"]) - {md5}:
        yield Line(path, "differs", f"a stage in {names.EVIDENCE} has {out} with md5 {other}, and the score with {md5}")


def _listed(bundle: Bundle, lineage: Mapping[str, Any], folder: Mapping[str, str]) -> Iterator[Line]:
    """The files of a folder are those that DVC's listing of its output has, whose MD5 is in the lock entry."""
    path, member = folder["path"], f"{names.LISTINGS}{folder['md5']}"
    data = bundle.archive.read(member)
    yield same(f"{path}: md5", folder["md5"], names.digests(data)["md5"] + DIR, "the listing")
    files = {row["relpath"]: row["md5"] for row in strict_json.loads(data)}
    for name in files if folder is lineage["folder"] else ():
        place = f"{folder['out']}/{name}"
        if name.endswith(f"/{_SCORE}") and place not in bundle.files and _is_of_run(bundle, lineage, place):
            yield Line(place, "differs", "the bundle leaves out this score of the run")
    outs = [each for entry in lineage["stages"].values() for each in entry["outs"] if each["path"] == folder["out"]]
    for each in outs:
        yield same(f"{folder['out']}: nfiles", each.get("nfiles"), len(files), "the listing")
    start = f"{path}/".removeprefix(f"{folder['out']}/")
    listed = {name.removeprefix(start): md5 for name, md5 in files.items() if name.startswith(start)}
    there = {name: bundle.folder(path).digests(name)["md5"] for name in bundle.folder(path).names}
    for name in sorted(listed.keys() | there.keys()):
        yield same(f"{path}/{name}: md5", listed.get(name), there.get(name), "the file")


def _is_of_run(bundle: Bundle, lineage: Mapping[str, Any], place: str) -> bool:
    """Return False for a score of another generator or encoder; others belong to every run of the model."""
    folder = place.removesuffix(f"/{_SCORE}")
    noted = noted_of(lineage, {"out": lineage["folder"]["out"], "path": folder})
    roles = zip(_COMBINATION[1:], bundle.evidence["combination"][1:], strict=True)
    keys = [name for role, name in roles if isinstance(noted.get(role), str)]
    return folder.endswith("/".join(["", *keys]))


def check_fingerprints(bundle: Bundle) -> Iterator[Line]:
    """The run's fingerprint is that of what went into its scores, each component's that of its card."""
    yield same(f"{names.EVIDENCE}: fingerprint", bundle.run["fingerprint"], run_fingerprint(bundle), "its scores")
    for lineage in bundle.lineages:
        yield from check_components(lineage)
    cards = [card for lineage in bundle.lineages for card in lineage["score"]["components"].values()]
    for fingerprint in sorted({card["fingerprint"] for card in cards}):
        yield from guarded(f"{names.FEATURES}{fingerprint}.npy", _features, bundle, fingerprint)


def check_components(lineage: Mapping[str, Any]) -> Iterator[Line]:
    """The fingerprint of each component of a score is that of its card."""
    for role, card in lineage["score"]["components"].items():
        where = f"{lineage['folder']['path']}/{_SCORE}: components.{role}"
        spec = {key: card[key] for key in ("provider", "version", "settings", "identity")}
        yield same(where, card["fingerprint"], sha256_of(spec), "the card")


def _features(bundle: Bundle, fingerprint: str) -> Iterator[Line]:
    if bundle.features(fingerprint) is not None:
        yield Line(f"{names.FEATURES}{fingerprint}.npy: form", "reproduced")


def run_fingerprint(bundle: Bundle) -> str:
    """The hash of a combination and of what went into its scores: data, records, protocol, settings, components."""
    scores = {}
    for lineage in bundle.lineages:
        score = lineage["score"]
        cards = {role: card["fingerprint"] for role, card in score["components"].items()}
        inputs = {"benchmark": score["benchmark"], "keys": score["keys"], "inputs": score["inputs"]}
        scores[lineage["folder"]["path"]] = inputs | {"components": cards}
    return sha256_of({"combination": bundle.evidence["combination"], "scores": scores})


def check_ledger(bundle: Bundle) -> Iterator[Line]:
    """The published file has the content of its name, and is of this run and exactly these scores."""
    files = [name for name in bundle.archive.sizes if name.startswith(names.LEDGER)]
    if len(files) != 1:
        yield Line(names.LEDGER, "differs", f"the bundle has {len(files)} published files of its run, not one")
        return
    [name] = files
    published = strict_json.loads(bundle.archive.read(name))
    yield same(name, name, f"{names.LEDGER}{sha256_of(published)}.json", "its content")
    for key in ("fingerprint", "combination"):
        yield same(f"{name}: {key}", published[key], bundle.evidence[key], names.EVIDENCE)
    scores = {each["path"]: each for each in published["scores"]}
    for lineage in bundle.lineages:
        path, score = lineage["folder"]["path"], lineage["score"]
        folder, noted = bundle.folder(path), scores.pop(path, {})
        yield same(f"{name}: {path}: score", noted.get("score"), folder.digests(_SCORE)["sha256"], _SCORE)
        yield same(f"{name}: {path}: rows", noted.get("rows"), folder.digests("rows.jsonl")["sha256"], "rows.jsonl")
        yield same(f"{name}: {path}: inputs", noted.get("inputs"), sha256_of(score["inputs"]), _SCORE)
        mine = {role: card["fingerprint"] for role, card in score["components"].items()}
        theirs = {each["role"]: each["fingerprint"] for each in noted.get("components", ())}
        yield same(f"{name}: {path}: components", theirs, mine, _SCORE)
    for path in scores:
        yield Line(f"{name}: {path}", "differs", "the bundle leaves out this score of the run")


def _score(source: Source, lineage: Mapping[str, Any]) -> Iterator[Line]:
    """The score is where its keys say, of the run's combination, and was made with the settings of its stages."""
    score, folder = lineage["score"], lineage["folder"]["path"]
    path = f"{folder}/{_SCORE}"
    keys = sorted([score["benchmark"], *score["keys"].values()])
    yield same(f"{path}: keys", keys, sorted(folder.split("/")[2:]), "its path")
    for role, named in zip(_COMBINATION, source.evidence["combination"], strict=True):
        yield same(f"{path}: keys.{role}", score["keys"].get(role, named), named, "the run")
    for role, card in score["components"].items():
        yield same(f"{path}: components.{role}.name", card["name"], score["keys"].get(role, card["name"]), "its key")
    version = noted_of(lineage, lineage["folder"]).get("version")
    yield same(f"{path}: inputs.version", score["inputs"].get("version", 1), version, "its stage")
    for folder in folders_of(lineage):
        yield from _noted(path, score, folder["path"], noted_of(lineage, folder))


def _noted(path: str, score: Mapping[str, Any], folder: str, noted: Mapping[str, Any]) -> Iterator[Line]:
    """The stages ran with the components and the settings that the score names."""
    cards, inputs = score["components"], score["inputs"]
    for key, value in noted.items():
        if key in cards:
            given = value.get(cards[key]["name"]) if isinstance(value, dict) else value
            yield same(f"{path}: components.{key}", cards[key]["fingerprint"], given, f"the stage of {folder}")
        elif not isinstance(value, dict):
            for part in ("protocol", "settings", "beside"):
                given = inputs.get(part, {})
                if key in given or (part == "protocol" and key in _UNSAID and "generator" in noted):
                    said = str(given.get(key, _UNSAID.get(key)))  # 1e-05 is a number to DVC's YAML and text to others
                    yield same(f"{path}: inputs.{part}.{key}", said, str(value), f"the stage of {folder}")


def _data(folder: Folder) -> Iterator[Line]:
    """A dataset or question set: its files are those of its list, and its digest is that of its list."""
    if folder.has("samples.jsonl"):
        listing, card, counted = folder.rows("samples.jsonl"), "dataset.json", "samples"
        parts = ("id", "category", "label", "split", "sha256")
        digest = sha256_of([[each.get(part) for part in parts] for each in listing])
        media = {each["file"]: each["sha256"] for each in listing}
    else:
        listing, card, counted = folder.rows("questions.jsonl"), "question_set.json", "questions"
        digest = sha256_of([{k: v for k, v in each.items() if k not in _QUESTION_EXTRAS} for each in listing])
        media = {each["image"]: each["image_sha256"] for each in listing}
    said = folder.json(card)
    yield same(f"{folder.path}/{card}: digest", said["digest"], digest, "its list")
    yield same(f"{folder.path}/{card}: {counted}", said[counted], len(listing), "its list")
    categories = Counter(each.get("category") for each in listing)
    del categories[None]
    yield same(f"{folder.path}/{card}: categories", said["categories"], dict(categories), "its list")
    yield same(f"{folder.path}/{card}: leaks", said.get("leaks", {}), _leaks(listing), "its list")
    yield from _twice(folder, [each["id"] for each in listing])
    yield from _media(folder, media)


def _leaks(listing: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Test samples that the support set has as well, and the first one there."""
    support = {each["sha256"]: each["id"] for each in listing[::-1] if each.get("split") == "support"}
    tested = [each for each in listing if each.get("split") == "test"]
    return {each["id"]: support[each["sha256"]] for each in tested if each["sha256"] in support}


def _media(folder: Folder, media: Mapping[str, str]) -> Iterator[Line]:
    """Every image is the one in its record, and none is there without a record."""
    for name, sha256 in media.items():
        found = folder.digests(name)["sha256"] if name in folder.names else "no such file"
        yield same(f"{folder.path}/{name}", sha256, found, "the file")
    for name in folder.names:
        if name not in media and not name.endswith((".json", ".jsonl")):
            yield Line(f"{folder.path}/{name}", "differs", "no record has this file")


def _collected(source: Source, lineage: Mapping[str, Any], stage: str) -> Iterator[Line]:
    """The records of a collect stage are of the data, and their files are those that they name."""
    folder, data = source.folder(lineage["collected"][stage]["path"]), source.folder(lineage["data"]["path"])
    records = folder.rows(_RECORDS)
    listing = data.rows("samples.jsonl" if data.has("samples.jsonl") else "questions.jsonl")
    known = {each["id"]: each.get("sha256") for each in listing}
    made = [(each, result) for each in records for result in each["results"] if result.get("file") is not None]
    yield from _media(folder, {result["file"]: result["sha256"] for _, result in made})
    unknown = {str(each["unit"]) for each in records if each["step"] and each["unit"] not in known}
    for unit in sorted(unknown):
        yield Line(f"{folder.path}/{_RECORDS}", "differs", f"{data.path} has none that is called {unit:.80}")

    def place(record: Mapping[str, Any]) -> tuple[str, int, int]:
        return record["unit"], record["step"], record.get("repeat", 0)

    yield from _twice(folder, [strict_json.canonical(place(each)).decode() for each in records])
    before = {place(each): result["sha256"] for each, result in made}
    for each in records:
        if "parent_sha256" in each.get("extra", {}):
            unit, t, repeat = place(each)
            parent = known[unit] if t == 1 else before.get((unit, t - 1, repeat))
            again = f", repeat {repeat}" if repeat else ""
            where = f"{folder.path}/{_RECORDS}: {unit}, t = {t}{again}: parent_sha256"
            yield same(where, each["extra"]["parent_sha256"], parent, "the file before")


def _twice(folder: Folder, units: Iterable[str]) -> Iterator[Line]:
    for unit, count in Counter(units).items():
        if count > 1:
            yield Line(folder.path, "differs", f"{count} of its records are of {unit:.120}")


def _card(source: Source, lineage: Mapping[str, Any], stage: str) -> Iterator[Line]:
    """A score and the card of a collect stage agree with one another and with earlier stages."""
    score, path = lineage["score"], f"{lineage['folder']['path']}/{_SCORE}"
    folder, data = source.folder(lineage["collected"][stage]["path"]), source.folder(lineage["data"]["path"])
    where, card, inputs = f"{folder.path}/{_CARD}", folder.json(_CARD), score["inputs"]
    records = f"{folder.path}/{_RECORDS}"
    yield same(
        f"{path}: inputs.records.{stage}", inputs["records"].get(stage), folder.digests(_RECORDS)["sha256"], records
    )
    digest = data.json("dataset.json" if data.has("dataset.json") else "question_set.json")["digest"]
    yield same(f"{path}: inputs.data_digest", inputs["data_digest"], digest, data.path)
    yield same(f"{where}: data_digest", card["data_digest"], digest, data.path)
    yield same(f"{where}: stage", [card["benchmark"], card["stage"]], [score["benchmark"], stage], names.EVIDENCE)
    for key, value in card["keys"].items():
        yield same(f"{where}: keys.{key}", value, score["keys"].get(key, value), path)
    for role, each in card["components"].items():
        yield same(f"{path}: components.{role}", score["components"].get(role), each, where)
    for key, value in card["protocol"].items():
        yield same(f"{path}: inputs.protocol.{key}", inputs["protocol"].get(key), value, where)

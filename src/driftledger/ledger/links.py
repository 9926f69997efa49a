"""Check that the files behind scores agree.

``check`` follows these links in a bundle, and ``verify`` those of :func:`check_lineage` in a
checkout.
"""

import errno
import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any

from driftledger.benchmarks.base.records import CARD, RECORDS
from driftledger.benchmarks.base.usage import CALLS
from driftledger.core.canonical import sha256_of
from driftledger.data.records import (
    DATASET_CARD,
    QUESTION_SET_CARD,
    QUESTIONS,
    SAMPLES,
    dataset_digest,
    leaks_of,
    questions_digest,
)
from driftledger.ledger.bundles.reading import (
    DIR,
    EVIDENCE,
    FEATURES,
    FILES,
    LEDGER,
    LISTINGS,
    MANIFEST,
    Bundle,
    Json,
    OpenedFolder,
    digests,
    field,
    load,
    noted_of,
)
from driftledger.ledger.findings import Line
from driftledger.scoring.score import ROWS, SCORE

Lines = Iterator[Line]

_DEFAULTS = {"repeats": 1}
"""Setting → its default, for protocols that leave it out."""
_COMBINATION = ("model", "generator", "encoder")


def same(where: str, stored: object, expected: object, source: str) -> Line:
    """Compare a stored value with the one that ``source`` gives."""
    if stored == expected and type(stored) is type(expected):
        return Line(where, "reproduced")
    return Line(
        where, "differs", f"it is {stored!s:.80}, and {source} gives {expected!s:.80}"
    )


def compare(where: str, stored: Json, expected: Json, source: str) -> Lines:
    """Compare each entry that ``source`` gives with the stored one."""
    for key, value in expected.items():
        yield same(f"{where}{key}", stored.get(key), value, source)


def differs(where: str, what: str) -> Line:
    """Return the line of a difference."""
    return Line(where, "differs", what)


def guarded(
    where: str, check: Callable[..., Iterable[Line]], *arguments: Any
) -> list[Line]:
    """List the lines of a check; a check that fails with an error is a difference.

    Raises:
        OSError: this machine's disk is full, of which the file knows nothing.
    """
    lines: list[Line] = []
    try:
        lines.extend(check(*arguments))
    except Exception as error:  # a stranger's file may cause any
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            raise
        why = f"{type(error).__name__}: {error!s:.200}"
        lines.append(differs(where, f"it cannot be checked: {why}"))
    return lines


def check_files(bundle: Bundle) -> Lines:
    """Check that ``bundle.json`` names every member with its hash, and no other file."""
    archive = bundle.archive
    held = {FILES + path: named for path, named in bundle.files.items()}
    known = {EVIDENCE}
    for lineage in bundle.lineages:
        for folder in folders_of(lineage):
            known.add(f"{LISTINGS}{folder['md5']}")
        for card in lineage["score"]["components"].values():
            features = f"{FEATURES}{card['fingerprint']}"
            known |= {f"{features}.npy", f"{features}.txt"}
    known.update(_published(bundle)[:1])
    for name in archive.sizes:
        if name == MANIFEST:
            continue
        actual = digests(archive.read(name))  # BundleError if its checksum is another
        if name in held:
            yield same(name, held[name], actual, "the member")
        elif name in bundle.members and name in known:
            yield same(name, bundle.members[name], actual["sha256"], "the member")
        else:
            yield differs(name, "nothing names it: it was put in")
    for name in sorted((held.keys() | bundle.members.keys()) - archive.sizes.keys()):
        yield differs(name, f"{MANIFEST} names it, and it is not there")
    for path in bundle.left_out:
        yield Line(FILES + path, "not checkable", "only its hashes are in the bundle")


def _published(bundle: Bundle) -> list[str]:
    """List the published files in the bundle; there should be one."""
    return [name for name in bundle.archive.sizes if name.startswith(LEDGER)]


def folders_of(lineage: Json) -> list[dict[str, str]]:
    """List the folders behind a score; the folder of the score is the first."""
    return [
        lineage["folder"],
        lineage["data"],
        *lineage["collected"].values(),
    ]


def check_links(bundle: Bundle) -> Lines:
    """Check that files, folders, lock entries, records and images fit together."""
    evidence = bundle.evidence
    run = {key: evidence[key] for key in ("name", "combination", "fingerprint")}
    yield same(f"{MANIFEST}: run", dict(bundle.run), run, EVIDENCE)
    yield from guarded(EVIDENCE, _stages, bundle)
    seen = set()
    paths = set[str]()
    for lineage in bundle.lineages:
        for folder in folders_of(lineage):
            yield from _written(lineage, folder)
            if str(folder) not in seen:
                yield from guarded(folder["path"], _listed, bundle, lineage, folder)
            seen.add(str(folder))
        combination = evidence["combination"]
        yield from check_lineage(lineage, bundle.folder, combination, paths)
        paths.update(field(folders_of(lineage), "path"))
    for path in bundle.named:
        if paths.isdisjoint(path[: slash.start()] for slash in re.finditer("/", path)):
            yield differs(path, "nothing behind the run has this file: it was put in")


def check_lineage(
    lineage: Json,
    opened: Callable[[str], OpenedFolder],
    combination: Sequence[str],
    checked: Container[str],
) -> Lines:
    """Check that a score, its records and its data belong together.

    Args:
        opened: returns the folder of a path.
        checked: the paths of folders that are checked already.
    """
    path = f"{lineage['folder']['path']}/{SCORE}"
    data = opened(lineage["data"]["path"])
    yield from guarded(path, _score, lineage, combination)
    if data.path not in checked:
        yield from guarded(data.path, data_lines, data)
    for stage, folder in lineage["collected"].items():
        records = opened(folder["path"])
        if records.path not in checked:
            yield from guarded(records.path, _collected, records, data)
            yield from guarded(records.path, check_calls, records)
        yield from guarded(records.path, _card, lineage, stage, records, data)


def _stages(bundle: Bundle) -> Lines:
    """Check that a stage has one entry of ``dvc.lock`` in all lineages."""
    entries: dict[str, Any] = {}
    for lineage in bundle.lineages:
        for stage, entry in lineage["stages"].items():
            where = f"{EVIDENCE}: {lineage['folder']['path']}: {stage}"
            first = entries.setdefault(stage, entry)
            yield same(where, sha256_of(entry), sha256_of(first), "another score")


def _entries(lineage: Json, use: str, out: str) -> list[Json]:
    """List the entries of an output among the ``outs`` or ``deps`` of stages."""
    stages = lineage["stages"].values()
    return [entry for stage in stages for entry in stage[use] if entry["path"] == out]


def _written(lineage: Json, folder: Mapping[str, str]) -> Lines:
    """Check that a stage wrote a folder, and that others read what it wrote."""
    path = folder["path"]
    out = folder["out"]
    md5 = folder["md5"]
    written = set(field(_entries(lineage, "outs", out), "md5"))
    read = set(field(_entries(lineage, "deps", out), "md5"))
    if path != out and not path.startswith(f"{out}/"):
        yield differs(path, f"it is not in {out}, its output in {EVIDENCE}")
    if md5 not in written:
        yield differs(path, f"no stage in {EVIDENCE} wrote {out} with md5 {md5}")
    for other in (written | read) - {md5}:
        stage = f"a stage in {EVIDENCE} has {out} with md5 {other}"
        yield differs(path, f"{stage}, and the score with {md5}")


def _listed(bundle: Bundle, lineage: Json, folder: Mapping[str, str]) -> Lines:
    """Check that the files of a folder are those of DVC's listing of its output."""
    path = folder["path"]
    out = folder["out"]
    data = bundle.archive.read(f"{LISTINGS}{folder['md5']}")
    yield same(f"{path}: md5", folder["md5"], digests(data)["md5"] + DIR, "the listing")
    files = {row["relpath"]: row["md5"] for row in load(data)}
    if folder is lineage["folder"]:
        yield from _forgotten(bundle, lineage, files)
    for entry in _entries(lineage, "outs", out):
        yield same(f"{out}: nfiles", entry.get("nfiles"), len(files), "the listing")
    listed = {f"{out}/{name}": md5 for name, md5 in files.items()}
    actual = {}
    for name, file in bundle.folder(path).names.items():
        actual[f"{path}/{name}"] = file["md5"]
    for name in sorted(listed.keys() | actual.keys()):
        if name.startswith(f"{path}/"):
            yield same(f"{name}: md5", listed.get(name), actual.get(name), "the file")


def _forgotten(bundle: Bundle, lineage: Json, listing: Iterable[str]) -> Lines:
    """Yield the scores of the run that the bundle leaves out.

    Scores of another generator or encoder do not belong to the run. Scores without these, of
    questions for instance, belong to every run of the model.
    """
    out = lineage["folder"]["out"]
    generator_and_encoder = dict(
        zip(_COMBINATION, bundle.evidence["combination"], strict=True)
    )
    for name in listing:
        path = f"{out}/{name}"
        if path in bundle.files or not name.endswith(f"/{SCORE}"):
            continue
        folder = path.removesuffix(f"/{SCORE}")
        noted = noted_of(lineage, {"out": out, "path": folder})
        ending = ""
        for role in ("generator", "encoder"):
            if isinstance(noted.get(role), str):
                ending += f"/{generator_and_encoder[role]}"
        if folder.endswith(ending):
            yield differs(path, "the bundle leaves out this score of the run")


def check_fingerprints(bundle: Bundle) -> Lines:
    """Check the fingerprints of the run, of components and of features."""
    where = f"{EVIDENCE}: fingerprint"
    scores = {}
    for lineage in bundle.lineages:
        scores[lineage["folder"]["path"]] = lineage["score"]
    yield same(
        where,
        bundle.run["fingerprint"],
        run_fingerprint(bundle.evidence["combination"], scores),
        "its scores",
    )
    fingerprints = set[str]()
    for lineage in bundle.lineages:
        yield from check_components(lineage)
        fingerprints.update(_fingerprints(lineage["score"]).values())
    for fingerprint in sorted(fingerprints):
        yield from guarded(
            f"{FEATURES}{fingerprint}.npy", _features, bundle, fingerprint
        )


def check_components(lineage: Json) -> Lines:
    """Check that the fingerprint of each component of a score is that of its card."""
    for role, card in lineage["score"]["components"].items():
        where = f"{lineage['folder']['path']}/{SCORE}: components.{role}"
        spec = {
            key: card[key] for key in ("provider", "version", "settings", "identity")
        }
        yield same(where, card["fingerprint"], sha256_of(spec), "the card")


def _features(bundle: Bundle, fingerprint: str) -> Lines:
    if bundle.features(fingerprint) is not None:
        yield Line(f"{FEATURES}{fingerprint}.npy: form", "reproduced")


def run_fingerprint(combination: Sequence[str], scores: Mapping[str, Json]) -> str:
    """Hash a combination and the inputs of its scores.

    They are data, records, protocol, settings and components.

    Args:
        scores: folder → the content of its ``score.json``.
    """
    inputs = {}
    for path, score in scores.items():
        inputs[path] = {
            "benchmark": score["benchmark"],
            "keys": score["keys"],
            "inputs": score["inputs"],
            "components": _fingerprints(score),
        }
    return sha256_of({"combination": combination, "scores": inputs})


def _fingerprints(score: Json) -> dict[str, str]:
    """Return role → fingerprint of each component in the content of a ``score.json``."""
    return {role: card["fingerprint"] for role, card in score["components"].items()}


def check_ledger(bundle: Bundle) -> Lines:
    """Check that the published file has the hash of its name and these scores."""
    names = _published(bundle)
    if len(names) != 1:
        yield differs(
            LEDGER, f"the bundle has {len(names)} published files of its run, not one"
        )
        return
    [name] = names
    published = load(bundle.archive.read(name))
    yield same(name, name, f"{LEDGER}{sha256_of(published)}.json", "its content")
    for key in ("fingerprint", "combination"):
        yield same(f"{name}: {key}", published[key], bundle.evidence[key], EVIDENCE)
    scores = {score["path"]: score for score in published["scores"]}
    for lineage in bundle.lineages:
        path = lineage["folder"]["path"]
        noted = scores.pop(path, {})
        components = {}
        for card in noted.get("components", ()):
            components[card["role"]] = card["fingerprint"]
        files = bundle.folder(path).names
        expected = {
            "score": files[SCORE]["sha256"],
            "rows": files[ROWS]["sha256"],
            "inputs": sha256_of(lineage["score"]["inputs"]),
            "components": _fingerprints(lineage["score"]),
        }
        stored = {**noted, "components": components}
        yield from compare(f"{name}: {path}: ", stored, expected, "the score")
    for path in scores:
        yield differs(f"{name}: {path}", "the bundle leaves out this score of the run")


def _score(lineage: Json, combination: Sequence[str]) -> Lines:
    """Check a score's path, combination, components and the version of its stage."""
    score = lineage["score"]
    folder = lineage["folder"]["path"]
    path = f"{folder}/{SCORE}"
    keys = score["keys"]
    words = sorted([score["benchmark"], *keys.values()])
    yield same(f"{path}: keys", words, sorted(folder.split("/")[2:]), "its path")
    run = dict(zip(_COMBINATION, combination, strict=True))
    yield from compare(f"{path}: keys.", run | keys, run, "the run")
    for role, card in score["components"].items():
        name = card["name"]
        yield same(
            f"{path}: components.{role}.name", name, keys.get(role, name), "its key"
        )
    version = noted_of(lineage, lineage["folder"]).get("version")
    stored_version = score["inputs"].get("version", 1)
    yield same(f"{path}: inputs.version", stored_version, version, "its stage")
    for behind in folders_of(lineage):
        yield from _noted(path, score, behind["path"], noted_of(lineage, behind))


def _noted(path: str, score: Json, folder: str, noted: Json) -> Lines:
    """Check that a stage ran with the components and settings of the score."""
    cards = score["components"]
    stage = f"the stage of {folder}"
    for key, value in noted.items():
        if key in cards:
            card = cards[key]
            fingerprint = value.get(card["name"]) if isinstance(value, dict) else value
            yield same(
                f"{path}: components.{key}", card["fingerprint"], fingerprint, stage
            )
        elif not isinstance(value, dict):
            for part in ("protocol", "settings", "beside"):
                settings = score["inputs"].get(part, {})
                if part == "protocol" and "generator" in noted:
                    settings = _DEFAULTS | settings
                if (
                    key in settings
                ):  # 1e-05 is a number to DVC's YAML, and text to others
                    where = f"{path}: inputs.{part}.{key}"
                    yield same(where, str(settings[key]), str(value), stage)


def data_files(folder: OpenedFolder) -> tuple[str, str]:
    """Return the names of the list and of the card of a dataset or question set."""
    if folder.has(SAMPLES):
        return SAMPLES, DATASET_CARD
    return QUESTIONS, QUESTION_SET_CARD


def data_lines(folder: OpenedFolder) -> Lines:
    """Check that a dataset or question set has the files and the digest of its list."""
    name, card = data_files(folder)
    listing = folder.rows(name)
    media = {}
    if name == SAMPLES:
        counted = "samples"
        digest = dataset_digest(listing)
        for row in listing:
            media[row["file"]] = row["sha256"]
    else:
        counted = "questions"
        digest = questions_digest(listing)
        for row in listing:
            media[row["image"]] = row["image_sha256"]
            for image in row.get("images", ()):
                media[image["file"]] = image["sha256"]
    categories = Counter(row.get("category") for row in listing)
    del categories[None]
    expected = {
        "digest": digest,
        counted: len(listing),
        "categories": dict(categories),
        "leaks": leaks_of(listing),
    }
    stored = {"leaks": {}, **folder.json(card)}
    yield from compare(f"{folder.path}/{card}: ", stored, expected, "its list")
    yield from _duplicates(folder, field(listing, "id"))
    yield from _media(folder, media)


def _media(folder: OpenedFolder, media: Mapping[str, str]) -> Lines:
    """Check that each image is the one in its record, and that there are no others."""
    for name, sha256 in media.items():
        actual = folder.names.get(name, {"sha256": "no such file"})["sha256"]
        yield same(f"{folder.path}/{name}", sha256, actual, "the file")
    for name in folder.names:
        if name not in media and not name.endswith((".json", ".jsonl")):
            yield differs(f"{folder.path}/{name}", "no record has this file")


def _collected(folder: OpenedFolder, data: OpenedFolder) -> Lines:
    """Check that records are of the data, one for each place, and have their files.

    Each step of a chain has to name the image of the step before.

    Replaying records shows more, but needs the encoder if one chose examples.
    """
    where = f"{folder.path}/{RECORDS}"
    listing, _ = data_files(data)
    originals = {row["id"]: row.get("sha256") for row in data.rows(listing)}
    records = folder.rows(RECORDS)
    files = {}
    images = {}
    places = []
    for record in records:
        unit, step, repeat = place = _place(record)
        places.append(f"{unit}, step {step}, repeat {repeat}")
        if step and unit not in originals:
            yield differs(where, f"{data.path} has no sample or question {unit!s:.80}")
        for result in record["results"]:
            if result.get("file") is not None:
                files[result["file"]] = images[place] = result["sha256"]
    yield from _media(folder, files)
    yield from _duplicates(folder, places)
    for record in records:
        if "parent_sha256" in record.get("extra", {}):
            unit, step, repeat = _place(record)
            parent = images.get((unit, step - 1, repeat))
            if step == 1:
                parent = originals.get(unit)
            named = f"{where}: {unit}, step {step}, repeat {repeat}: parent_sha256"
            stored = record["extra"]["parent_sha256"]
            yield same(named, stored, parent, "the image before")


def _place(record: Json) -> tuple[str, int, int]:
    """Return the unit, step and repeat of a record."""
    return record["unit"], record["step"], record.get("repeat", 0)


def check_calls(folder: OpenedFolder) -> Lines:
    """Check that every answered call of a role is noted once, and no other call."""
    if CALLS not in folder.names:
        return
    calls = folder.rows(CALLS)
    roles = set(field(calls, "role"))
    answered = set()
    for record in folder.rows(RECORDS):
        for result in record["results"]:
            if result["outcome"] != "failed" and result["role"] in roles:
                answered.add((result["role"], result["key"]))
    noted = {(call["role"], call["key"]) for call in calls}
    keys = sorted(key for _, key in noted)
    fits = noted <= answered and keys == sorted({key for _, key in answered})
    where = f"{folder.path}/{CALLS}"
    if fits and len(calls) == len(noted):
        yield Line(where, "reproduced")
    else:
        yield differs(
            where, f"it does not have each answered call of {RECORDS} exactly once"
        )


def _duplicates(folder: OpenedFolder, units: Iterable[str]) -> Lines:
    for unit, count in Counter(units).items():
        if count > 1:
            yield differs(folder.path, f"{count} of its records are of {unit:.120}")


def _card(lineage: Json, stage: str, folder: OpenedFolder, data: OpenedFolder) -> Lines:
    """Check that a score, the card of a collect stage and the data agree."""
    score = lineage["score"]
    inputs = score["inputs"]
    path = f"{lineage['folder']['path']}/{SCORE}"
    card = folder.json(CARD)
    where = f"{folder.path}/{CARD}"
    records = {stage: folder.names[RECORDS]["sha256"]}
    records_file = f"{folder.path}/{RECORDS}"
    yield from compare(
        f"{path}: inputs.records.", inputs["records"], records, records_file
    )
    _, data_card = data_files(data)
    digest = {"data_digest": data.json(data_card)["digest"]}
    yield from compare(f"{path}: inputs.", inputs, digest, data.path)
    yield from compare(f"{where}: ", card, digest, data.path)
    written_for = [card["benchmark"], card["stage"]]
    yield same(f"{where}: stage", written_for, [score["benchmark"], stage], EVIDENCE)
    for key, value in card["keys"].items():
        yield same(f"{where}: keys.{key}", value, score["keys"].get(key, value), path)
    yield from compare(
        f"{path}: components.", score["components"], card["components"], where
    )
    yield from compare(
        f"{path}: inputs.protocol.", inputs["protocol"], card["protocol"], where
    )

"""Bundles: what one holds, forged ones and their findings, and files that are none."""

import io
import json
import os
import shutil
import stat
import struct
import warnings
import zipfile

import numpy as np
import pytest

from driftledger.commands.stages import score
from driftledger.core.canonical import sha256_bytes, sha256_of
from driftledger.core.errors import LedgerError
from driftledger.ledger.bundles import archive
from driftledger.ledger.bundles.archive import Archive, BundleError
from driftledger.ledger.bundles.checking import check, run
from driftledger.ledger.bundles.reading import (
    EVIDENCE,
    FEATURES,
    FILES,
    LEDGER,
    LISTINGS,
    MANIFEST,
)
from driftledger.ledger.bundles.writing import is_bundle, write_bundle
from driftledger.ledger.findings import FROM_FEATURES
from driftledger.ledger.rescoring import compare_numbers
from driftledger.scoring.score import Score
from tests.ledger.conftest import CHAINS, GENCEPTION, MODEL
from tests.support.bundles import Forger, canonical, differing
from tests.support.cases import cases, each_case
from tests.support.ledgers import number_in

RECORDS, SCORE, ROWS = (
    f"{CHAINS}/records.jsonl",
    f"{GENCEPTION}/score.json",
    f"{GENCEPTION}/rows.jsonl",
)
TRAC_RECORDS, TRAC = (
    f"data/records/{MODEL}/trac/digits/shown",
    f"reports/scores/{MODEL}/trac/digits/shown/tfidf",
)
REDRAWN = CHAINS.replace("genception", "fidelity")
READ_PARTLY = "the text encoder read only the beginning of 1 of 20 descriptions"
READ = f"reports/scores/{MODEL}/mm_sap/scenes_mm_sap/rows.jsonl"


def test_every_number_of_every_benchmark_is_computed_again(score_zip):
    report = check(score_zip)
    assert differing(report) == []
    numbers = {
        group: lines
        for group, lines in report.groups.items()
        if group.startswith("numbers of ")
    }
    assert len(numbers) == 6
    for group, lines in numbers.items():
        assert len([line for line in lines if line.status == "reproduced"]) > 40, group
    assert [line.status for line in report.groups["ledger"]].count("reproduced") > 20
    why = {
        line.what
        for lines in numbers.values()
        for line in lines
        if line.status == "not checkable"
    }
    assert not [each for each in why if "lacks" in each or "left out" in each]


def test_an_empty_description_is_computed_again(ledger, forger, tmp_path):
    """In GenCeption and fidelity, after a first round and at once."""
    scores = {
        GENCEPTION: (CHAINS, 2),
        GENCEPTION.replace("genception", "fidelity"): (REDRAWN, 1),
    }
    for folder, t in scores.values():
        rows = [
            json.loads(row)
            for row in forger.members[f"{FILES}{folder}/records.jsonl"].splitlines()
        ]
        row = next(row for row in rows if row["step"] == t)
        model, generator = row["results"]
        row["results"] = [model | {"outcome": "empty", "text": ""}]
        data = b"".join(canonical(each) + b"\n" for each in rows)
        forger.members[f"{FILES}{folder}/records.jsonl"] = data
        del forger.members[f"{FILES}{folder}/{generator['file']}"]
        (ledger.root / folder / "records.jsonl").write_bytes(data)
    shutil.rmtree(ledger.root / "reports/scores")
    score(ledger.project, MODEL)
    for folder in scores:
        for name in ("score.json", "rows.jsonl"):
            forger.members[f"{FILES}{folder}/{name}"] = (
                ledger.root / folder / name
            ).read_bytes()
        found = json.loads(forger.members[f"{FILES}{folder}/score.json"])
        assert (found["scored"], found["counted"], found["total"]) == (3, 4, 4)
    forger.follow()
    report = forger.check(tmp_path)
    assert differing(report) == []
    for folder in scores:
        lines = report.groups[f"numbers of {folder.removeprefix('reports/scores/')}"]
        assert len([line for line in lines if line.status == "reproduced"]) > 40


def test_the_same_run_gives_the_same_bytes(original, score_zip, tmp_path):
    write_bundle(original.project, original.evidence(), tmp_path / "score.zip")
    assert (tmp_path / "score.zip").read_bytes() == score_zip.read_bytes()


def test_a_folder_that_has_changed_here_is_named(ledger, score_zip, tmp_path):
    with (ledger.root / RECORDS).open("ab") as records:
        records.write(b"{}\n")
    says = write_bundle(ledger.project, ledger.evidence(), tmp_path / "score.zip")
    changed = f"to know: {CHAINS} has changed here; the bundle has what dvc.lock names"
    assert changed in says
    assert (tmp_path / "score.zip").read_bytes() == score_zip.read_bytes()


def test_without_images_their_hashes_still_lead_to_the_lock(original, tmp_path):
    write_bundle(
        original.project, original.evidence(), tmp_path / "score.zip", images=False
    )
    report = check(tmp_path / "score.zip")
    assert report.code == 3
    assert report.counts["not checkable"] > 20
    assert report.headlines[f"{MODEL}/fidelity/my_images/painter/layout"] == {
        "ssim": "not checkable",
        "words": "reproduced",
        "image_similarity": FROM_FEATURES,
        "frechet": FROM_FEATURES,
        "kid": FROM_FEATURES,
    }
    forger = Forger(tmp_path / "score.zip")
    [name, *_] = forger.manifest["left_out"]
    forger.json(
        MANIFEST, lambda manifest: manifest["left_out"][name].update(md5="0" * 32)
    )
    assert [
        each
        for each in differing(forger.check(tmp_path))
        if each.startswith(f"{name}: md5")
    ]


def test_what_is_not_published_or_does_not_hold_is_not_bundled(ledger, tmp_path):
    out, evidence = tmp_path / "score.zip", ledger.evidence()
    out.write_text("notes")
    with pytest.raises(LedgerError, match="is not a bundle; move it away"):
        write_bundle(ledger.project, evidence, out)
    out.unlink()
    [published] = (ledger.root / "ledger").iterdir()
    kept = published.read_bytes()
    published.unlink()
    with pytest.raises(
        LedgerError, match="is not published; run 'driftledger track' first"
    ):
        write_bundle(ledger.project, evidence, out)
    published.write_bytes(kept)
    settings = ledger.root / "data" / "settings.json"
    kept = settings.read_bytes()
    settings.unlink()
    with pytest.raises(LedgerError, match="lacks the settings that data ran with; run"):
        write_bundle(ledger.project, ledger.evidence(), out)
    settings.write_bytes(kept)
    ledger.edit(ROWS, lambda row: row["values"].update(similarity=[0.9, 0.9]), 0)
    ledger.relock()
    with pytest.raises(LedgerError, match="nothing is bundled: "):
        write_bundle(ledger.project, ledger.evidence(), out)
    assert not list(tmp_path.glob("score*"))


def drawing(forger):
    """Let the last drawing of a chain be the original, in the record and the score too."""
    rows = [json.loads(row) for row in forger.members[FILES + RECORDS].splitlines()]
    place, row = next(
        (place, row) for place, row in enumerate(rows) if row["step"] == 2
    )
    original = forger.members[
        f"{FILES}data/datasets/my_images/images/{row['unit']}.png"
    ]
    forger.members[f"{FILES}{CHAINS}/{row['results'][1]['file']}"] = original
    forger.row(
        RECORDS,
        lambda row: row["results"][1].update(sha256=sha256_bytes(original)),
        place,
    )
    sha256 = sha256_bytes(forger.members[FILES + RECORDS])
    forger.json(
        FILES + SCORE, lambda score: score["inputs"]["records"].update(chain=sha256)
    )


def grade(forger):
    """Let a right answer be read as none."""
    rows = [json.loads(row) for row in forger.members[FILES + READ].splitlines()]
    right = next(
        place for place, row in enumerate(rows) if row["values"]["score"][0] == 1.0
    )
    forger.row(READ, lambda row: row["extra"]["read"].__setitem__(0, None), right)


def swap(forger):
    one, other = sorted(
        name for name in forger.members if name.startswith(f"{FILES}{CHAINS}/images")
    )[:2]
    forger.members[one], forger.members[other] = (
        forger.members[other],
        forger.members[one],
    )


def forgotten(forger):
    """Leave out a score, also of the published file."""
    forger.json(EVIDENCE, lambda evidence: evidence["lineages"].pop())
    kept = {
        each["folder"]["path"]
        for each in json.loads(forger.members[EVIDENCE])["lineages"]
    }
    for name in [
        each for each in forger.members if each.startswith(FILES + "reports/scores/")
    ]:
        if name.removeprefix(FILES).rpartition("/")[0] not in kept:
            del forger.members[name]
    [name] = [each for each in forger.members if each.startswith(LEDGER)]
    published = json.loads(forger.members.pop(name))
    published["scores"] = [each for each in published["scores"] if each["path"] in kept]
    forger.members[name] = canonical(published)


def edited(path, change):
    """Change each line of a JSONL file."""

    def forge(forger):
        for number in range(len(forger.members[FILES + path].splitlines())):
            forger.row(path, change, number)

    return forge


def grades(forger):
    rows = f"reports/scores/{MODEL}/mm_vet/scenes_mm_vet/rows.jsonl"
    edited(rows, lambda row: row["values"].update(total=[1.0]))(forger)
    edited(rows, lambda row: row["extra"].update(read=[1.0]))(forger)
    score = FILES + rows.replace("rows.jsonl", "score.json")
    forger.json(score, lambda score: number_in(score, "total").update(value=100.0))


def reversed_rows(forger):
    lines = forger.members[FILES + ROWS].splitlines(keepends=True)
    forger.members[FILES + ROWS] = b"".join(lines[::-1])


def shown(forger):
    """Change what examples said; nothing but the key of later calls tells."""

    def change(record):
        if record["step"] and record["extra"]["split"] == "support":
            record["results"][0]["text"] = "a thin stroke"

    edited(f"{TRAC_RECORDS}/records.jsonl", change)(forger)


BY_HAND = {
    "drawing": drawing,
    "grade": grade,
    "swap": swap,
    "forgotten": forgotten,
    "grades": grades,
    "letters": edited(READ, lambda row: row["values"].update(score=[1.0])),
    "unflagged": lambda forger: forger.json(
        f"{FILES}{TRAC}/score.json", lambda score: score["flags"].pop()
    ),
    "reversed": reversed_rows,
    "unseeded": lambda forger: forger.json(
        f"{FILES}{CHAINS}/components.json", lambda card: card["protocol"].pop("seed")
    ),
    "shown": shown,
}


@each_case(cases(__file__, "forgeries"))
def test_a_forgery_is_found(forger, tmp_path, case):
    if "by" in case:
        BY_HAND[case["by"]](forger)
    for edit in case.get("edits", ()):
        forger.put(edit["in"], edit["at"], edit.get("to"))
    for name, text in case.get("adds", {}).items():
        forger.members[name] = text.encode()
    if "removes" in case:
        forger.remove(case["removes"])
    if case.get("mended"):
        forger.follow()
    else:
        forger.rehash()
    found = differing(forger.check(tmp_path))
    assert [each for each in found if case["says"] in each], found
    assert run(tmp_path / "forged.zip") == 1


def replaced(forger, **words):
    """Replace words in the names and texts of all members."""
    members = list(forger.members.items())
    forger.members = {}
    for name, data in members:
        for old, new in words.items():
            name = name.replace(old, new)
            if not name.endswith((".png", ".npy")):
                data = data.replace(old.encode(), new.encode())
        forger.members[name] = data


def foreign(forger, path, role):
    """Let an encoder be one that the checker lacks; its fingerprint."""
    card = json.loads(forger.members[f"{FILES}{path}/score.json"])["components"][role]
    provider = card["provider"]
    parts = {
        each: card[each] for each in ("provider", "version", "settings", "identity")
    } | {"provider": "vit"}
    fingerprint = sha256_of(parts)
    changes = {f'"provider": "{provider}"': '"provider": "vit"'}
    replaced(forger, **{card["fingerprint"]: fingerprint}, **changes)
    forger.follow()
    return fingerprint


def invented(forger, fingerprint, seed):
    """Let the features of all images and texts be nearly the same, and all numbers fit to them."""
    digests = {
        digests["sha256"]
        for name, digests in forger.manifest["files"].items()
        if name.endswith(".png")
    }
    for name, data in forger.members.items():
        if name.endswith("records.jsonl"):
            results = [
                result
                for line in data.splitlines()
                for result in json.loads(line)["results"]
            ]
            digests |= {
                sha256_bytes((result.get("text") or "").encode()) for result in results
            }
    table = io.BytesIO()
    noise = np.random.default_rng(seed).normal(size=(len(digests), 8))
    np.save(table, (1 + 0.01 * noise).astype(np.float32))
    forger.members[f"{FEATURES}{fingerprint}.npy"] = table.getvalue()
    forger.members[f"{FEATURES}{fingerprint}.txt"] = "".join(
        f"{each}\n" for each in sorted(digests)
    ).encode()
    forger.rehash()
    forger.fit(fingerprint)


FIDELITY, TRAC = (
    f"reports/scores/{MODEL}/fidelity/my_images/painter/layout",
    f"reports/scores/{MODEL}/trac/digits/shown/tfidf",
)
FEATURED = [
    (
        GENCEPTION,
        "encoder",
        {"words", "text_similarity", "text_similarity_mean"},
    ),
    (FIDELITY, "encoder", {"words", "ssim"}),
    (TRAC, "text_encoder", {"words", "chance"}),
]
"""Score, role of the encoder, and the metrics that its features do not shape."""


@pytest.mark.parametrize(
    ("path", "role", "others"), FEATURED, ids=["genception", "fidelity", "trac"]
)
def test_a_headline_from_features_is_said_first_and_never_passes_by_itself(
    forger, tmp_path, path, role, others, capsys
):
    """Who invents features has any number: a similarity of 1 here."""
    fingerprint = foreign(forger, path, role)
    invented(forger, fingerprint, seed=2)
    before = numbers_of(forger, path)
    invented(forger, fingerprint, seed=1)
    after = numbers_of(forger, path)
    report = forger.check(tmp_path)
    assert differing(report) == []
    score = path.removeprefix("reports/scores/")
    metrics = report.headlines[score]
    taken = {name for name, status in metrics.items() if status == FROM_FEATURES}
    assert taken == metrics.keys() - others
    assert {metrics[name] for name in others} == {"reproduced"}
    assert before.keys() == after.keys()
    changed = {
        f"{path}/score.json: {place}"
        for place in before
        if before[place] != after[place]
    }
    marked = {
        line.where
        for line in report.groups[f"numbers of {score}"]
        if line.status == FROM_FEATURES
    }
    assert changed
    assert changed <= marked
    assert run(tmp_path / "forged.zip") == report.code == 3
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith(f"{FROM_FEATURES}: ")
    assert run(tmp_path / "forged.zip", trust_features=True) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith(f"{FROM_FEATURES}, which --trust-features accepts: ")
    assert run(tmp_path / "forged.zip", as_json=True) == 3
    content = json.loads(capsys.readouterr().out)
    assert (content["code"], content["headlines"][score]) == (3, metrics)


def numbers_of(forger, path):
    """Every value that a score has."""
    score = Score.model_validate_json(forger.members[f"{FILES}{path}/score.json"])
    return {value.where: value.stored for value in compare_numbers(score.numbers, [])}


def test_a_headline_that_is_not_checked_is_said_first(forger, tmp_path, capsys):
    """An encoder that the checker lacks, without its features, can carry any number."""
    fingerprint = foreign(forger, GENCEPTION, "encoder")
    for ending in ("npy", "txt"):
        del forger.members[f"{FEATURES}{fingerprint}.{ending}"]
    for name in ("gc_at_1", "gc_at_2"):
        forger.put(FILES + SCORE, [name, "value"], 0.98)
    forger.follow()
    report = forger.check(tmp_path)
    assert (
        report.headlines[GENCEPTION.removeprefix("reports/scores/")]["gc"]
        == "not checkable"
    )
    for trusts in (False, True):
        assert run(tmp_path / "forged.zip", trust_features=trusts) == report.code == 3
        first = capsys.readouterr().out.splitlines()[0]
        assert first.startswith(
            f"not checked: {GENCEPTION.removeprefix('reports/scores/')}: "
        )
        assert "gc" in first


@pytest.mark.parametrize(
    "benchmark", ["genception", "trac", "fidelity", "mm_sap", "mm_vet", "mme"]
)
def test_a_benchmark_of_somebody_else_is_not_checked_and_all_else_is(
    forger, tmp_path, benchmark, capsys
):
    replaced(
        forger,
        **{
            f"/{benchmark}/": "/theirs/",
            f'"{benchmark}/': '"theirs/',
            f'"{benchmark}"': '"theirs"',
        },
    )
    forger.follow()
    report = forger.check(tmp_path)
    assert differing(report) == []
    metrics = {
        score.split("/")[1]: {*some.values()}
        for score, some in report.headlines.items()
    }
    assert metrics.pop("theirs") == {"not checkable"}
    assert len(metrics) == 5
    assert {status for some in metrics.values() for status in some} <= {
        "reproduced",
        FROM_FEATURES,
    }
    assert run(tmp_path / "forged.zip") == 3
    assert capsys.readouterr().out.startswith(f"not checked: {MODEL}/theirs/")
    forger.row(
        READ.replace("/mm_sap/", "/theirs/") if benchmark == "mm_sap" else READ,
        better_grade,
    )
    forger.follow()
    assert forger.check(tmp_path).code == (3 if benchmark == "mm_sap" else 1)


def better_grade(row):
    row["values"]["score"][0] = 1.0 - row["values"]["score"][0]


@pytest.mark.parametrize("benchmark", ["genception", "theirs"])
@pytest.mark.parametrize(
    ("keys", "noted", "is_missing"),
    [
        ("my_images/other/layout", {"generator": "0" * 64, "encoder": "0" * 64}, False),
        (
            "my_images/painter/other",
            {"generator": "0" * 64, "encoder": "0" * 64},
            False,
        ),
        ("painter/other/layout", {"generator": "0" * 64, "encoder": "0" * 64}, False),
        ("more/painter/layout", {"generator": "0" * 64, "encoder": "0" * 64}, True),
        ("more/other", {"generator": "0" * 64}, False),
        ("more/painter", {"generator": "0" * 64}, True),
        ("more", {}, True),
    ],
)
def test_a_score_of_another_generator_may_be_left_out(
    forger, tmp_path, benchmark, keys, noted, is_missing
):
    def note(evidence):
        for lineage in evidence["lineages"]:
            params = lineage["stages"][f"score@{MODEL}"]["params"]["data/resolved.json"]
            params[f"score.{MODEL}"][f"{benchmark}/{keys}"] = noted

    forger.json(EVIDENCE, note)
    [listing] = {
        each["folder"]["md5"]
        for each in json.loads(forger.members[EVIDENCE])["lineages"]
    }
    rows = json.loads(forger.members[LISTINGS + listing])
    rows.append({"md5": "0" * 32, "relpath": f"{benchmark}/{keys}/score.json"})
    forger.members[LISTINGS + listing] = json.dumps(rows).encode()
    forger.follow()
    found = differing(forger.check(tmp_path))
    assert bool(found) == is_missing
    assert all("the bundle leaves out this score of the run" in each for each in found)


@pytest.mark.parametrize(
    "change",
    [lambda rows: rows.clear(), lambda rows: rows.append(rows[0])],
    ids=["none", "twice"],
)
def test_a_bundle_without_a_score_or_with_one_twice_is_refused(
    forger, tmp_path, change, capsys
):
    forger.json(EVIDENCE, lambda evidence: change(evidence["lineages"]))
    forger.rehash()
    assert run(forger.write(tmp_path / "x.zip")) == 2
    assert "holds no score, one of them twice" in capsys.readouterr().err


def test_an_owner_who_mends_all_that_there_is_passes(forger, tmp_path):
    """So a finding of the cases above is of the change, and not of how it was mended."""
    before = set(forger.members)
    forger.follow()
    assert set(forger.members) == before
    assert differing(forger.check(tmp_path)) == []


@pytest.mark.parametrize("start", [FILES, LISTINGS, FEATURES, LEDGER])
def test_one_changed_byte_is_found(forger, tmp_path, start):
    names = sorted(name for name in forger.members if name.startswith(start))[
        :: max(1, len(forger.members) // 8)
    ]
    assert names
    kept, refused = dict(forger.members), 0
    for name in names:
        place = len(kept[name]) // 2
        data = (
            kept[name][:place]
            + bytes([kept[name][place] ^ 1])
            + kept[name][place + 1 :]
        )
        forger.members = kept | {name: data}
        try:
            found = differing(forger.check(tmp_path))
        except ValueError:
            refused += 1  # a score.json that is none
            continue
        assert [each for each in found if each.startswith(f"{name}: it is")], name
    assert refused < len(names)


@pytest.mark.parametrize("hostile", [None, {}, "\x1b[2J", 10**400])
@pytest.mark.parametrize("field", ["file", "sha256", "sample", "t", "parent_sha256"])
def test_records_of_other_types_are_findings_and_no_crash(
    forger, tmp_path, field, hostile, capsys
):
    forger.row(RECORDS, lambda row: row.update({field: hostile}))
    forger.follow()
    assert differing(forger.check(tmp_path))
    assert run(tmp_path / "forged.zip") == 1
    assert "\x1b" not in capsys.readouterr().out


def ours(**members):
    file = io.BytesIO()
    archive.write(
        file, {name: lambda data=data: data for name, data in members.items()}
    )
    return file.getvalue()


def zipped(name, data=b"", method=zipfile.ZIP_STORED, **fields):
    """As any other program writes one."""
    file = io.BytesIO()
    with (
        zipfile.ZipFile(file, "w", method) as made,
        warnings.catch_warnings(action="ignore"),
    ):
        info = zipfile.ZipInfo(name)
        info.flag_bits, info.external_attr, info.compress_type = (
            0x800,
            (stat.S_IFREG | 0o644) << 16,
            method,
        )
        for field, value in fields.items():
            setattr(info, field, value)
        made.writestr(info, data)
    return file.getvalue()


def named(name, size=0):
    """One member of this name, in the form of a bundle but for it."""
    member = archive._Member(name, 0, size, 0)
    return member.local + archive._end([member], len(member.local))


PLAIN = ours(a=b"first", b=b"second")
ENCRYPTED = PLAIN.index(b"PK\1\2") + 8
NAMES = (
    "../x",
    "files/../../x",
    "/etc/x",
    "C:/x",
    "a//b",
    "./a",
    "a\\..\\b",
    "a\0b",
    "a\x1b[2J",
    "",
    "a/",
    "a" * 256,
)
NOT_ARCHIVES = [
    *(named(name.encode()) for name in NAMES),
    *(
        PLAIN + b"\0",
        PLAIN + PLAIN,
        b"#!/bin/sh\n" + PLAIN,
        PLAIN[:-1],
        PLAIN[:40],
        b"",
    ),
    PLAIN[:-22] + b"hidden" + PLAIN[-22:],
    PLAIN.replace(b"PK\1\2", b"hidden" + b"PK\1\2", 1),
    PLAIN[:ENCRYPTED] + struct.pack("<H", 0x801) + PLAIN[ENCRYPTED + 2 :],
    named(b"\xff"),
    named(b"a", 0xFFFFFFFF),
    zipped("a", bytes(1_000_000), zipfile.ZIP_DEFLATED),
    zipped("a", comment=b"look here"),
    zipped("a", extra=b"\x01\x00\x01\x00x"),
    zipped("a", date_time=(2026, 1, 1, 0, 0, 0)),
    zipped("a", b"/etc/passwd", external_attr=(stat.S_IFLNK | 0o777) << 16),
]


@pytest.mark.parametrize("data", NOT_ARCHIVES, ids=range(len(NOT_ARCHIVES)))
def test_a_file_of_another_form_is_refused(data, tmp_path):
    with pytest.raises(BundleError):
        Archive(io.BytesIO(data))
    (tmp_path / "x.zip").write_bytes(data)
    assert run(tmp_path / "x.zip") == 2
    assert not is_bundle(tmp_path / "x.zip")


@each_case(cases(__file__, "passed_on"))
def test_a_bundle_as_people_pass_it_on_gets_a_sentence(case, tmp_path, capsys):
    data = case.get("begins", "").encode("latin-1") + bytes(case.get("zeros", 0))
    if "zip" in case:
        data = zipped(case["zip"], PLAIN, zipfile.ZIP_DEFLATED)
    if "cut" in case:
        data = PLAIN[: case["cut"]]
    (tmp_path / "x.zip").write_bytes(data)
    assert run(tmp_path / "x.zip") == 2
    assert case["says"] in capsys.readouterr().err


def test_a_bundle_is_read_from_a_file(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    assert run(tmp_path / "pipe") == run(tmp_path) == run(tmp_path / "none") == 2
    pipe, folder, missing = capsys.readouterr().err.splitlines()
    assert pipe.endswith("pipe is a pipe or a device: save the bundle to a file first")
    assert "is a folder: give the file that 'driftledger bundle' wrote" in folder
    assert missing.endswith("none cannot be read: No such file or directory")


def test_every_bit_of_the_form_counts():
    for place in range(len(PLAIN)):
        changed = (
            PLAIN[:place] + bytes([PLAIN[place] ^ 1 << place % 8]) + PLAIN[place + 1 :]
        )
        with pytest.raises(BundleError):
            b"".join(map(Archive(io.BytesIO(changed)).read, "ab"))


DEEP = b'"schema":' + b"[" * 99_999 + b"]" * 99_999
MANIFESTS = [
    (b"", b"\n", "it is not canonical JSON"),
    (b'"schema":2', b'"schema":2,"schema":2', "it has the key 'schema' twice"),
    (b'"schema":2', b'"schema":NaN', "NaN is not a finite number"),
    (b'"schema":2', b'"schema":1e999', "1e999 is not a finite number"),
    (b'"schema":2', DEEP, "it is nested too deep"),
    (b'"schema":2', b'"schema":true', "schema True; this driftledger knows schema 2"),
    (b'"schema":2', b'"schema":1', "knows schema 2"),
    (b'"name":', b'"name":"\\ud800","x":', "half of a surrogate pair"),
    (
        b'"left_out":{',
        b'"left_out":{"../x":{"bytes":0,"md5":"","sha256":""}',
        "names a file",
    ),
    (None, b"[]", "does not hold what it must"),
    (None, b"", "does not hold what it must: JSONDecodeError"),
]
"""What is replaced in the manifest, or all of it, by what, and the sentence."""


@pytest.mark.parametrize(
    ("old", "new", "says"), MANIFESTS, ids=[each[2] for each in MANIFESTS]
)
def test_a_manifest_that_reads_in_two_ways_or_in_none(
    forger, tmp_path, old, new, says, capsys
):
    manifest = forger.members[MANIFEST]
    forger.members[MANIFEST] = new if old is None else manifest.replace(old, new, 1)
    assert run(forger.write(tmp_path / "x.zip")) == 2
    assert says in capsys.readouterr().err


def test_json_has_every_line(score_zip, capsys):
    assert run(score_zip, as_json=True) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["holds"], report["code"]) == (True, 0)
    headlines = report["headlines"].values()
    statuses = [each for metrics in headlines for each in metrics.values()]
    assert len(report["headlines"]) == 6
    assert set(statuses) == {"reproduced"}
    lines = [line for some in report["lines"].values() for line in some]
    assert sum(line["values"] for line in lines) == sum(report["counts"].values())


@pytest.mark.parametrize(
    ("is_given", "flag", "found"),
    [
        (True, READ_PARTLY, "not checkable"),
        (False, READ_PARTLY, "differs"),
        (True, {"text": "all replies are one text", "alarm": True}, "differs"),
    ],
)
def test_how_much_a_given_encoder_read_is_not_checked(
    forger, tmp_path, is_given, flag, found
):
    """No bundle says how much of a text was read by an encoder that is not here. An alarm follows
    from the records."""
    if is_given:
        invented(forger, foreign(forger, TRAC, "text_encoder"), seed=1)
    forger.json(f"{FILES}{TRAC}/score.json", lambda score: score["flags"].append(flag))
    forger.follow()
    report = forger.check(tmp_path)
    lines = report.groups[f"numbers of {TRAC.removeprefix('reports/scores/')}"]
    status = {line.where.rpartition(": ")[2]: line.status for line in lines}
    assert status["flags.0"] == "reproduced"
    assert status["flags.1"] == found

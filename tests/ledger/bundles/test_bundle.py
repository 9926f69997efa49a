"""Bundles: what one holds, forged ones and their findings, and files that are none."""

import io
import json
import os
import shutil

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
from driftledger.ledger.links import check_files
from driftledger.ledger.rescoring import compare_numbers
from driftledger.scoring.score import Score
from tests.ledger.conftest import CHAINS, GENCEPTION, MODEL
from tests.support.bundles import Forger, differing
from tests.support.cases import cases, each_case
from tests.support.forging import forge

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
    assert len(numbers) == 7
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
        name = f"{FILES}{folder}/records.jsonl"
        steps = [row["step"] for row in forger.lines(name)]
        number = steps.index(t)
        model, generator = forger.lines(name)[number]["results"]
        empty = model | {"outcome": "empty", "text": ""}
        forger.put(name, number, "results", to=[empty])
        del forger.members[f"{FILES}{folder}/{generator['file']}"]
        (ledger.root / folder / "records.jsonl").write_bytes(forger.members[name])
    shutil.rmtree(ledger.root / "reports/scores")
    score(ledger.project, MODEL)
    for folder in scores:
        for name in ("score.json", "rows.jsonl"):
            forger.members[f"{FILES}{folder}/{name}"] = (
                ledger.root / folder / name
            ).read_bytes()
        found = forger.read(f"{FILES}{folder}/score.json")
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
        "clip_s_i": FROM_FEATURES,
        "clip_s": FROM_FEATURES,
        "frechet": FROM_FEATURES,
        "kid": FROM_FEATURES,
    }
    forger = Forger(tmp_path / "score.zip")
    [name, *_] = forger.read(MANIFEST)["left_out"]
    forger.put(MANIFEST, "left_out", name, "md5", to="0" * 32)
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
    ledger.put(ROWS, 0, "values", "similarity", to=[0.9, 0.9])
    ledger.relock()
    with pytest.raises(LedgerError, match="nothing is bundled: "):
        write_bundle(ledger.project, ledger.evidence(), out)
    assert not list(tmp_path.glob("score*"))


@each_case(cases(__file__, "forgeries"))
def test_a_forgery_is_found(forger, tmp_path, case):
    forge(forger.members, case["edits"])
    if case.get("mended"):
        forger.follow()
    else:
        forger.rehash()
    report = forger.check(tmp_path)
    differences = differing(report)
    assert [each for each in differences if case["says"] in each], differences
    assert report.code == 1


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
    card = forger.read(f"{FILES}{path}/score.json")["components"][role]
    provider = card["provider"]
    parts = {part: card[part] for part in ("version", "settings", "identity")}
    fingerprint = sha256_of(parts | {"provider": "vit"})
    changes = {f'"provider": "{provider}"': '"provider": "vit"'}
    replaced(forger, **{card["fingerprint"]: fingerprint}, **changes)
    forger.follow()
    return fingerprint


def invented(forger, fingerprint, seed, tmp_path):
    """Let the features of all images and texts be nearly the same, and all numbers fit to them."""
    digests = set()
    for name, data in forger.members.items():
        if name.endswith(".png"):
            digests.add(sha256_bytes(data))
        elif name.endswith("records.jsonl"):
            for record in forger.lines(name):
                for result in record["results"]:
                    text = result.get("text") or ""
                    digests.add(sha256_bytes(text.encode()))
    table = io.BytesIO()
    noise = np.random.default_rng(seed).normal(size=(len(digests), 8))
    np.save(table, (1 + 0.01 * noise).astype(np.float32))
    forger.members[f"{FEATURES}{fingerprint}.npy"] = table.getvalue()
    forger.members[f"{FEATURES}{fingerprint}.txt"] = "".join(
        f"{each}\n" for each in sorted(digests)
    ).encode()
    forger.rehash()
    forger.fit(fingerprint, tmp_path / str(seed))


FIDELITY, SELF_RETRIEVAL, TRAC = (
    f"reports/scores/{MODEL}/fidelity/my_images/painter/layout",
    f"reports/scores/{MODEL}/self_retrieval/my_images/layout",
    f"reports/scores/{MODEL}/trac/digits/shown/tfidf",
)
FEATURED = [
    (
        GENCEPTION,
        "encoder",
        {"words", "text_similarity", "text_similarity_mean"},
    ),
    (FIDELITY, "encoder", {"words", "ssim"}),
    (SELF_RETRIEVAL, "encoder", {"words", "chance"}),
    (TRAC, "text_encoder", {"words", "chance"}),
]
"""Score, role of the encoder, and the metrics that its features do not shape."""


@pytest.mark.parametrize(
    ("path", "role", "others"),
    FEATURED,
    ids=[path.split("/")[3] for path, *_ in FEATURED],
)
def test_a_headline_from_features_is_said_first_and_never_passes_by_itself(
    forger, tmp_path, path, role, others, capsys
):
    """Who invents features has any number: a similarity of 1 here."""
    fingerprint = foreign(forger, path, role)
    invented(forger, fingerprint, 2, tmp_path)
    before = numbers_of(forger, path)
    invented(forger, fingerprint, 1, tmp_path)
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
    assert report.code == report.to_dict()["exit_code"] == 3
    assert report.to_dict()["headlines"][score] == metrics
    assert report.as_text().startswith(f"{FROM_FEATURES}: ")
    assert run(tmp_path / "forged.zip", trust_features=True) == 0
    trusting = f"{FROM_FEATURES}, which --trust-features accepts: "
    assert capsys.readouterr().out.startswith(trusting)


def numbers_of(forger, path):
    """Every value that a score has."""
    score = Score.model_validate_json(forger.members[f"{FILES}{path}/score.json"])
    return {value.where: value.stored for value in compare_numbers(score.numbers, [])}


def test_a_headline_that_is_not_checked_is_said_first(forger, tmp_path):
    """An encoder that the checker lacks, without its features, can carry any number."""
    fingerprint = foreign(forger, GENCEPTION, "encoder")
    for ending in ("npy", "txt"):
        del forger.members[f"{FEATURES}{fingerprint}.{ending}"]
    for name in ("gc_at_1", "gc_at_2"):
        forger.put(FILES + SCORE, name, "value", to=0.98)
    forger.follow()
    report = forger.check(tmp_path)
    assert (
        report.headlines[GENCEPTION.removeprefix("reports/scores/")]["gc"]
        == "not checkable"
    )
    for trusts in (False, True):
        trusting = report._replace(trusts_features=trusts)
        assert trusting.code == 3
        first = trusting.as_text().splitlines()[0]
        assert first.startswith(
            f"not checked: {GENCEPTION.removeprefix('reports/scores/')}: "
        )
        assert "gc" in first


@pytest.mark.parametrize(
    "benchmark",
    [
        "genception",
        "self_retrieval",
        "trac",
        "fidelity",
        "mm_sap",
        "mm_vet",
        "mme",
    ],
)
def test_a_benchmark_of_somebody_else_is_not_checked_and_all_else_is(
    forger, tmp_path, benchmark
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
    assert len(metrics) == 6
    assert {status for some in metrics.values() for status in some} <= {
        "reproduced",
        FROM_FEATURES,
    }
    assert report.code == 3
    assert report.as_text().startswith(f"not checked: {MODEL}/theirs/")
    read = FILES + READ.replace(f"/{benchmark}/", "/theirs/")
    grade = forger.lines(read)[0]["values"]["score"][0]
    forger.put(read, 0, "values", "score", 0, to=1.0 - grade)
    forger.follow()
    assert forger.check(tmp_path).code == (3 if benchmark == "mm_sap" else 1)


@pytest.mark.parametrize("benchmark", ["genception", "theirs"])
@each_case(cases(__file__, "left_out"))
def test_a_score_of_another_generator_may_be_left_out(
    forger, tmp_path, benchmark, case
):
    keys = case["keys"]
    noted = dict.fromkeys(case["noted"], "0" * 64)
    params = ("lineages", "*", "stages", f"score@{MODEL}", "params")
    inputs = ("data/resolved.json", f"score.{MODEL}", f"{benchmark}/{keys}")
    forger.put(EVIDENCE, *params, *inputs, to=noted)
    [listing] = {each["folder"]["md5"] for each in forger.read(EVIDENCE)["lineages"]}
    score = {"md5": "0" * 32, "relpath": f"{benchmark}/{keys}/score.json"}
    rows = [*forger.read(LISTINGS + listing), score]
    forger.members[LISTINGS + listing] = json.dumps(rows).encode()
    forger.follow()
    differences = differing(forger.check(tmp_path))
    assert bool(differences) == case["is_missing"]
    assert all("the bundle leaves out this score" in each for each in differences)


@pytest.mark.parametrize("count", [0, 2])
def test_a_bundle_without_a_score_or_with_one_twice_is_refused(
    forger, tmp_path, count, capsys
):
    lineages = forger.read(EVIDENCE)["lineages"]
    forger.put(EVIDENCE, "lineages", to=count * lineages[:1])
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
def test_one_changed_byte_is_found(forger, start):
    names = forger.names(start)[:: max(1, len(forger.members) // 8)]
    assert names
    kept = dict(forger.members)
    refused = 0
    for name in names:
        forger.members = dict(kept)
        middle = len(kept[name]) // 2
        forge(forger.members, [{"in": name, "flip": middle}])
        try:
            lines = [*check_files(forger.opened())]
        except BundleError:
            refused += 1  # a score.json that is none
            continue
        assert (name, "differs") in [(line.where, line.status) for line in lines]
    assert refused < len(names)


@pytest.mark.parametrize("hostile", [None, {}, "\x1b[2J", 10**400])
@pytest.mark.parametrize("field", ["file", "sha256", "sample", "t", "parent_sha256"])
def test_records_of_other_types_are_findings_and_no_crash(
    forger, tmp_path, field, hostile, capsys
):
    forger.put(FILES + RECORDS, 0, field, to=hostile)
    forger.follow()
    assert run(forger.write(tmp_path / "forged.zip")) == 1
    assert "\x1b" not in capsys.readouterr().out


def ours(**members):
    file = io.BytesIO()
    archive.write(
        file, {name: lambda data=data: data for name, data in members.items()}
    )
    return file.getvalue()


PLAIN = ours(a=b"first", b=b"second")


@each_case(cases(__file__, "passed_on"))
def test_what_is_not_a_bundle_is_refused(case, tmp_path, capsys):
    """Files that hide something, and bundles as people pass them on."""
    file = tmp_path / "x.zip"
    file.write_bytes(bytes.fromhex(case["hex"]))
    with file.open("rb") as opened, pytest.raises(BundleError):
        Archive(opened)
    assert run(file) == 2
    assert not is_bundle(file)
    assert case.get("says", "x.zip ") in capsys.readouterr().err


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


@each_case(cases(__file__, "manifests"))
def test_a_manifest_that_reads_in_two_ways_or_in_none(forger, tmp_path, case, capsys):
    """``old`` is replaced by ``new``, or all of it is."""
    manifest = forger.members[MANIFEST].decode()
    new = case["new"].replace("DEEP", "[" * 99_999 + "]" * 99_999)
    if "old" in case:
        new = manifest.replace(case["old"], new, 1)
    forger.members[MANIFEST] = new.encode()
    assert run(forger.write(tmp_path / "x.zip")) == 2
    assert case["says"] in capsys.readouterr().err


def test_json_has_every_line(score_zip, capsys):
    assert run(score_zip, as_json=True) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["holds"], report["exit_code"]) == (True, 0)
    headlines = report["headlines"].values()
    statuses = [each for metrics in headlines for each in metrics.values()]
    assert len(report["headlines"]) == 7
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
        invented(forger, foreign(forger, TRAC, "text_encoder"), 1, tmp_path)
    forger.add(f"{FILES}{TRAC}/score.json", "flags", item=flag)
    forger.follow()
    report = forger.check(tmp_path)
    lines = report.groups[f"numbers of {TRAC.removeprefix('reports/scores/')}"]
    status = {line.where.rpartition(": ")[2]: line.status for line in lines}
    assert status["flags.0"] == "reproduced"
    assert status["flags.1"] == found

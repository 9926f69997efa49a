"""Bundles made by somebody who wishes their reader ill: refused in a sentence, or named line by line; never obeyed."""
# ruff: noqa: F811  # fixtures that are imported

import io
import json
import stat
import struct
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from driftledger_check import archive
from driftledger_check.archive import Archive, ArchiveError
from driftledger_check.bundle import (
    BESIDE,
    CHECKPOINT,
    EVIDENCE,
    FEATURES,
    FILES,
    LINE,
    MANIFEST,
    PROOF,
    STATEMENT,
    Bundle,
    BundleError,
    Digests,
)
from driftledger_check.cli import run
from driftledger_check.strict_json import canonical
from tests.driftledger_check.conftest import forger, released, score_zip  # noqa: F401  # fixtures
from tests.support.bundles import CHAINS, DATASET, SCORE, Forger, differing

RECORDS, SAMPLES = f"{CHAINS}/records.jsonl", f"{DATASET}/samples.jsonl"
SCORE_FILE = f"{SCORE}/score.json"


# ---- the archive ----------------------------------------------------------------------------------------------------


def opened(data: bytes) -> Archive:
    return Archive(io.BytesIO(data))


def ours(**members: bytes) -> bytes:
    """An archive in the one form."""
    file = io.BytesIO()
    archive.write(file, {name: lambda data=data: data for name, data in members.items()})  # type: ignore[misc]
    return file.getvalue()


def zipped(*members: tuple[str, bytes], method: int = zipfile.ZIP_STORED, **fields: Any) -> bytes:
    """As any other program writes one."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as made, warnings.catch_warnings(action="ignore"):
        for name, data in members:
            info = zipfile.ZipInfo(name)
            info.flag_bits, info.external_attr, info.compress_type = 0x800, (stat.S_IFREG | 0o644) << 16, method
            for field, value in fields.items():
                setattr(info, field, value)
            made.writestr(info, data)
    return file.getvalue()


def read_all(data: bytes) -> list[bytes]:
    made = opened(data)
    return [made.read(name) for name in made.names]


def named(name: str) -> bytes:
    """One member of this name, in the form of a bundle but for it."""
    member = archive._Member(name.encode(), 0, 0, 0)
    return member.local + member.central + archive._end(1, len(member.central), len(member.local))


PLAIN = ours(a=b"first", b=b"second")


def test_what_we_write_any_program_reads_and_we_read() -> None:
    assert opened(PLAIN).read("b") == b"second"
    with zipfile.ZipFile(io.BytesIO(PLAIN)) as other:
        assert other.testzip() is None
        assert [each.date_time[:3] for each in other.infolist()] == [(1980, 1, 1)] * 2
        assert {each.external_attr >> 16 for each in other.infolist()} == {stat.S_IFREG | 0o644}


@pytest.mark.parametrize(
    "name",
    ["../x", "files/../../x", "/etc/x", "C:/x", "c:x", "a//b", "./a", "a\\..\\b", "a\0b", "a\nb", "a\x1b[2J", ""],
)
def test_a_name_that_leads_elsewhere(name: str) -> None:
    with pytest.raises(ArchiveError, match=r"which leads out|control characters|twice, or out of its order"):
        opened(named(name))
    with pytest.raises(ArchiveError):
        ours(**{name: b""})


def test_a_part_of_a_name_longer_than_any_file_system_takes() -> None:
    with pytest.raises(ArchiveError, match="more than 255 bytes"):
        opened(named("a" * 256))


def test_a_name_that_is_not_utf_8() -> None:
    with pytest.raises(ArchiveError, match="not UTF-8"):
        opened(PLAIN.replace(b"a", b"\xff"))


@pytest.mark.parametrize("mode", [stat.S_IFLNK | 0o777, stat.S_IFCHR | 0o644, stat.S_IFREG | 0o4755])
def test_a_link_a_device_and_a_program(mode: int) -> None:
    with pytest.raises(ArchiveError, match=r"as a link|otherwise than a bundle does"):
        opened(
            zipped(("a", b"/etc/passwd"), external_attr=mode << 16, create_version=20, date_time=(1980, 1, 1, 0, 0, 0))
        )


def test_a_folder() -> None:
    with pytest.raises(ArchiveError, match="a link or a folder"):
        opened(named("a/"))


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_bomb_of_a_million_to_one_is_not_decompressed(method: int) -> None:
    with pytest.raises(ArchiveError, match="compressed; members of a bundle are stored"):
        opened(zipped(("a", bytes(10_000_000)), method=method))


def test_an_encrypted_member() -> None:
    at = PLAIN.index(b"PK\1\2") + 8
    with pytest.raises(ArchiveError, match="encrypted"):
        opened(PLAIN[:at] + struct.pack("<H", 0x801) + PLAIN[at + 2 :])


def test_more_members_than_any_run_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MEMBERS", 65_535)
    many = ours(**{f"{number:05}": b"" for number in range(65_001)})
    monkeypatch.undo()
    with pytest.raises(ArchiveError, match="does not end as one"):
        opened(many)


def test_two_members_of_one_name() -> None:
    first, second = (archive._Member(b"a", 0, 0, offset) for offset in (0, 31))
    central = first.central + second.central
    with pytest.raises(ArchiveError, match="a twice"):
        opened(first.local + second.local + central + archive._end(2, len(central), 62))


def test_members_that_share_their_bytes() -> None:
    first, second = archive._Member(b"a", 0, 0, 0), archive._Member(b"b", 0, 0, 0)
    central = first.central + second.central
    with pytest.raises(ArchiveError, match="lists b otherwise"):
        opened(first.local + central + archive._end(2, len(central), len(first.local)))


@pytest.mark.parametrize("at", [4, 6, 8, 10, 12, 14, 18, 22, 28, 30])
def test_a_member_that_says_another_thing_of_itself_than_the_list_does(at: int) -> None:
    changed = PLAIN[:at] + bytes([PLAIN[at] ^ 1]) + PLAIN[at + 1 :]
    with pytest.raises(ArchiveError, match="before its bytes than in its list"):
        opened(changed)


def test_every_bit_of_the_form_counts() -> None:
    """Whatever bit is changed, the file is refused, or a member has other bytes than its checksum is of."""
    for place in range(len(PLAIN)):
        for bit in range(8):
            changed = PLAIN[:place] + bytes([PLAIN[place] ^ 1 << bit]) + PLAIN[place + 1 :]
            with pytest.raises(ArchiveError):
                read_all(changed)


@pytest.mark.parametrize(
    "data",
    [
        PLAIN + b"\0",
        PLAIN + PLAIN,
        b"#!/bin/sh\n" + PLAIN,
        PLAIN[:-1],
        PLAIN[:40],
        PLAIN[:-22] + b"hidden" + PLAIN[-22:],
        PLAIN.replace(b"PK\1\2", b"hidden" + b"PK\1\2", 1),
        zipped(("a", b""), comment=b"look here"),
        zipped(("a", b""), extra=b"\x01\x00\x01\x00x"),
        zipped(("a", b""), date_time=(2026, 1, 1, 0, 0, 0)),
    ],
    ids=["one byte behind", "two archives", "a program before", "cut", "cut early", "a gap before the end", "a gap",
         "a comment", "an extra field", "a date"],
)  # fmt: skip
def test_bytes_that_are_of_no_member(data: bytes) -> None:
    with pytest.raises(ArchiveError):
        opened(data)


@pytest.mark.parametrize("field", [8, 10, 12, 16])
def test_an_end_that_counts_otherwise(field: int) -> None:
    at = len(PLAIN) - 22 + field
    with pytest.raises(ArchiveError):
        opened(PLAIN[:at] + b"\xff\xff" + PLAIN[at + 2 :])


def test_a_size_that_no_file_has() -> None:
    member = archive._Member(b"a", 0, 0xFFFFFFFF, 0)
    with pytest.raises(ArchiveError):
        opened(member.local + member.central + archive._end(1, len(member.central), len(member.local)))


# ---- what the bundle says of itself ---------------------------------------------------------------------------------


def refused(forged: Forger, folder: Path) -> str:
    """The sentence with which it is refused."""
    with Archive(forged.write(folder / "x.zip").open("rb")) as made, pytest.raises(BundleError) as error:
        Bundle(made)
    assert run(folder / "x.zip") == 2
    return str(error.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data.replace(b",", b", ", 1), "not written in the one form"),
        (lambda data: data + b"\n", "not written in the one form"),
        (lambda data: data[:-1] + b',"schema":1}', "the key 'schema' stands there twice"),
        (lambda data: data.replace(b'"schema":1', b'"schema":NaN'), "NaN, which is no number"),
        (lambda data: data.replace(b'"schema":1', b'"schema":1e999'), "1e999, which is no finite number"),
        (lambda data: data.replace(b'"schema":1', b'"schema":' + b"[" * 100_000 + b"]" * 100_000), "nests deeper than"),
        (lambda data: data.replace(b'"schema":1', b'"schema":' + b"9" * 10_000), "cannot be read"),
        (lambda data: data.replace(b'"schema":1', b'"schema":true'), "schema is not a int"),
        (lambda data: data.replace(b'"schema":1', b'"schema":2'), "knows schema 1"),
        (lambda data: data.replace(b'"kind":"driftledger', b'"kind":"other'), "is of 'other-bundle'"),
        (lambda data: data.replace(b'"name":', b'"name":"\\ud800","x":', 1), "cannot be read"),
        (lambda data: b"\xff" + data, "cannot be read"),
        (lambda data: b"[]", "it is not a dict"),
        (lambda data: b"", "cannot be read"),
    ],
)  # fmt: skip
def test_a_manifest_that_reads_in_two_ways_or_in_none(
    change: Callable[[bytes], bytes],
    said: str,
    forger: Forger,
    tmp_path: Path,
) -> None:
    forger.members[MANIFEST] = change(forger.members[MANIFEST])
    assert said in refused(forger, tmp_path)


@pytest.mark.parametrize("path", ["../../etc/passwd", "/etc/passwd", "data\\x", "data//x"])
@pytest.mark.parametrize("part", ["files", "left_out"])
def test_a_manifest_that_names_what_lies_outside(
    part: str,
    path: str,
    forger: Forger,
    tmp_path: Path,
) -> None:
    forger.json(MANIFEST, lambda said: said[part].update({path: {"sha256": "", "md5": "", "bytes": 0}}))
    assert "names a file" in refused(forger, tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        lambda evidence: evidence.update(lineages={}),
        lambda evidence: evidence["lineages"].append([]),
        lambda evidence: evidence["lineages"][0].update(stages=[]),
        lambda evidence: evidence["lineages"][0]["score"].update(components={"model": "regions"}),
        lambda evidence: evidence["lineages"][0]["data"].update(md5=None),
        lambda evidence: evidence.update(name=[]),
    ],
)
def test_an_evidence_of_another_shape(
    change: Callable[[Any], object],
    forger: Forger,
    tmp_path: Path,
) -> None:
    forger.json(EVIDENCE, change)
    assert "has a evidence.json that is not one" in refused(forger, tmp_path).replace("an evidence", "a evidence")


def test_a_file_that_is_there_and_left_out(forger: Forger, tmp_path: Path) -> None:
    forger.json(MANIFEST, lambda said: said["left_out"].update({RECORDS: said["files"][RECORDS]}))
    assert "both holds" in refused(forger, tmp_path)


def test_more_json_than_fits_a_memory(forger: Forger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftledger_check.bundle.JSON_BYTES", 10_000)
    assert "bytes of JSON, and no more than 10,000 are read" in refused(forger, tmp_path)


def test_a_member_and_a_list_of_members_that_fit_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "LIST_BYTES", 90)
    with pytest.raises(ArchiveError, match="does not end as one"):
        opened(PLAIN)
    monkeypatch.undo()
    monkeypatch.setattr(archive, "MEMBER_BYTES", 5)
    with pytest.raises(ArchiveError, match="holds b with 6 bytes; no more than 5"):
        opened(PLAIN)
    with pytest.raises(ArchiveError, match="members have up to 5 bytes"):
        ours(a=b"123456")


# ---- bytes ----------------------------------------------------------------------------------------------------------


def test_each_member_that_is_changed_alone_is_named(forger: Forger, tmp_path: Path) -> None:
    kept = dict(forger.members)
    for name in kept.keys() - {MANIFEST, EVIDENCE}:
        forger.members = kept | {name: kept[name] + b" "}
        found = differing(forger.check(tmp_path))
        assert any(each.startswith(f"{name}: it is") for each in found), name


def test_digests_that_are_forged_with_the_bytes_miss_the_lock(forger: Forger, tmp_path: Path) -> None:
    forger.row(RECORDS, lambda row: row.update(description="a better one"))
    forger.rehash()
    found = differing(forger.check(tmp_path))
    assert not any(each.startswith(FILES) for each in found)
    assert any(each.startswith(f"{CHAINS}: md5: it is ") for each in found)
    assert any(": inputs.records.chain: it is " in each for each in found)


def test_locks_that_are_forged_as_well_miss_the_line_and_the_score(forger: Forger, tmp_path: Path) -> None:
    line = forger.members[LINE]
    forger.row(RECORDS, lambda row: row.update(description="a better one"))
    forger.follow()
    assert any(": inputs.records.chain: it is " in each for each in differing(forger.check(tmp_path)))
    forger.members[LINE] = line
    forger.rehash()
    found = differing(forger.check(tmp_path))
    assert any(each.startswith(f"{LINE}: evidence_sha256: it is ") for each in found)
    assert any(each.startswith(f"{LINE}: fingerprint: it is ") for each in found)


def test_two_images_that_were_swapped(forger: Forger, tmp_path: Path) -> None:
    one, other = sorted(name for name in forger.members if name.startswith(f"{FILES}{CHAINS}/images"))[:2]
    forger.members[one], forger.members[other] = forger.members[other], forger.members[one]
    forger.follow()
    found = differing(forger.check(tmp_path))
    assert {each.partition(":")[0] for each in found} >= {one.removeprefix(FILES), other.removeprefix(FILES)}


@pytest.mark.parametrize("name", ["images/more.png", "images/a/b/c.png", "score.zip"])
def test_a_file_that_was_put_into_a_folder(name: str, forger: Forger, tmp_path: Path) -> None:
    forger.put(f"{CHAINS}/{name}", b"more")
    forger.follow()
    assert f"{CHAINS}/{name}: no record has this file" in differing(forger.check(tmp_path))


@pytest.mark.parametrize(
    "name", ["README.md", f"{FEATURES}{'0' * 64}.npy", f"{BESIDE}{'0' * 64}", "score.zip", "setup.py"]
)
def test_a_member_that_was_put_in(name: str, forger: Forger, tmp_path: Path) -> None:
    forger.members[name] = b"x"
    assert f"{name}: nothing names it: it was put in" in differing(forger.check(tmp_path))
    forger.rehash()
    assert f"{name}: nothing names it: it was put in" in differing(forger.check(tmp_path))


def test_a_file_of_the_project_that_nothing_stands_on(forger: Forger, tmp_path: Path) -> None:
    forger.put("data/datasets/another/samples.jsonl", b"")
    forger.follow()
    assert differing(forger.check(tmp_path)) == [
        "data/datasets/another/samples.jsonl: nothing behind the run has this file: it was put in"
    ]


def test_a_file_that_was_taken_out(forger: Forger, tmp_path: Path) -> None:
    name = next(name for name in forger.members if name.endswith(".png"))
    del forger.members[name]
    assert f"{name}: {MANIFEST} names it, and it is not there" in differing(forger.check(tmp_path))
    forger.follow()
    assert any(each.startswith(name.removeprefix(FILES)) for each in differing(forger.check(tmp_path)))


@pytest.mark.parametrize("name", [LINE, f"{FILES}{RECORDS}", f"{FILES}{SCORE_FILE}", f"{FILES}{SAMPLES}"])
def test_what_a_check_needs_and_has_not(name: str, forger: Forger, tmp_path: Path) -> None:
    del forger.members[name]
    forger.rehash()
    report = forger.check(tmp_path)
    if name == LINE:
        assert any("nothing says that the run was published" in each.what for each in report.groups["ledger"])
    else:
        assert not report.holds


# ---- what was left out ----------------------------------------------------------------------------------------------


def left_out(forged: Forger, name: str, **lies: Any) -> None:
    """Take a file out, and say so, in part truly."""
    said = forged.said["files"][name]
    del forged.members[FILES + name]
    forged.rehash()
    forged.json(MANIFEST, lambda manifest: manifest["left_out"].update({name: said | lies}))


@pytest.mark.parametrize(
    ("lies", "where"),
    [
        ({"md5": "0" * 32}, f"{CHAINS}: md5: it is "),
        ({"bytes": 7}, f"{CHAINS}: size: it is "),
        ({"sha256": "0" * 64}, f"{CHAINS}/images/"),
    ],
)
def test_lies_about_what_was_left_out(
    lies: dict[str, Any],
    where: str,
    forger: Forger,
    tmp_path: Path,
) -> None:
    name = next(name.removeprefix(FILES) for name in forger.members if name.startswith(f"{FILES}{CHAINS}/images"))
    left_out(forger, name, **lies)
    assert any(each.startswith(where) for each in differing(forger.check(tmp_path)))


def test_an_image_that_was_left_out_is_not_called_checked(forger: Forger, tmp_path: Path) -> None:
    name = next(name.removeprefix(FILES) for name in forger.members if name.startswith(f"{FILES}{CHAINS}/images"))
    left_out(forger, name)
    report = forger.check(tmp_path)
    unchecked = [each.where for each in report.groups["files"] if each.status == "not checkable"]
    assert unchecked == [FILES + name]


def test_records_are_not_to_be_left_out(forger: Forger, tmp_path: Path) -> None:
    left_out(forger, RECORDS)
    assert any(each.startswith(CHAINS) and "cannot be followed" in each for each in differing(forger.check(tmp_path)))


# ---- images and features --------------------------------------------------------------------------------------------


def bomb(side: int) -> bytes:
    """A PNG that says it is this wide and high."""
    file = io.BytesIO()
    Image.new("1", (8, 8)).save(file, "PNG")
    data = bytearray(file.getvalue())
    data[16:24] = struct.pack(">II", side, side)
    data[29:33] = struct.pack(">I", __import__("zlib").crc32(bytes(data[12:29])))
    return bytes(data)


@pytest.mark.parametrize(
    "data", [bomb(13_300), bomb(60_000), bomb(2**31 - 1), b"GIF89a" + bytes(99), b"", b"\x89PNG\r\n"]
)
def test_an_image_that_swells_or_is_none(data: bytes, forger: Forger, tmp_path: Path) -> None:
    name = f"{CHAINS}/images/0/1.png"
    forger.put(name, data)
    forger.rehash()
    with Archive(forger.write(tmp_path / "x.zip").open("rb")) as made, pytest.raises(ValueError, match="it "):
        Bundle(made).folder(CHAINS).image("images/0/1.png")
    assert not forger.check(tmp_path).holds


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def header(text: str) -> bytes:
    data = text.encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(data)) + data


SHAPE = "{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}"


@pytest.mark.parametrize(
    "table",
    [
        npy(np.array([[{"a": 1}]], dtype=object)),
        npy(np.zeros((3, 3), np.float64)),
        npy(np.zeros((3, 3), ">f4")),
        npy(np.asfortranarray(np.zeros((3, 3), np.float32))),
        npy(np.full((3, 3), np.nan, np.float32)),
        npy(np.zeros(9, np.float32)),
        header(SHAPE.format(999_999_999, 999_999_999)),
        header(SHAPE.format("10" * 400, 1)),
        header("{'descr': __import__('os').system('touch /tmp/pwned'), 'fortran_order': False, 'shape': (3, 3), }"),
        b"\x93NUMPY\x02\0" + struct.pack("<I", 2**31) + b"{" * 99,
        b"\x80\x04c__builtin__\neval\n",
        b"",
    ],
    ids=["pickled", "float64", "other bytes", "other order", "nan", "flat", "huge", "huge number", "a call",
         "long header",
         "a pickle", "empty"],
)  # fmt: skip
def test_features_that_are_no_table(table: bytes, forger: Forger, tmp_path: Path) -> None:
    name = next(name for name in forger.members if name.endswith(".npy"))
    forger.members[name] = table
    forger.rehash()
    assert any(
        each.startswith(f"{name}: it cannot be followed: ValueError: it ") for each in differing(forger.check(tmp_path))
    )


@pytest.mark.parametrize(
    "change",
    [lambda text: text + text, lambda text: text[:-1], lambda text: text.upper(), lambda text: b"../x\n" + text],
)
def test_features_of_nobody_knows_what(
    change: Callable[[bytes], bytes],
    forger: Forger,
    tmp_path: Path,
) -> None:
    name = next(name for name in forger.members if name.startswith(FEATURES) and name.endswith(".txt"))
    forger.members[name] = change(forger.members[name])
    forger.rehash()
    assert any("not one SHA-256 a line" in each for each in differing(forger.check(tmp_path)))


# ---- records, cards, evidence, line ---------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["../../../../../../etc/passwd", "/etc/passwd", "images\\0.png", f"../../{RECORDS}"])
def test_a_record_that_names_an_image_outside(path: str, forger: Forger, tmp_path: Path) -> None:
    forger.row(RECORDS, lambda row: row.update(image=path))
    forger.row(SAMPLES, lambda row: row.update(file=path))
    forger.follow()
    found = differing(forger.check(tmp_path))
    assert any(each.startswith(f"{CHAINS}/{path}: ") and "no such file" in each for each in found)
    assert any(each.startswith(f"{DATASET}/{path}: ") and "no such file" in each for each in found)


@pytest.mark.parametrize("hostile", [None, 7, [], {}, "\x1b[2J", "x" * 100_000, 10**400, True, -0.0])
@pytest.mark.parametrize("field", ["image", "image_sha256", "sample", "t", "parent_sha256", "schema"])
def test_records_of_other_types_are_findings_and_no_crash(
    field: str,
    hostile: Any,
    forger: Forger,
    tmp_path: Path,
) -> None:
    forger.row(RECORDS, lambda row: row.update({field: hostile}))
    forger.follow()
    report = forger.check(tmp_path)
    assert not report.holds
    assert report.as_text().isprintable() or "\x1b" not in report.as_text()


def test_a_record_of_a_sample_that_is_not_there_and_one_that_is_there_twice(forger: Forger, tmp_path: Path) -> None:
    forger.members[FILES + RECORDS] += forger.members[FILES + RECORDS].splitlines()[0] + b"\n"
    forger.row(RECORDS, lambda row: row.update(sample="nobody"), number=1)
    forger.follow()
    found = " ".join(differing(forger.check(tmp_path)))
    assert "has none that is called nobody" in found
    assert "2 of its records are of" in found


def test_a_chain_with_a_link_from_elsewhere(forger: Forger, tmp_path: Path) -> None:
    forger.row(RECORDS, lambda row: row.update(parent_sha256="0" * 64), number=1)
    forger.follow()
    assert any("parent_sha256: it is 000" in each for each in differing(forger.check(tmp_path)))


@pytest.mark.parametrize("field", ["provider", "version", "settings", "identity"])
def test_a_component_that_was_another(field: str, forger: Forger, tmp_path: Path) -> None:
    def change(score: dict[str, Any]) -> None:
        card = score["components"]["generator"]
        card[field] = {} if isinstance(card[field], dict) else "other"

    forger.json(FILES + SCORE_FILE, change)
    forger.json(EVIDENCE, lambda evidence: change(evidence["lineages"][0]["score"]))
    forger.follow()
    assert any(
        "components.generator: it is" in each and "the card" in each for each in differing(forger.check(tmp_path))
    )


def test_a_component_that_no_stage_ran_with(forger: Forger, tmp_path: Path) -> None:
    from driftledger_check.links import sha256_of

    def change(score: dict[str, Any]) -> None:
        card = score["components"]["encoder"]
        card["version"] = "better"
        card["fingerprint"] = sha256_of({key: card[key] for key in ("provider", "version", "settings", "identity")})

    forger.json(FILES + SCORE_FILE, change)
    forger.json(EVIDENCE, lambda evidence: change(evidence["lineages"][0]["score"]))
    forger.follow()
    assert any("it ran with encoders.layout" in each for each in differing(forger.check(tmp_path)))


def test_a_score_that_its_owner_forged_everywhere_is_found_by_its_numbers(forger: Forger, tmp_path: Path) -> None:
    def change(score: dict[str, Any]) -> None:
        score["metrics"]["gc_at_2"] += 0.001

    forger.json(FILES + SCORE_FILE, change)
    forger.json(EVIDENCE, lambda evidence: change(evidence["lineages"][0]["score"]))
    forger.follow()
    [found] = differing(forger.check(tmp_path))
    assert found.startswith(f"{SCORE_FILE}: metrics.gc_at_2: ")
    assert found.endswith(": off by 0.001")


def test_drawings_that_are_better_than_their_scores_are_found_by_their_numbers(forger: Forger, tmp_path: Path) -> None:
    """The owner puts an original in the place of a drawing, and lets every hash follow, but keeps the score."""
    rows = [json.loads(line) for line in forger.members[FILES + RECORDS].splitlines()]
    samples = {each["id"]: each for each in map(json.loads, forger.members[FILES + SAMPLES].splitlines())}
    number, last = next((n, each) for n, each in enumerate(rows) if each["t"] == 2)
    original = forger.members[f"{FILES}{DATASET}/{samples[last['sample']]['file']}"]
    digest = Digests.of(original).sha256
    forger.put(f"{CHAINS}/{last['image']}", original)
    forger.row(RECORDS, lambda row: row.update(image_sha256=digest), number)
    records = Digests.of(forger.members[FILES + RECORDS]).sha256
    forger.json(FILES + SCORE_FILE, lambda score: score["inputs"]["records"].update(chain=records))
    forger.json(EVIDENCE, lambda said: said["lineages"][0]["score"]["inputs"]["records"].update(chain=records))
    forger.follow()
    found = differing(forger.check(tmp_path))
    assert any("similarity" in each and "off by" in each for each in found)
    assert all(each.startswith(SCORE_FILE) for each in found)


def test_an_evidence_with_another_score_than_the_file(forger: Forger, tmp_path: Path) -> None:
    forger.json(EVIDENCE, lambda evidence: evidence["lineages"][0]["score"]["metrics"].update(gc_at_2=0.99))
    forger.seal()
    assert any(each.startswith(f"{SCORE_FILE}: it is ") for each in differing(forger.check(tmp_path)))


@pytest.mark.parametrize("use", ["outs", "deps"])
def test_an_evidence_whose_stages_wrote_or_read_other_bytes(use: str, forger: Forger, tmp_path: Path) -> None:
    def change(evidence: dict[str, Any]) -> None:
        for entry in evidence["lineages"][0]["stages"].values():
            for locked in entry[use]:
                if locked["path"] == CHAINS:
                    locked["md5"] = "0" * 32 + ".dir"

    forger.json(EVIDENCE, change)
    forger.seal()
    assert any(
        each.startswith(f"{CHAINS}: a stage in {EVIDENCE} has it with md5 000")
        for each in differing(forger.check(tmp_path))
    )


def test_an_evidence_whose_settings_were_others(forger: Forger, tmp_path: Path) -> None:
    def change(evidence: dict[str, Any]) -> None:
        for entry in evidence["lineages"][0]["stages"].values():
            if "run.seed" in entry["params"].get("params.yaml", {}):
                entry["params"]["params.yaml"]["run.seed"] = 99

    forger.json(EVIDENCE, change)
    forger.seal()
    assert any("seed: it is 1, and stage" in each for each in differing(forger.check(tmp_path)))


def test_an_evidence_that_forgets_a_score_or_has_one_twice(forger: Forger, tmp_path: Path) -> None:
    kept = dict(forger.members)
    forger.json(EVIDENCE, lambda evidence: evidence.update(lineages=[]))
    forger.rehash()
    assert not forger.check(tmp_path).holds
    forger.members = kept
    forger.json(EVIDENCE, lambda evidence: evidence["lineages"].append(evidence["lineages"][0]))
    forger.rehash()
    assert any(each.startswith(f"{LINE}: evidence_sha256") for each in differing(forger.check(tmp_path)))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "a · b · c"),
        ("fingerprint", "0" * 64),
        ("evidence_sha256", "0" * 64),
        ("n", 9),
        ("code", {"commit": None, "dirty": False}),
    ],
)
def test_a_line_of_another_run_or_edited(field: str, value: Any, forger: Forger, tmp_path: Path) -> None:
    forger.json(LINE, lambda line: line.update({field: value}))
    forger.rehash()
    assert any(each.startswith(f"{LINE}: ") for each in differing(forger.check(tmp_path)))


@pytest.mark.parametrize("line", [b"", b"{}", b"[]", b'{"n":1}', b"\xff", b'{"n":NaN}'])
def test_a_line_that_is_none(line: bytes, forger: Forger, tmp_path: Path) -> None:
    forger.members[LINE] = line
    forger.rehash()
    assert [each.status for each in forger.check(tmp_path).groups["ledger"]] == ["differs"]


def test_a_run_of_another_name(forger: Forger, tmp_path: Path) -> None:
    forger.json(MANIFEST, lambda said: said["run"].update(name="gpt · painter · layout"))
    assert any(each.startswith(f"{MANIFEST}: run: it is ") for each in differing(forger.check(tmp_path)))


@pytest.mark.parametrize("name", [STATEMENT, PROOF, CHECKPOINT])
@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"\xff\xff", b'{"envelope":{}}'])
def test_attestations_that_are_none_are_findings(
    name: str,
    data: bytes,
    forger: Forger,
    tmp_path: Path,
) -> None:
    pytest.importorskip("driftledger_check.dsse")
    forger.members |= {PROOF: b"{}", CHECKPOINT: b"{}", name: data}
    forger.rehash()
    assert any(each.status == "differs" for each in forger.check(tmp_path).groups["ledger"])


def test_what_a_stranger_wrote_does_nothing_to_a_terminal(
    forger: Forger,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    forger.row(RECORDS, lambda row: row.update(sample="\x1b]0;pwned\x07\u202egpj\r\nall holds"))
    forger.follow()
    assert run(forger.write(tmp_path / "x.zip")) == 1
    shown = capsys.readouterr().out
    assert all(each.isprintable() for each in shown.split("\n"))
    assert "\\x1b]0;pwned\\x07\\u202egpj\\r\\nall holds" in shown


def test_reading_a_bundle_takes_no_more_memory_than_its_largest_member(score_zip: Path) -> None:
    import tracemalloc

    tracemalloc.start()
    try:
        with Archive(score_zip.open("rb")) as made:
            largest = max(map(made.size, made.names))
            for name in made.names:
                made.read(name)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * largest + 1_000_000


def test_strict_json_takes_what_json_takes() -> None:
    from driftledger_check.strict_json import loads

    value = {"a": [1, -2.5, 'é"\\[{', None, True], "b": {"c": []}}
    assert loads(canonical(value), in_one_form=True) == value
    assert loads(json.dumps(value, indent=3).encode()) == value

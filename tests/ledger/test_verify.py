"""What verifying finds: forgeries as data, over one evaluated project."""

import json
import os
import re
import shutil
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest
from PIL import Image

from driftledger import __version__
from driftledger.benchmarks.base.records import results_of, stream_records
from driftledger.benchmarks.base.usage import CALLS, USAGE, CallUsage, usage_behind
from driftledger.benchmarks.registry import benchmark
from driftledger.collect.call import Draw
from driftledger.commands.verify import Verified, verify
from driftledger.components.base import Component
from driftledger.components.predictions import Predictions
from driftledger.components.transformers import Transformers
from driftledger.core.canonical import sha256_bytes, sha256_file
from driftledger.core.files import write_json, write_jsonl
from driftledger.core.types import Subject, Usage
from driftledger.ledger.bundles.reading import FILES
from driftledger.ledger.bundles.writing import write_bundle
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.published import check_published, read_published
from driftledger.ledger.rescoring import ComparedValue, Judge, compare
from driftledger.ledger.verify import replay
from driftledger.ledger.verify.components import Components
from driftledger.ledger.verify.files import check_hashes
from driftledger.ledger.verify.replay import draw_lots, regenerate
from driftledger.reports.report import check_report
from driftledger.scoring.number import Place
from tests.ledger.conftest import CHAINS, GENCEPTION, MODEL, SCORES, SETS
from tests.support.bundles import Forger, below, differing
from tests.support.cases import each_case, lines
from tests.support.params import default_params
from tests.support.terminal import printed

FORGERIES = lines("ledger/forgeries.jsonl")
"""Changes of files, and kind and beginning of the place of a finding; an empty place is where
nothing is found. Of ``relocked`` ones all hashes are repaired, and ``score`` is computed again."""
RECORDS = f"{CHAINS}/records.jsonl"
MM_VET = f"{SCORES}/mm_vet/{SETS['mm_vet']}"


def forgeries(kind):
    found = [case for case in FORGERIES if case["kind"] == kind]
    return each_case(found)


def named(ledger, text):
    """Return a text with the paths of this project in place of their names."""
    chains = ledger.root / CHAINS
    return text.format(
        chains=CHAINS,
        fidelity=f"{SCORES}/fidelity/my_images/painter/layout",
        genception=GENCEPTION,
        grades=f"data/records/{MODEL}/mm_vet/{SETS['mm_vet']}/records.jsonl",
        image=next(chains.rglob("*.png")).relative_to(ledger.root),
        mm_vet=MM_VET,
        model=MODEL,
        published=next((ledger.root / "ledger").iterdir()).relative_to(ledger.root),
        records=RECORDS,
        scores=SCORES,
    )


def replace_text(file, pattern, new):
    """Replace the first match of a pattern in a text file."""
    text, count = re.subn(pattern, new, file.read_text(), count=1)
    assert count
    file.write_text(text)


def set_value(content, case):
    """Set or leave out what is at a place of a JSON value."""
    *above, last = case["at"]
    for key in above:
        content = below(content, key)
    if "to" in case:
        content[last] = case["to"]
    else:
        del content[last]


def forge(ledger, case):
    """Change the files of a project as a case says."""
    root = ledger.root
    if "replace" in case:
        file, pattern, new = case["replace"]
        replace_text(root / named(ledger, file), pattern, new)
    elif "edit" in case:
        file = named(ledger, case["edit"])
        ledger.edit(file, lambda content: set_value(content, case), case.get("row"))
    elif "copy" in case:
        source, target = case["copy"]
        shutil.copy(root / source, root / named(ledger, target))
    else:
        path = root / named(ledger, case.get("link") or case["delete"])
        path.rename(root.parent / "elsewhere")
        if "link" in case:
            path.symlink_to(root.parent / "elsewhere")


def places(result):
    return [f"{each.kind} {each.where}" for each in result.findings]


def test_an_untouched_project_holds(original):
    verified = verify(original.project, None, regenerated=8)
    assert verified.result.findings == []
    assert verified.result.skipped == []
    checked = verified.result.checked
    assert checked["scores"] == 6
    assert checked["calls"] == 8
    assert min(checked[name] for name in ("files", "links", "runs"))
    values = records = 0
    for path in original.root.glob("reports/scores/**/score.json"):
        score = json.loads(path.read_text())
        del score["driftledger"], score["inputs"]["version"]  # which no record shows
        values += len(score.pop("flags"))
        for number in score.pop("numbers"):
            values += len(number.keys() - {*Place._fields})
        values += len([*compare(score, {})])
        for row in (path.parent / "rows.jsonl").read_text().splitlines():
            values += len([*compare(json.loads(row), {})])
    for path in original.root.glob("data/records/**/records.jsonl"):
        records += len(path.read_text().splitlines())
    assert checked["values"] == values
    assert checked["records followed"] == records
    assert original.git("status", "--porcelain") == ""


@forgeries("plain")
def test_a_change_is_found(ledger, case):
    place = named(ledger, case["place"])
    forge(ledger, case)
    found = places(ledger.check())
    assert any(each.startswith(place) for each in found) if place else not found, found


@forgeries("noted")
def test_a_change_of_what_a_stage_ran_with_is_found_behind_its_digest(ledger, case):
    at = [named(ledger, name) for name in case["at"]]
    ledger.edit_noted(
        f"score@{MODEL}", lambda content: set_value(content, case | {"at": at})
    )
    assert named(ledger, case["place"]) in places(ledger.check())


def test_a_change_of_the_cache_is_found(ledger):
    for path in (ledger.root / ".dvc/cache/files/md5").glob("*/*"):
        if path.suffix != ".dir":
            path.chmod(0o644)
            path.write_bytes(path.read_bytes() + b" ")
    assert any(
        each.startswith("bytes .dvc/cache/files/md5/")
        for each in places(ledger.check())
    )


@forgeries("unreadable")
def test_what_keeps_evidence_from_being_read_is_found(ledger, case):
    forge(ledger, case)
    found = places(verify(ledger.project, None).result)
    place = case["place"].format(genception=GENCEPTION)
    assert any(each.startswith(place) for each in found), found


@forgeries("relocked")
def test_a_change_with_all_hashes_repaired_is_found(ledger, case):
    place = named(ledger, case["place"])
    score = named(ledger, case.get("score", ""))
    forge(ledger, case)
    ledger.relock()
    found = places(ledger.check(score))
    assert any(each.startswith(place) for each in found), found


def test_files_that_nothing_wrote_are_found_in_the_order_of_their_names(ledger):
    added = [f"bytes {CHAINS}/{name}" for name in "abcde"]
    for name in "ebdac":
        (ledger.root / CHAINS / name).touch()
    assert [each for each in places(ledger.check("")) if each in added] == added
    ledger.relock()
    assert [each for each in places(ledger.check("")) if each in added] == added


def test_a_digest_that_is_not_that_of_the_files_beside_it_is_found(ledger):
    ledger.edit(f"{CHAINS}/inputs.json", lambda made: made.update(files="0" * 64))
    ledger.relock(inputs="nothing")
    assert places(ledger.check(GENCEPTION)) == [f"bytes {CHAINS}/inputs.json"]


@pytest.mark.parametrize(
    ("failed", "kind", "compared"),
    [(False, "genception: describe", 8), (True, "genception: describe, failed", 1)],
)
def test_a_forged_description_is_found_when_its_call_is_made_again(
    ledger, failed, kind, compared
):
    """Of the last description of a chain no later one depends: what was drawn from it is forged
    along with it, or is left out where the description is said to have failed."""
    rows = [json.loads(row) for row in (ledger.root / RECORDS).read_text().splitlines()]
    place, last = next(
        (place, row) for place, row in enumerate(rows) if row["step"] == 2
    )
    text = last["results"][0]["text"] + " And more."
    prompt = default_params()["genception"]["generate_prompt"].replace(
        "{description}", text
    )
    drawing = Draw(
        ledger.project.component("generators", "painter"),
        prompt,
        last["extra"]["seed"],
        Subject("", 2, ""),
    )

    def change(row):
        row["results"][0]["text"] = text
        row["results"][1]["key"] = drawing.key
        if failed:
            del row["results"][1]
            row["results"][0] |= {"outcome": "failed", "text": "", "error": "timeout"}

    ledger.edit(RECORDS, change, place)
    sha256 = sha256_file(ledger.root / RECORDS)
    ledger.edit(
        f"{GENCEPTION}/score.json",
        lambda score: score["inputs"]["records"].update(chain=sha256),
    )
    ledger.relock()
    again = regenerate(
        [ledger.evidence()],
        Contents(ledger.root, trust=False),
        Components(ledger.project),
        10_000,
        seed=1,
    )
    assert len(again.result.findings) > 0
    assert {each.where for each in again.result.findings} == {
        f"{RECORDS}: {last['unit']}, step 2"
    }
    assert failed or all(
        f"{text[-30:]!r} is stored, " in each.what for each in again.result.findings
    )
    assert {kind["name"]: kind["compared"] for kind in again.kinds}[kind] == compared
    assert (
        any(
            "is stored as failed, and regions now ends it as ok" in each.what
            for each in again.result.findings
        )
        == failed
    )


def test_a_served_model_that_a_component_does_not_name_is_found(ledger):
    def change(row):
        row["results"][0]["served_model"] = "gpt-5.4-2026-03-17"

    ledger.edit(RECORDS, change, 0)
    ledger.relock()
    contents = Contents(ledger.root, trust=False)
    components = Components(ledger.project)
    again = regenerate([ledger.evidence()], contents, components, 10_000)
    [found] = again.result.findings
    assert found.what == (
        "'gpt-5.4-2026-03-17' is stored as the served model, regions names None"
    )


@pytest.mark.parametrize(("levels", "found"), [(2, 0), (3, 1)])
def test_an_image_through_weights_may_be_two_levels_off(
    ledger, monkeypatch, levels, found
):
    monkeypatch.setattr(
        replay,
        "CheckpointComponent",
        type(ledger.project.component("generators", "painter")),
    )
    rows = [json.loads(row) for row in (ledger.root / RECORDS).read_text().splitlines()]
    place, last = next(
        (place, row) for place, row in enumerate(rows) if row["step"] == 2
    )
    file = ledger.root / CHAINS / last["results"][1]["file"]
    with Image.open(file) as image:
        r, g, b = image.getpixel((0, 0))
        image.putpixel((0, 0), (r, g, b + (levels if b < 128 else -levels)))
        image.save(file)
    ledger.edit(
        RECORDS, lambda row: row["results"][1].update(sha256=sha256_file(file)), place
    )
    ledger.relock()
    result = regenerate(
        [ledger.evidence()],
        Contents(ledger.root, trust=False),
        Components(ledger.project),
        10_000,
        seed=1,
    ).result
    assert len(result.findings) == found
    assert (
        sum("by at most 2 of 255" in each.why for each in result.skipped) == 1 - found
    )


def test_a_changed_byte_is_found(ledger):
    random = Random(7)
    evidence = ledger.evidence()
    folders = {
        each for lineage in evidence.lineages for each in lineage.folders.values()
    }
    files = sorted(
        path
        for each in folders
        for path in (ledger.root / each.path).rglob("*")
        if path.is_file()
    )
    files += [*(ledger.root / "ledger").iterdir()]
    for file in random.sample(files, 12):
        data = file.read_bytes()
        place = random.randrange(len(data))
        file.write_bytes(
            data[:place]
            + bytes([data[place] ^ (1 << random.randrange(8))])
            + data[place + 1 :]
        )
        result = check_hashes(
            [evidence], Contents(ledger.root, trust=False)
        ) + check_published(ledger.root)
        assert any(
            str(file.relative_to(ledger.root)) in each.where for each in result.findings
        ), file
        file.write_bytes(data)


def test_a_stored_image_of_the_same_size_and_time_is_hashed(ledger):
    """Look-ups believe it; its records have the bytes that were drawn."""
    images = sorted(ledger.project.state.glob("objects/*/*.png"))
    checked = verify(ledger.project, None).checks["call store"]
    assert checked.checked["images"] == len(images) > 0
    assert checked.holds
    facts = images[0].stat()
    data = images[0].read_bytes()
    images[0].unlink()
    images[0].write_bytes(data[:-1] + b"\0")
    os.utime(images[0], ns=(facts.st_atime_ns, facts.st_mtime_ns))
    (images[0].parent / "out.png").symlink_to("/dev/zero")
    [finding] = verify(ledger.project, None).result.findings
    assert finding.where == str(images[0])
    assert "delete it, and 'driftledger run' restores it" in finding.what


def test_another_version_of_the_scoring_is_said(ledger):
    ledger.edit(
        f"{GENCEPTION}/score.json", lambda score: score["inputs"].update(version=9)
    )
    ledger.relock()
    result = ledger.check(GENCEPTION)
    assert any("version 9" in each.why for each in result.skipped)
    # dvc.lock has what the stage ran with
    assert f"bytes {GENCEPTION}/score.json: inputs.version" in places(result)


def test_files_that_only_the_cache_has_are_read_there(ledger):
    shutil.rmtree(ledger.root / "data/records")
    shutil.rmtree(ledger.root / "data/datasets")
    assert places(ledger.check(GENCEPTION)) == []


def test_without_any_bytes_the_files_are_missing(ledger):
    shutil.rmtree(ledger.root / "data/records")
    shutil.rmtree(ledger.root / ".dvc/cache")
    result = ledger.check(GENCEPTION)
    assert f"missing {CHAINS}" in places(result)
    assert "not pulled yet" in printed(Verified(["m"], {"files": result}).as_text())
    assert any(each.where == f"{GENCEPTION}/score.json" for each in result.skipped)


def test_verify_ends_with_1_and_its_json_names_the_findings(ledger):
    (ledger.root / read_published(ledger.root)[0].file).unlink()
    said = json.loads(ledger.run("driftledger", "verify", "--json", check=False))
    assert set(said) == {"runs", "holds", "checked", "findings", "skipped", "notes"}
    assert set(said["findings"][0]) == {"kind", "where", "what"}
    assert said["holds"] is False


def test_lots_are_equally_likely_within_a_kind_and_kinds_take_turns():
    pools: Any = {"a": [("a", n) for n in range(3)], "b": [("b", n) for n in range(50)]}
    drawn = draw_lots(pools, 8, seed=3)
    assert [kind for kind, _ in drawn].count("a") == 3
    assert len({call for _, call in drawn}) == 8
    assert (
        drawn
        == draw_lots(pools, 8, seed=3)
        == draw_lots(dict(reversed(pools.items())), 8, seed=3)
    )
    firsts = {draw_lots(pools, 2, seed)[1][1] for seed in range(400)}
    assert firsts == {("b", n) for n in range(50)}


def test_a_name_is_the_hash_of_the_content(original):
    [published] = read_published(original.root)
    content = json.loads((original.root / published.file).read_text())
    canonical = json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    )
    assert published.file == f"ledger/{sha256_bytes(canonical.encode())}.json"


def test_the_first_page_says_when_and_at_which_commit(ledger):
    page = (ledger.root / "reports/site/index.html").read_text(encoding="utf-8")
    [text] = re.findall(r"Evaluated at commit ([^<]+)\.</p>", page)
    commit = str(ledger.evidence().code.commit)
    seconds = int(ledger.git("show", "--no-patch", "--format=%ct", commit))
    assert text == f"{commit[:12]} of {datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}"
    # so that the present commit counts
    (ledger.root / read_published(ledger.root)[0].file).unlink()
    ledger.commit("later")
    assert (
        places(check_report(ledger.project, Contents(ledger.root, trust=False))) == []
    )
    model = ledger.evidence().combination.model
    (ledger.root / "reports/site/gallery.html").write_text("forged")
    page = ledger.root / f"reports/site/runs/{model}.html"
    page.write_bytes(page.read_bytes().replace(b"0.", b"1.", 1))
    found = places(
        check_report(ledger.project, Contents(ledger.root, trust=False), model)
    )
    assert found == ["bytes reports/site", f"numbers reports/site/runs/{model}.html"], (
        "of a run, its model's page"
    )


@pytest.mark.parametrize("mended", [False, True])
def test_changed_reports_are_found(ledger, mended):
    forged = [case for case in FORGERIES if case["kind"] == "report"]
    for case in forged:
        forge(ledger, case)
    if mended:
        ledger.relock()
    found = places(check_report(ledger.project, Contents(ledger.root, trust=False)))
    for case in forged:
        assert [
            each for each in found if each.startswith(f"numbers {case['place']}")
        ], case
    assert any(each.startswith("bytes reports/") for each in found) is not mended


def test_a_report_that_cannot_be_compared_is_said(ledger):
    def why():
        contents = Contents(ledger.root, trust=False)
        [skipped] = check_report(ledger.project, contents).skipped
        return skipped.why

    ledger.edit_noted("report", lambda content: content.update(version=99))
    assert "version 99 of the report wrote it" in why()
    replace_text(ledger.root / "dvc.lock", r"\n  report:\n", "\n  another:\n")
    assert "has no stage that wrote the report" in why()


# Which recorded component can be had again, and why not.


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "another version": ({"version": "0"}, "is installed, and version 0 was used"),
    "an unknown provider": (
        {"provider": "nothing"},
        "the provider 'nothing' is unknown here",
    ),
    "a service": ({"provider": "openai"}, "a service"),
    "a setting that is gone": (
        {"settings": {"nothing": 1}},
        "its provider here does not take its recorded settings",
    ),
    "a file that is not here": (
        {"provider": "predictions", "version": Predictions.version, "settings": {}},
        "'predictions.json' is missing; set path to the file",
    ),
    "no entry": (
        {
            "provider": "transformers",
            "version": Transformers.version,
            "settings": {},
            "identity": {"weights": {"repository": "some/model", "commit": "abc"}},
        },
        "no entry of params.yaml has its path",
    ),
    "another fingerprint": (
        {"fingerprint": "f" * 64},
        "does not fit its own fingerprint ffffffffffff",
    ),
    "another identity": (
        {"identity": {"seed": 9}, "fingerprint": "f" * 64},
        " here, and was ",
    ),
    "code in the checkpoint": (
        {"settings": {"trust_remote_code": True}},
        "(trust_remote_code); --trust allows it",
    ),
}


def test_the_recorded_version_is_found(original):
    card = original.evidence().lineages[0].score.components["model"]
    found = Components(original.project).get(card, "model")
    assert isinstance(found, Component)
    assert found.fingerprint == card.fingerprint


@pytest.mark.parametrize("case", CASES)
def test_what_cannot_be_had_says_why(original, case):
    changes, sentence = CASES[case]
    card = (
        original.evidence()
        .lineages[0]
        .score.components["model"]
        .model_copy(update=changes)
    )
    found = Components(original.project).get(card, "model")
    assert isinstance(found, str)
    assert found.startswith(f"model {card.name}: ")
    assert sentence in found


@pytest.mark.parametrize(
    ("off", "exact", "differs"),
    [(1e-6, True, True), (1e-6, False, False), (1e-3, False, True)],
)
def test_numbers_of_weights_may_be_off_by_their_last_digits(off, exact, differs):
    bounds = (0.0, 0.0) if exact else (replay._RELATIVE, replay._ABSOLUTE)
    judge = Judge(benchmark("genception"), __version__, *bounds)
    value = ComparedValue(("gc_at_1",), 1.0, 1.0 + off, Place("gc", 1))
    assert (judge.status(value)[0] == "differs") is differs


def test_forged_usage_is_found_in_a_checkout_and_in_a_bundle(ledger, tmp_path):
    fingerprint = ledger.evidence().fingerprint
    records = ledger.root / CHAINS
    keys = {each.key: each for each in results_of(stream_records(records))}
    calls = []
    for key, each in keys.items():
        usage = Usage(90, 20, seconds=0.5, cost=0.25)
        calls.append(CallUsage(key=key, role=each.role, service=True, usage=usage))
    write_jsonl(records / CALLS, calls)
    write_json(ledger.root / GENCEPTION / USAGE, usage_behind(records))
    ledger.relock()
    assert ledger.check(GENCEPTION).findings == []
    assert ledger.evidence().fingerprint == fingerprint
    write_bundle(ledger.project, ledger.evidence(), tmp_path / "true.zip")
    forger = Forger(tmp_path / "true.zip")
    forger.follow()  # the lock's numbers of files, too
    assert differing(forger.check(tmp_path)) == []

    forged = f"{GENCEPTION}/{USAGE}"
    ledger.edit(forged, lambda usage: usage["roles"]["model"].update(cost=0.5))
    ledger.relock()
    [finding] = ledger.check(GENCEPTION).findings
    assert finding.where == f"{forged}: roles.model.cost"
    forger.json(FILES + forged, lambda usage: usage["roles"]["model"].update(cost=0.5))
    forger.follow()
    [where] = differing(forger.check(tmp_path))
    assert where.startswith(f"{forged}: roles.model.cost")

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
from driftledger.core.canonical import sha256_bytes, sha256_file
from driftledger.core.files import write_json, write_jsonl
from driftledger.core.registry import provider_class
from driftledger.core.types import Subject, Usage
from driftledger.ledger.bundles.reading import FILES
from driftledger.ledger.bundles.writing import write_bundle
from driftledger.ledger.published import check_published, read_published
from driftledger.ledger.rescoring import ComparedValue, Judge, compare
from driftledger.ledger.verify import replay
from driftledger.ledger.verify.components import Components
from driftledger.ledger.verify.files import check_hashes
from driftledger.ledger.verify.replay import draw_lots, regenerate
from driftledger.reports.report import check_report
from driftledger.scoring.number import Place
from tests.ledger.conftest import CHAINS, GENCEPTION, MODEL, SCORES, SETS
from tests.support.bundles import Forger, differing
from tests.support.cases import cases, each_case
from tests.support.forging import Below, forge
from tests.support.params import default_params
from tests.support.terminal import printed

FORGERIES = cases(__file__, "forgeries")
"""Changes of files, and kind and beginning of the place of a finding; an empty place is where
nothing is found. Of ``relocked`` ones all hashes are repaired, and ``score`` is computed again."""
RECORDS = f"{CHAINS}/records.jsonl"


def forgeries(kind):
    found = [case for case in FORGERIES if case["kind"] == kind]
    return each_case(found)


def forged(ledger, case):
    """Make the edits of a case; return where it expects a finding, by the paths of this project."""
    names = {
        "chains": CHAINS,
        "fidelity": f"{SCORES}/fidelity/my_images/painter/layout",
        "genception": GENCEPTION,
        "grades": f"data/records/{MODEL}/mm_vet/{SETS['mm_vet']}/records.jsonl",
        "image": f"{CHAINS}/images/1/round_1.png",
        "mm_vet": f"{SCORES}/mm_vet/{SETS['mm_vet']}",
        "model": MODEL,
        "published": read_published(ledger.root)[0].file,
        "records": RECORDS,
        "scores": SCORES,
    }
    forge(Below(ledger.root), case.get("edits", []), **names)
    return case["place"].format(**names)


def places(result):
    return [f"{each.kind} {each.where}" for each in result.findings]


def test_an_untouched_project_holds(original):
    verified = verify(original.project, None, regenerated=8)
    assert verified.result.findings == []
    assert verified.result.skipped == []
    checked = verified.result.checked
    assert checked["scores"] == 7
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
    place = forged(ledger, case)
    found = places(ledger.check())
    assert any(each.startswith(place) for each in found) if place else not found, found


@forgeries("noted")
def test_a_change_of_what_a_stage_ran_with_is_found_behind_its_digest(ledger, case):
    ledger.put_noted(f"score@{MODEL}", *case["at"], to=case["to"])
    assert forged(ledger, case) in places(ledger.check())


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
    place = forged(ledger, case)
    found = places(verify(ledger.project, None).result)
    assert any(each.startswith(place) for each in found), found


@forgeries("relocked")
def test_a_change_with_all_hashes_repaired_is_found(ledger, case):
    place = forged(ledger, case)
    ledger.relock()
    found = places(ledger.check(case.get("score", "")))
    assert any(each.startswith(place) for each in found), found


def test_files_that_nothing_wrote_are_found_in_the_order_of_their_names(ledger):
    added = [f"bytes {CHAINS}/{name}" for name in "abcde"]
    for name in "ebdac":
        (ledger.root / CHAINS / name).touch()
    assert [each for each in places(ledger.check("")) if each in added] == added
    ledger.relock()
    assert [each for each in places(ledger.check("")) if each in added] == added


def test_a_digest_that_is_not_that_of_the_files_beside_it_is_found(ledger):
    ledger.put(f"{CHAINS}/inputs.json", "files", to="0" * 64)
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
    place, last = second_round(ledger)
    model, drawn = last["results"]
    text = model["text"] + " And more."
    prompt = default_params()["genception"]["generate_prompt"].replace(
        "{description}", text
    )
    drawing = Draw(
        ledger.project.component("generators", "painter"),
        prompt,
        last["extra"]["seed"],
        Subject("", 2, ""),
    )

    results = [model | {"text": text}, drawn | {"key": drawing.key}]
    says = f"{text[-30:]!r} is stored, "
    if failed:
        results = [model | {"outcome": "failed", "text": "", "error": "timeout"}]
        says = "is stored as failed, and regions now ends it as ok"
    ledger.put(RECORDS, place, "results", to=results)
    sha256 = sha256_file(ledger.root / RECORDS)
    ledger.put(f"{GENCEPTION}/score.json", "inputs", "records", "chain", to=sha256)
    again = regenerated(ledger)
    findings = again.result.findings
    assert len(findings) > 0
    assert {each.where for each in findings} == {f"{RECORDS}: {last['unit']}, step 2"}
    assert all(says in each.what for each in findings)
    assert {kind["name"]: kind["compared"] for kind in again.kinds}[kind] == compared


def second_round(ledger):
    """Return the first record of a second iteration, after the number of its line."""
    rows = enumerate(ledger.rows(RECORDS))
    return next((place, row) for place, row in rows if row["step"] == 2)


def regenerated(ledger):
    """Repair all hashes, and make every call of GenCeption again."""
    ledger.relock()
    run = ledger.evidence().model_copy(update={"lineages": [ledger.genception()]})
    components = Components(ledger.project)
    return regenerate([run], ledger.contents, components, 10_000, seed=1)


def test_a_served_model_that_a_component_does_not_name_is_found(ledger):
    model = "gpt-5.4-2026-03-17"
    ledger.put(RECORDS, 0, "results", 0, "served_model", to=model)
    [found] = regenerated(ledger).result.findings
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
    place, last = second_round(ledger)
    file = ledger.root / CHAINS / last["results"][1]["file"]
    with Image.open(file) as image:
        r, g, b = image.getpixel((0, 0))
        image.putpixel((0, 0), (r, g, b + (levels if b < 128 else -levels)))
        image.save(file)
    ledger.put(RECORDS, place, "results", 1, "sha256", to=sha256_file(file))
    result = regenerated(ledger).result
    assert len(result.findings) == found
    near = ["by at most 2 of 255" in each.why for each in result.skipped]
    assert near.count(True) == 1 - found


def test_a_changed_byte_is_found(ledger):
    random = Random(7)
    evidence = ledger.evidence()
    starts = {"ledger/"}
    for lineage in evidence.lineages:
        starts.update(f"{folder.path}/" for folder in lineage.folders.values())
    files = Below(ledger.root)
    names = [name for name in files if name.startswith(tuple(starts))]
    for name in random.sample(names, 12):
        data = files[name]
        forge(files, [{"in": name, "flip": random.randrange(len(data))}])
        contents = ledger.contents
        result = check_hashes([evidence], contents) + check_published(ledger.root)
        assert any(name in each.where for each in result.findings), name
        files[name] = data


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
    ledger.put(f"{GENCEPTION}/score.json", "inputs", "version", to=9)
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
    assert places(check_report(ledger.project, ledger.contents)) == []
    model = ledger.evidence().combination.model
    (ledger.root / "reports/site/gallery.html").write_text("forged")
    page = ledger.root / f"reports/site/runs/{model}.html"
    page.write_bytes(page.read_bytes().replace(b"0.", b"1.", 1))
    found = places(check_report(ledger.project, ledger.contents, model))
    assert found == ["bytes reports/site", f"numbers reports/site/runs/{model}.html"], (
        "of a run, its model's page"
    )


@pytest.mark.parametrize("mended", [False, True])
def test_changed_reports_are_found(ledger, mended):
    reports = [case for case in FORGERIES if case["kind"] == "report"]
    expected = [forged(ledger, case) for case in reports]
    if mended:
        ledger.relock()
    found = places(check_report(ledger.project, ledger.contents))
    assert expected
    for place in expected:
        assert [each for each in found if each.startswith(f"numbers {place}")], place
    assert any(each.startswith("bytes reports/") for each in found) is not mended


def test_a_report_that_cannot_be_compared_is_said(ledger):
    def why():
        contents = ledger.contents
        [skipped] = check_report(ledger.project, contents).skipped
        return skipped.why

    ledger.put_noted("report", "version", to=99)
    assert "it was written by version 99 of the report" in why()
    renamed = ["\n  report:\n", "\n  another:\n"]
    forge(Below(ledger.root), [{"in": "dvc.lock", "replace": renamed}])
    assert "has no stage that wrote the report" in why()


def test_the_recorded_version_is_found(original):
    card = original.evidence().lineages[0].score.components["model"]
    found = Components(original.project).get(card, "model")
    assert isinstance(found, Component)
    assert found.fingerprint == card.fingerprint


@each_case(cases(__file__, "absent"))
def test_what_cannot_be_had_says_why(original, case):
    card = original.evidence().lineages[0].score.components["model"]
    changed = card.model_copy(update=case["card"])
    if changed.version == "installed":
        provider = provider_class("models", changed.provider)
        changed = changed.model_copy(update={"version": provider.version})
    found = Components(original.project).get(changed, "model")
    assert isinstance(found, str)
    assert found.startswith(f"model {card.name}: ")
    assert case["says"] in found


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

    usage = f"{GENCEPTION}/{USAGE}"
    ledger.put(usage, "roles", "model", "cost", to=0.5)
    ledger.relock()
    [finding] = ledger.check(GENCEPTION).findings
    assert finding.where == f"{usage}: roles.model.cost"
    forger.put(FILES + usage, "roles", "model", "cost", to=0.5)
    forger.follow()
    [where] = differing(forger.check(tmp_path))
    assert where.startswith(f"{usage}: roles.model.cost")

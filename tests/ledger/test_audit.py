"""Audits of one evaluated project: what is behind a score, where an image is used, what a version
touched."""

import io
import json
import re
import shutil
from pathlib import Path

import pytest
import yaml
from PIL import Image

from driftledger import __version__
from driftledger.commands.audit import (
    as_answer,
    as_yaml,
    audit,
    candidates_table,
    versions_table,
)
from driftledger.commands.compare import Compared
from driftledger.core.errors import LedgerError
from driftledger.ledger.audit import candidates_for, data_of, resolve_target
from driftledger.ledger.compare import compare
from driftledger.ledger.images import ImageTarget, find_image
from driftledger.ledger.lineage import CodeVersion
from driftledger.ledger.published import MLFLOW, note_mlflow
from driftledger.ledger.sources import RunTarget, Sources, find_run
from driftledger.ledger.versions import scores_made_with
from driftledger.scoring.number import Number
from tests.conftest import REPOSITORY
from tests.ledger.conftest import CHAINS, GENCEPTION, MODEL
from tests.support.cases import cases, each_case
from tests.support.terminal import printed

RUN = f"{MODEL}/painter/layout"
IMAGE = "data/datasets/my_images/images/round_1.png"


def sources(ledger):
    return Sources(ledger.project)


def resolved(ledger, text):
    target = resolve_target(sources(ledger), text)
    assert isinstance(target, RunTarget)
    return target


def commits(ledger):
    """Change a score, so that the one before is in Git's history alone."""
    ledger.put(f"{GENCEPTION}/score.json", "gc_at_2", "value", to=0.123)
    ledger.relock()
    ledger.commit("another score")


@each_case(cases(__file__, "named"))
def test_a_run_a_score_and_a_number_are_found_by_name(original, case):
    target = resolved(original, case["name"])
    assert target.source == "dvc.lock"
    number = target.number
    lineage = number.lineage if number else target.lineage
    assert (number and number.own_name) == case["number"]
    assert (lineage and lineage.folder.path) == case["folder"]


def test_the_evidence_of_a_number_leads_to_bytes_versions_and_the_commit(original):
    target = resolved(original, f"{RUN}:gc_at_2")
    found, lineage = data_of(target), resolved(original, GENCEPTION).lineage
    assert lineage is not None
    number = lineage.score.find("gc", 2)
    assert number is not None
    assert found["value"] == number.value
    assert found["driftledger"] == lineage.score.driftledger == __version__
    assert found["run"]["fingerprint"] == original.evidence().fingerprint
    # that which made the scores
    assert found["code"]["commit"] == original.git("rev-parse", "HEAD~1")
    assert found["computed"]["function"] == "driftledger.metrics.drift.gc_at"
    assert set(found["components"]) == {"model", "generator", "encoder"}
    assert found["records"] == lineage.score.inputs.records
    assert found["collected"]["chain"]["path"] == CHAINS
    assert set(found["stages"]) == {"data", f"collect@{MODEL}", f"score@{MODEL}"}
    assert "how: Σ t·s(t) / Σ t over the iterations" in as_yaml(target)
    assert yaml.safe_load(as_yaml(target)) == json.loads(json.dumps(found))


def test_an_answer_is_short(original):
    target = resolved(original, f"{RUN}:gc_at_2")
    assert target.number is not None
    odd = target.number._replace(number=Number(metric="odd"))
    unnamed = printed(as_answer(target._replace(number=odd)))
    assert unnamed.startswith(f"odd on my_images: {target.number.value:.4f}\n"), (
        "a number that no table has"
    )
    assert len(printed(as_answer(target)).splitlines()) <= 13
    run, number = target.run, target.number
    assert " each of them" not in printed(as_answer(target))
    code = CodeVersion(commit=None, dirty=False)
    before = run.model_copy(update={"code": code})
    lineage = number.lineage
    inputs = lineage.score.inputs.model_copy(update={"protocol": {"repeats": 2}})
    score = lineage.score.model_copy(update={"inputs": inputs})
    number = number._replace(lineage=lineage.model_copy(update={"score": score}))
    shown = printed(as_answer(target._replace(run=before, number=number)))
    assert (
        "no commit: there was none when it was scored\nscored by  driftledger" in shown
    )
    assert " scored, each of them 2 times" in shown
    assert len(printed(as_answer(resolved(original, RUN))).splitlines()) <= 14


def test_a_value_offers_all_that_round_to_it(original):
    number = resolved(original, f"{RUN}:gc_at_2").number
    assert number is not None
    for text in (
        f"{number.value:.3f}",
        f"{100 * number.value:.1f} %",
        f"{number.value:.3f}".replace(".", ","),
    ):
        offers = candidates_for(sources(original), text)
        assert f"{RUN}:gc_at_2" in [offer.target for offer in offers]
    assert f"  driftledger audit {RUN}:gc_at_2\n" in printed(
        candidates_table("0.7", offers, None)
    )
    offers = candidates_for(sources(original), "100.0")
    assert f"{RUN}:genception/my_images/coverage" in [offer.target for offer in offers]


def test_a_value_that_no_number_has_names_the_nearest(original):
    number = resolved(original, f"{RUN}:gc_at_2").number
    assert number is not None
    first = rf"{number.value:.6g} \({RUN}:gc_at_2\)"
    nearest = rf"nearest: {first}, \S+ \({RUN}:\w+\), \S+ \(\S+\)$"
    with pytest.raises(LedgerError, match=rf"no number here is \S+; {nearest}"):
        audit(
            original.project,
            f"{number.value + 1e-9:.12f}",
            {},
            full=False,
            as_json=False,
        )


def test_a_note_of_track_leads_from_the_id_of_a_run_in_mlflow(ledger):
    run = "0a1b" * 8
    with pytest.raises(
        LedgerError,
        match=r"'driftledger track' notes the ids of MLflow's runs; nearest: regions_m",
    ):
        resolve_target(sources(ledger), run)
    note_mlflow(ledger.root, {"f" * 32: "0" * 64, run: ledger.evidence().fingerprint})
    note_mlflow(ledger.root, {"e" * 32: "0" * 64})
    assert (
        resolved(ledger, run).run == find_run(sources(ledger), run) == ledger.evidence()
    )
    assert resolved(ledger, f"{run}:gc_at_2") == resolved(ledger, f"{RUN}:gc_at_2")
    notes = ledger.root / MLFLOW
    shutil.copy(notes, ledger.root.parent / "elsewhere.json")
    notes.unlink()
    notes.symlink_to(
        ledger.root.parent / "elsewhere.json"
    )  # as a stranger's checkout might
    assert sources(ledger).find(run) is None


def test_a_former_value_names_the_command_that_answers(ledger):
    number = resolved(ledger, f"{RUN}:gc_at_2").number
    run = ledger.evidence()
    assert number is not None
    assert run.code.commit is not None
    ledger.put(f"{GENCEPTION}/score.json", "inputs", "data_digest", to="0" * 64)
    (ledger.root / "data/settings.json").unlink()
    commits(ledger)
    offers = candidates_for(sources(ledger), f"{number.value:.12f}")
    former = next(offer for offer in offers if not offer.selected)
    assert former.target == f"{run.fingerprint[:12]}:gc_at_2"
    answer = resolved(ledger, former.target)
    assert (answer.number, answer.source) == (former.number, "git")
    assert answer.run.lineages[0].stages == run.lineages[0].stages
    assert former.number.value == number.value
    shown = printed(
        candidates_table("0.7", offers[offers.index(former) :], sources(ledger).git)
    )
    assert f"; published earlier, commit {run.code.commit[:12]} of 2" in " ".join(
        shown.split()
    )
    selected = [offer.selected for offer in offers]
    assert selected == sorted(selected, reverse=True)


@pytest.mark.parametrize("text", ["GC@2", "gc_at_2", "genception"])
def test_a_word_offers_the_numbers_that_are_called_so(original, text):
    assert f"{RUN}:gc_at_2" in [
        offer.target for offer in candidates_for(sources(original), text)
    ]
    assert candidates_for(sources(original), "nonsense") == []


ANSWERS = Path("tests/cases/ledger/answers.txt")
"""What is printed of one project, without digests and dates. When a sentence changes, delete it and
run this file: it is written again, and Git shows the difference."""


def test_answers_are_those_that_were_read_and_found_right(original):
    targets = [
        RUN,
        f"{RUN}:gc_at_2",
        f"{RUN}:frechet_at_2",
        f"{RUN}:category/round/gc_at_2",
        GENCEPTION,
        IMAGE,
        f"{CHAINS}/images/2/square_2.png",
        "100.0",
    ]
    shown = [
        audit(original.project, each, {}, full=False, as_json=False) for each in targets
    ]
    shown.append(
        audit(
            original.project,
            None,
            {"generator": "painter", "encoder": None},
            full=False,
            as_json=False,
        )
    )
    run = original.evidence()
    compared = compare(
        run,
        run.model_copy(update={"name": "the same"}),
        original.contents,
    )
    compared_text = printed(Compared(compared).as_text()).removeprefix("\n")
    text = "\n\n".join([*map(printed, shown), compared_text])
    text = text.replace(f"driftledger {__version__}", "driftledger #")
    text = (
        re.sub(r"(?<![.\w])[0-9a-f]{8,64}\b|\d{4}-\d\d-\d\d(T[0-9:]+Z)?", "#", text)
        + "\n"
    )
    if not (REPOSITORY / ANSWERS).exists():
        (REPOSITORY / ANSWERS).write_text(text)
    assert text == (REPOSITORY / ANSWERS).read_text()


@each_case(cases(__file__, "sentences"))
def test_an_unknown_name_is_one_sentence(case, sentence, original):
    sentence(case, original.root)


def test_a_published_run_is_read_from_git(ledger):
    fingerprint = ledger.evidence().fingerprint
    commits(ledger)
    number = resolved(ledger, f"{RUN}:gc_at_2").number
    assert number is not None
    assert number.value == 0.123
    shutil.rmtree(ledger.root / "reports")
    published = resolved(ledger, fingerprint[:12])
    assert published.source == "git"
    assert published.run.fingerprint == fingerprint
    [score] = [
        each.score for each in published.run.lineages if each.folder.path == GENCEPTION
    ]
    number = score.find("gc", 2)
    assert number is not None
    assert number.value != 0.123


def test_an_image_is_found_by_its_bytes_wherever_it_was_copied_to(original, tmp_path):
    shutil.copy(original.root / IMAGE, tmp_path / "copy.png")
    found = resolve_target(sources(original), str(tmp_path / "copy.png"))
    assert isinstance(found, ImageTarget)
    assert [(each["role"], each["folder"]) for each in found.places] == [
        ("sample", "data/datasets/my_images")
    ]
    assert {each["benchmark"] for each in found.places[0]["scores"]} == {
        "genception",
        "self_retrieval",
        "fidelity",
    }
    drawn = find_image(
        sources(original), str(original.root / CHAINS / "images/2/round_1.png")
    ).places[0]
    assert (drawn["role"], drawn["entry"]["step"]) == ("drawn", 2)
    assert drawn["parent"].endswith("made at t = 1")
    assert drawn["card"]["components"]["generator"]["name"] == "painter"
    again = find_image(sources(original), found.sha256)
    assert again.places == found.places
    assert "used by" in printed(as_answer(again))
    jpeg = io.BytesIO()
    Image.open(original.root / IMAGE).save(jpeg, "BMP")  # other bytes, the same pixels
    (tmp_path / "copy.bmp").write_bytes(jpeg.getvalue())
    assert find_image(sources(original), str(tmp_path / "copy.bmp")).converted


def test_an_image_of_an_output_that_is_not_here_says_so(ledger):
    digest = find_image(sources(ledger), str(ledger.root / IMAGE)).sha256
    shutil.rmtree(ledger.root / ".dvc/cache")
    shutil.rmtree(ledger.root / "data/datasets")
    with pytest.raises(
        LedgerError,
        match=r"1 folders could not be searched: data/datasets .* run 'dvc pull'",
    ):
        resolve_target(sources(ledger), digest)


def test_images_of_a_model_that_is_no_longer_selected_are_not_looked_for(ledger):
    digest = find_image(sources(ledger), str(ledger.root / IMAGE)).sha256
    lock = ledger.root / "dvc.lock"
    stages = yaml.safe_load(lock.read_text(encoding="utf-8"))
    gone = json.loads(json.dumps(stages["stages"][f"collect@{MODEL}"]))
    gone["outs"][0] |= {"path": "data/records/gone", "md5": f"{'0' * 32}.dir"}
    stages["stages"]["collect@gone"] = gone
    lock.write_text(yaml.safe_dump(stages), encoding="utf-8")
    found = find_image(sources(ledger), digest)
    assert found.places
    assert found.unknown == []
    assert ledger.check().holds


def test_the_scores_of_a_version_are_found_here_and_in_git(ledger):
    generator = ledger.evidence().components["generator"]
    commits(ledger)
    for version in (
        "painter",
        f"painter@{generator.fingerprint[:8]}",
        f"@{generator.fingerprint[:8]}",
    ):
        rows = scores_made_with(sources(ledger), {"generator": version})
        assert [(row["benchmark"], row["current"]) for row in rows].count(
            ("genception", True)
        ) == 1
        assert [(row["benchmark"], row["current"]) for row in rows].count(
            ("genception", False)
        ) == 1
        assert {row["benchmark"] for row in rows} == {"genception", "fidelity"}
    old = next(row for row in rows if not row["current"])
    assert (old["last_commit"], old["known_from"]) == (
        ledger.git("rev-parse", "HEAD~1"),
        ["git"],
    )
    new = next(
        row for row in rows if row["benchmark"] == "genception" and row["current"]
    )
    assert (new["value"], new["runs"], new["known_from"]) == (
        0.123,
        [ledger.evidence().fingerprint],
        ["git", "here"],
    )
    assert json.loads(json.dumps(rows)) == rows
    assert "0.123" in printed(versions_table(rows))
    assert {
        row["on"]
        for row in scores_made_with(
            sources(ledger), {"dataset": "digits", "encoder": "tfidf"}
        )
    } == {"digits"}


def test_text_from_files_is_inert(ledger):
    score = f"{GENCEPTION}/score.json"
    ledger.put(score, "flags", to=["\x1b[2J[red]all is well[/red]"])
    ledger.put(score, "components", "generator", "mark", to="\x1b[1mbest")
    ledger.relock()
    target = resolved(ledger, f"{RUN}:gc_at_2")
    shown = printed(as_answer(target)) + as_yaml(target)
    assert "\x1b" not in shown
    assert "[red]all is well[/red]" in shown.replace("\n", "")

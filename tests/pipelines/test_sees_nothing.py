"""A service beside the same model without its images, and one that never gets them: what is sent
and paid, that every score says so wherever it is shown, and that all holds."""

import csv
import io
import json
import shutil

import pytest

from driftledger.benchmarks.registry import benchmark_names
from tests.acceptance import own_code
from tests.acceptance.numbers import numbers, read
from tests.acceptance.places import FOREIGN_BENCHMARK, REPOSITORY
from tests.conftest import make_checkout
from tests.support.bundles import Forger, differing
from tests.support.server import ChatAnswer, Server, described
from tests.support.small import service_params

pytestmark = pytest.mark.slow

TWIN = "seer_sees_nothing"
IMAGES = 8
RECORDS = f"data/records/{TWIN}"
SAME = (
    *("benchmark", "data", "generator", "encoder", "text_encoder", "description"),
    *("metric", "t", "group_kind", "group"),
)
"""The columns of ``leaderboard.csv`` in which a number of both models is the same."""


LOST = "lost"
"""A model whose images do not arrive."""
REPLY = "I don't see an image attached."
LACKS = "replies the model says that no image arrived"
PAIR = "painter/layout"


def reply(body):
    """Describe, or answer with an option that every question of these sets has."""
    if body["model"] == LOST:
        return ChatAnswer(REPLY)
    text = body["messages"][-1]["content"][-1]["text"]
    if "yes or no" in text:
        return ChatAnswer("Yes")
    return ChatAnswer("(A)") if "\nA. " in text else described(body)


def select(address):
    def change(params):
        prices = {"input": 1.0, "output": 2.0}
        params |= service_params(address, questions=26, prices=prices)
        params["models"][LOST] = params["models"]["seer"] | {"model": LOST}
        params["run"]["models"].append(LOST)
        params["genception"]["repeats"] = 2
        params["run"]["words"] = ["my_images"]
        params["words"] = {
            "prompt": "Describe it.",
            "min_coverage": 0.9,
            "unread": "worst",
            "confidence": 0.95,
        }

    return change


@pytest.fixture(scope="module")
def twins(tmp_path_factory):
    """Return the checkout after a run, the plan before it, what the run printed, and the texts of
    each request for the twins."""
    folder = tmp_path_factory.mktemp("twins")
    checkout = make_checkout(folder)
    site = folder / "site"
    point = {"driftledger.benchmarks words": FOREIGN_BENCHMARK}
    own_code.install(site, "words", "1.0", point)
    shutil.copytree(REPOSITORY / "tests/words", site / "tests/words")
    (site / "tests/__init__.py").touch()
    checkout.on_path(site)
    with Server(reply=reply) as server:
        checkout.params(select(server.base_url))
        checkout.run("driftledger", "add", "model", "seer", "--sees-nothing")
        checkout.commit("a service, and the same without its images")
        plan = json.loads(checkout.run("driftledger", "plan", "--json").stdout)["calls"]
        printed = checkout.run("driftledger", "run").stdout
    checkout.commit("a run")
    sent = []
    for request in server.requests:
        parts = []
        for message in request.body["messages"]:
            parts += message["content"]
        if request.body["model"] != LOST:
            sent.append([part.get("text") for part in parts])
    return checkout, plan, printed, sent


def test_it_is_sent_each_text_once_and_paid_as_planned(twins):
    _, plan, _, sent = twins
    with_images = [texts for texts in sent if None in texts]
    alone = [texts for texts in sent if None not in texts]
    assert len(alone) == plan[f"models.{TWIN}"]["to_make"]
    # equal descriptions are drawn alike in both repeats, which nobody can know before
    assert len(with_images) <= plan["models.seer"]["to_make"]
    # the same words, each set of them once
    words = {tuple(filter(None, texts)) for texts in with_images}
    assert sorted(words) == sorted(map(tuple, alone))


def test_its_records_name_the_images_and_share_a_call(twins):
    checkout, *_ = twins
    file = checkout.root / RECORDS / "genception/my_images/painter/records.jsonl"
    records = [json.loads(line) for line in file.read_text().splitlines()]
    replies = [record["results"][0] for record in records]
    parents = {record["extra"]["parent_sha256"] for record in records}
    assert len(records) == IMAGES * 2 * 2
    assert len({reply["key"] for reply in replies}) == 1
    assert len(parents) > IMAGES
    calls = file.with_name("usage.jsonl").read_text().splitlines()
    assert [json.loads(call)["role"] for call in calls].count("model") == 1


def test_its_scores_are_those_of_a_control(twins):
    checkout, *_ = twins
    scores = [
        read(file)
        for file in checkout.root.glob(f"reports/scores/{TWIN}/**/score.json")
    ]
    assert len({score["benchmark"] for score in scores}) >= 6
    for score in scores:
        assert score["components"]["model"]["control"] is True
        assert not [flag for flag in score["flags"] if "alarm" in flag]
        assert numbers(score)
    leaderboard = (checkout.root / "reports/leaderboard.md").read_text("utf-8")
    rows = [row for row in leaderboard.splitlines() if row.startswith(f"| {TWIN}")]
    assert rows


def test_one_description_finds_one_image_of_all(twins):
    checkout, *_ = twins
    [file] = checkout.root.glob(
        f"reports/scores/{TWIN}/self_retrieval/**/layout/score.json"
    )
    assert numbers(read(file))["recall1"] == 100 / IMAGES


def test_its_values_are_the_floors_of_the_model(twins):
    checkout, *_ = twins
    text = (checkout.root / "reports/leaderboard.csv").read_text("utf-8")
    values = {}
    floors = {}
    for row in csv.DictReader(io.StringIO(text)):
        number = tuple(row[key] for key in SAME)
        if row["model"] == TWIN:
            values[number] = row["value"]
        elif row["floor"]:
            floors[number] = row["floor"]
    assert {number: values[number] for number in floors} == floors
    for benchmark in ("genception", "trac", "fidelity", "mm_sap", "mm_vet", "mme"):
        assert any(number[0] == benchmark for number in floors)


def test_each_score_of_a_model_that_gets_no_image_carries_the_alarms(twins):
    checkout, *_ = twins
    files = checkout.root.glob(f"reports/scores/{LOST}/**/score.json")
    scores = {score["benchmark"]: score for score in map(read, files)}
    assert scores.keys() == {*benchmark_names(), "words"}
    for score in scores.values():
        lacks, one_text = [flag["text"] for flag in score["flags"] if "alarm" in flag]
        assert lacks.endswith(LACKS)
        _, _, count, _, total, *_ = lacks.split()
        assert count == total
        assert (
            one_text
            == f'alarm: all {total} replies of the model are one text: "{REPLY}"'
        )
    mme = numbers(scores["mme"])
    assert (mme["score"], mme["refused"]) == (0, 100)


def test_the_leaderboard_the_site_and_the_closing_lines_say_them(twins):
    checkout, _, printed, _ = twins
    reports = checkout.root / "reports"
    glance = (reports / "leaderboard.md").read_text(encoding="utf-8").split("\n## ")[1]
    index = (reports / "site/index.html").read_text(encoding="utf-8")
    for name in (*benchmark_names(), "words"):
        for text in (printed, glance, index):
            [line] = [
                each
                for each in text.splitlines()
                if f"{LOST}, {name} on " in each and ": alarm: " in each
            ]
            assert LACKS in line
            assert "are one text" in line
    [first, *_] = [
        each for each in printed.splitlines() if "GC@" in each or "alarm" in each
    ]
    assert ": alarm: " in first, "alarms stand before the numbers"


def test_verify_and_check_find_that_all_holds(twins, tmp_path):
    checkout, *_ = twins
    checkout.run("driftledger", "verify")
    forgers = {}
    for model in (TWIN, LOST):
        bundle = tmp_path / f"{model}.zip"
        checkout.run("driftledger", "bundle", f"{model}/{PAIR}", "-o", str(bundle))
        forgers[model] = Forger(bundle)
        assert differing(forgers[model].check(tmp_path)) == []
    checkout.run("driftledger", "check", str(tmp_path / f"{TWIN}.zip"))
    forger = forgers[LOST]
    forger.put(f"files/reports/scores/{LOST}/mme/scenes_mme/score.json", "flags", 0)
    forger.follow()
    found = differing(forger.check(tmp_path))
    assert any("mme" in each and "flags.0" in each for each in found), found
    plan = json.loads(checkout.run("driftledger", "plan", "--json").stdout)["calls"]
    assert {calls["to_make"] for calls in plan.values()} == {0}

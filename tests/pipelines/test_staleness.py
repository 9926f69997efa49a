"""What a change of code or of a setting makes stale, as DVC says it: what it can have changed, and nothing else.

Where a test changes code, the project runs by a copy of the package's source in its own folder.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from driftledger.benchmarks.base import DATASET, QUESTION_SET, Stage
from driftledger.benchmarks.registry import benchmarks
from tests.conftest import REPOSITORY, REPRO, Checkout, make_checkout, stages_run

pytestmark = pytest.mark.slow

RUN = "regions_medium/painter/layout"
NAMES = {"generator": "painter", "encoder": "layout", "text_encoder": "tfidf", "description": "features_by_words"}
ON = {
    "genception": "my_images",
    "trac": "digits",
    "fidelity": "my_images",
    "mm_sap": "scenes_mm_sap",
    "mm_vet": "scenes_mm_vet",
    "mme": "scenes_mme",
}
"""Benchmark → what it goes over here: each goes over something."""
SETS = ("mm_sap", "mm_vet", "mme")


def all_benchmarks(params: dict[str, Any]) -> None:
    """Each over as little as it takes."""
    params["run"] |= {name: [on] for name, on in ON.items()} | {"text_encoders": [NAMES["text_encoder"]]}
    params["run"] |= {"datasets": ["my_images", "digits"], "question_sets": [ON[name] for name in SETS]}
    params["datasets"]["digits"] |= {"support_per_label": 4, "test_per_label": 2}
    params["descriptions"]["features_by_words"]["max_tokens"] = [60]
    params["genception"]["iterations"] = 1
    params["mm_sap"]["permutations"] = 1
    params["mm_vet"]["gradings"] = 1
    for name, on in ON.items():
        params[name] |= {"confidence": 0.95, "min_coverage": 0.2}
        if name in SETS:
            params["question_sets"][on]["count"] = 13


VIEWS = {"report", "correlation"}
"""What is put together from all scores."""


def change(checkout: Checkout, module: str, old: str, new: str) -> None:
    """Put ``new`` where the source of a module has ``old`` once; from then on, that source is what runs."""
    source = checkout.root / "src"
    if checkout.env.get("PYTHONPATH") != str(source):
        checkout.env["PYTHONPATH"] = str(source)
        shutil.copytree(REPOSITORY / "src", source, dirs_exist_ok=True)  # with what Python has compiled of it
    path = source / "driftledger" / module
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{module} has it {text.count(old)} times"
    path.write_text(text.replace(old, new), encoding="utf-8")


def stale(checkout: Checkout) -> set[str]:
    """The stages that ``dvc repro`` would run again, once it is noted what code there is now."""
    checkout.run("driftledger", "stage", "resolve")
    said = json.loads(checkout.run("dvc", "status", "--json").stdout)
    return {name.rpartition(":")[2] for name in said} - {"resolve", "track"}  # which always run


def named(stage: Stage, benchmark: str) -> str:
    """A stage's name here, in ``dvc.lock``."""
    on = ON[benchmark]
    return stage.named({"dataset": on, "question_set": on, "model": "regions_medium", **NAMES})


COLLECTS = {named(stage, spec.name) for spec in benchmarks() for stage in spec.collects}
SCORES = {named(spec.scores, spec.name) for spec in benchmarks()}
DATA = {named(QUESTION_SET if name in SETS else DATASET, name) for name in ON}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    checkout = make_checkout(tmp_path_factory.mktemp("stale"))
    checkout.params(all_benchmarks)
    checkout.commit("every benchmark")
    checkout.run(*REPRO)
    checkout.commit("scores")
    return checkout


@pytest.fixture
def changed(made: Checkout, tmp_path: Path) -> Checkout:
    """The same, to be changed."""
    return made.copy(tmp_path / "checkout")


SETTINGS: dict[str, tuple[Callable[[dict[str, Any]], object], set[tuple[str, str]]]] = {
    "scoring": (
        lambda params: (
            params["genception"].update(confidence=0.9),
            params["trac"].update(min_coverage=0.1),
            params["fidelity"].update(ssim_side=128),
            params["mm_sap"].update(count_free_refusals=False),
            params["mm_vet"].update(unread="left_out"),
            params["mme"].update(confidence=0.9),
        ),
        {(name, name) for name in ON},
    ),
    "asking": (
        lambda params: (
            params["genception"].update(describe_prompt="What is there?"),
            params["descriptions"]["features_by_words"].update(prompt="What is there?"),
            params["fidelity"].update(generate_prompt="Draw {description}"),
            params["mm_sap"].update(permutations=2),
            params["mm_vet"].update(gradings=2),
            params["mme"].update(prompt="So: {question}"),
        ),
        {("genception", "chain"), ("genception", "witness"), ("trac", "describe"), ("fidelity", "redraw")}
        | {("mm_sap", "answer"), ("mm_vet", "grade"), ("mme", "answer")},
    ),
    "both": (
        lambda params: params["genception"].update(iterations=2),
        {("genception", "chain")} | {("genception",) * 2},
    ),
    "encoder": (
        lambda params: params["encoders"]["layout"].update(batch_size=3),
        {("genception", "genception"), ("fidelity", "fidelity")},
    ),
    "descriptions compared": (
        lambda params: params["genception"].update(text_encoder=None),
        {("genception", "genception")},
    ),
    "other models": (
        lambda params: params["genception"].update(cross_check=["blind"]),
        {("genception", "witness")},
    ),
    "seed": (
        lambda params: params["run"].update(seed=2),
        {(spec.name, stage.name) for spec in benchmarks() for stage in (*spec.collects, spec.scores)},
    ),
}
"""What is changed in ``params.yaml`` → benchmark and name of each stage that this concerns."""


@pytest.mark.parametrize("what", SETTINGS)
def test_a_setting_makes_stale_what_depends_on_it(what: str, changed: Checkout) -> None:
    change_settings, concerned = SETTINGS[what]
    changed.params(change_settings)
    every = [(spec.name, stage) for spec in benchmarks() for stage in (*spec.collects, spec.scores)]
    expected = {named(stage, name) for name, stage in every if (name, stage.name) in concerned}
    assert len(expected) == len(concerned)
    assert stale(changed) - VIEWS == expected


def test_a_model_that_is_added_makes_nothing_else_stale(changed: Checkout) -> None:
    changed.params(lambda params: params["run"]["models"].append("blind"))
    added = stale(changed) - VIEWS
    assert added
    assert {name for name in added if "blind" not in name} == set()


def test_a_comment_makes_nothing_stale(changed: Checkout) -> None:
    assert stale(changed) == set()
    change(changed, "metrics/yes_no.py", "BEST = 200\n", "# in every category\nBEST = 200  # of each\n")
    change(
        changed,
        "core/files.py",
        '"""Write one canonical JSON object per line, in one step, each row as it comes."""',
        '"""Lines."""',
    )
    assert stale(changed) == set()


def test_a_metric_of_another_meaning_makes_its_benchmarks_scores_stale(changed: Checkout) -> None:
    change(changed, "metrics/yes_no.py", "100 * (Fraction(right", "50 * (Fraction(right")
    [mme] = [name for name in SCORES if name.startswith("mme@")]
    assert stale(changed) - VIEWS == {mme}
    assert set(changed.repro()) == {"resolve", mme, *VIEWS}


def test_another_writer_of_records_makes_every_stage_that_writes_them_stale(changed: Checkout) -> None:
    change(
        changed,
        "core/files.py",
        'f"{canonical_json(row.to_dict())}\\n".encode()',
        'f"{canonical_json(row.to_dict())} \\n".encode()',
    )
    assert stale(changed) == DATA | COLLECTS | SCORES | VIEWS


def drawn_by(checkout: Checkout) -> dict[str, Any]:
    """The generator behind the score of its chains."""
    path = checkout.root / "reports/scores/genception/my_images/regions_medium/painter/layout/score.json"
    card: dict[str, Any] = json.loads(path.read_bytes())["components"]["generator"]
    return card


def fingerprint(checkout: Checkout) -> str:
    found: str = json.loads(checkout.run("driftledger", "audit", RUN, "--json").stdout)["fingerprint"]
    return found


def test_a_generator_of_other_colours_under_its_version_makes_what_it_drew_stale(changed: Checkout) -> None:
    old, first = drawn_by(changed), fingerprint(changed)
    inverted = "return 255 - red, 255 - green, 255 - blue\n"
    change(changed, "demo/generators/painter.py", "return red, green, blue\n", inverted)
    draws = {name for name in COLLECTS if name.endswith("-painter")}
    assert {name.partition("@")[0] for name in draws} == {"chain", "redraw"}
    assert stale(changed) == draws
    ran = stages_run(changed.run(*REPRO).stdout)
    assert set(ran) == {"resolve", "track"} | VIEWS | draws | {name for name in SCORES if "-painter-" in name}
    changed.commit("inverted")

    new, second = drawn_by(changed), fingerprint(changed)
    assert (new["version"], new["settings"]) == (old["version"], old["settings"])
    assert new["identity"]["code"] != old["identity"]["code"]
    assert second != first
    codes = [card["identity"]["code"] for card in (old, new)]
    assert (
        f"code: {codes[0]}, and the code here is {codes[1]}"
        in changed.run("driftledger", "audit", first, "--full").stdout
    )
    here = changed.run("driftledger", "audit", second, "--full").stdout
    assert f"code: {codes[1]}\n" in here
    assert codes[0] not in here
    said = changed.run("driftledger", "compare", first, second).stdout
    assert f'changed: generator painter, identity.code: "{codes[0]}" → "{codes[1]}"' in said

"""The stages `resolve`, `data`, `collect@<model>` and `score@<model>`: what they make, and what
they leave alone."""

import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from driftledger.benchmarks.registry import benchmark
from driftledger.commands.collect import collect
from driftledger.commands.stages import score
from driftledger.core.errors import ConfigError, MissingSourceError
from driftledger.project.project import Project
from driftledger_demo.generators.painter import Painter
from driftledger_demo.models.controls import WordCounter
from driftledger_demo.models.regions import Regions
from driftledger_demo.models.rubric import Rubric
from tests.conftest import Checkout, draw
from tests.support.cases import cases, each_case
from tests.support.evaluation import build
from tests.support.small import (
    IMAGES,
    QUESTIONS,
    changed,
    contents,
    folders,
    made_by,
    make_small,
    matching,
    update,
)

CHAINS = "data/records/{}/genception/my_images/painter"
SCORE = "reports/scores/{}/genception/my_images/painter/layout"
CALLED = [
    ("model", WordCounter, "respond"),
    ("model", Regions, "respond"),
    ("generator", Painter, "generate"),
    ("judge", Rubric, "respond"),
]


GENCEPTION = benchmark("genception")
VERSIONED = {
    "painter": (Painter, "version", "999"),
    "rubric": (Rubric, "version", "999"),
    "collects": (
        type(GENCEPTION),
        "collects",
        replace(GENCEPTION.collects, version=999),
    ),
    "scores": (type(GENCEPTION), "scores", replace(GENCEPTION.scores, version=999)),
}
"""Name in a case → the class, the attribute and its value: a new version of a component or stage.
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    root = tmp_path_factory.mktemp("small") / "project"
    with pytest.MonkeyPatch.context() as patch:
        root.mkdir()
        patch.chdir(root)
        update(make_small(root))
    return root


@pytest.fixture
def root(made, tmp_path, monkeypatch):
    """Copy the evaluated project, to be changed, and make it the current folder."""
    shutil.copytree(made, tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


@pytest.fixture
def calls(monkeypatch):
    """Count the calls that models, generators and judges answer from here on."""
    counted: Counter[str] = Counter()
    for role, component, method in CALLED:
        original = getattr(component, method)

        def count(self, asked, *more, role=role, original=original):
            counted[role] += len(asked)
            return original(self, asked, *more)

        monkeypatch.setattr(component, method, count)
    return counted


def change(case):
    """Return the edit of ``params.yaml`` that a case describes."""

    def edit(params):
        for *above, last, value in case.get("sets", []):
            section = params
            for key in above:
                section = section[key]
            section[last] = value

    return edit


def set_one(*place_and_value):
    return change({"sets": [place_and_value]})


def damage(root, how, folder):
    """Damage a folder that a stage has made."""
    top = root / folder
    files = sorted(path for path in top.rglob("*") if path.is_file())
    first = next(path for path in files if path.name != "inputs.json")
    if how == "a changed byte":
        first.write_bytes(first.read_bytes() + b" ")
    elif how == "a missing file":
        first.unlink()
    elif how == "a further file":
        (top / "further").touch()
    elif how == "a forged text":
        records = (top / "records.jsonl").read_text(encoding="utf-8")
        forged = records.replace('"text":"', '"text":"Forged. ')
        assert forged != records
        (top / "records.jsonl").write_text(forged, encoding="utf-8")
    else:
        assert how == "no inputs.json"
        (top / "inputs.json").unlink()


@each_case(cases(__file__, "changes"))
def test_a_change_makes_what_depends_on_it_and_pays_for_no_more(
    case, root, calls, monkeypatch
):
    """Change settings, an image, a version, a folder or the store, and bring the project up to
    date.

    A case has patterns of the folders that are made again and of those that are removed, and the
    calls that it costs.
    """
    monkeypatch.setattr(Regions, "_answer", lambda *_: "no")  # also to another prompt
    before = folders(root)
    bytes_before = contents(root)
    assert len(before) == 5 + 2 * (7 + 7)
    if "draws" in case:
        path, number = case["draws"]
        draw(Path(path), number, (24, 18))
    if "version" in case:
        monkeypatch.setattr(*VERSIONED[case["version"]])
    if "damages" in case:
        damage(root, *case["damages"])
    if case.get("store") == "lost":
        shutil.rmtree(root / ".driftledger")
    made = made_by(changed(root, change(case)))
    after = folders(root)
    assert made == matching(after, case["makes"])
    assert before.keys() - after.keys() == matching(before, case.get("removes", []))
    assert calls == case.get("calls", {})
    assert (contents(root) == bytes_before) == case.get("same", False)


def test_a_model_that_is_not_selected_is_named(root):
    with pytest.raises(ConfigError, match=r"^selected model 'blond' is unknown"):
        score(Project(root), "blond")


def test_where_one_benchmark_has_nothing_to_score_the_other_scores_are_written(
    root, capsys
):
    update(changed(root, set_one("genception", "min_coverage", 0.9)))
    before = folders(root)
    project = changed(root, set_one("mme", "confidence", 0.9))
    folder = root / CHAINS.format("blind")
    lines = (folder / "records.jsonl").read_text(encoding="utf-8").splitlines()
    (folder / "records.jsonl").write_text(
        "\n".join(line for line in lines if '"step":1' in line) + "\n", "utf-8"
    )
    (folder / "inputs.json").unlink()
    build(project)
    score(project, "blind")
    line = (
        f"GenCeption on my_images · blind · painter · layout has no score: none of {IMAGES} "
        "chains reached t=2"
    )
    assert line in capsys.readouterr().err
    assert before.keys() - folders(root).keys() == {
        SCORE.format("blind"),
        CHAINS.format("blind"),
    }
    assert {
        name for name, when in folders(root).items() if before.get(name) != when
    } == {"reports/scores/blind/mme/scenes_mme"}


def test_what_is_not_on_this_machine_is_kept_as_it_was_noted_and_fails_where_it_is_called(
    root, calls, capsys, monkeypatch
):
    monkeypatch.setattr(Regions, "_answer", lambda *_: "no")  # also to another prompt
    theirs = {
        "provider": "predictions",
        "path": "theirs.json",
        "understood_by": ["rubric"],
    }
    selected = {"models": ["regions_medium", "theirs"], "datasets": ["my_images"]}
    selected["question_sets"] = ["scenes_mme"]
    nothing = ("genception", "self_retrieval", "fidelity", "trac", "mm_sap", "mm_vet")
    selected |= {name: [] for name in nothing}
    sets = [
        ["models", "theirs", theirs],
        *(["run", *each] for each in selected.items()),
    ]
    questions = (
        (root / "data/questions/scenes_mme/questions.jsonl")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    answers = {
        question["id"]: question["answer"] for question in map(json.loads, questions)
    }
    (root / "theirs.json").write_text(json.dumps(answers), encoding="utf-8")
    update(changed(root, change({"sets": sets})))
    before, noted = folders(root), (root / "data/resolved.json").read_bytes()

    (root / "theirs.json").unlink()
    shutil.rmtree(root / "my_images")
    capsys.readouterr()
    update(Project(root))
    assert (root / "data/resolved.json").read_bytes() == noted
    assert folders(root) == before
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 2
    assert all(
        "is not on this machine" in line and "only new calls to it fail" in line
        for line in told
    )

    project = changed(root, set_one("mme", "prompt", "So: {question}"))
    build(project)
    with pytest.raises(
        MissingSourceError, match=r"^theirs: models\.theirs is needed: .*theirs\.json"
    ):
        collect(project, ["theirs"])
    collect(project, ["regions_medium"])  # which is here
    (root / "data/datasets/my_images/inputs.json").unlink()
    with pytest.raises(MissingSourceError, match="folder 'my_images' is missing"):
        build(project)
    assert calls == {"model": QUESTIONS * 2}


@pytest.mark.slow
def test_an_experiment_and_a_worktree_use_the_store_of_the_main_checkout(
    evaluated, tmp_path
):
    def to_make(checkout):
        planned = json.loads(checkout.run("driftledger", "plan", "--json").stdout)
        return {name: each["to_make"] for name, each in planned["calls"].items()}

    evaluated.commit("results")
    evaluated.run(
        "dvc",
        "exp",
        "run",
        "--temp",
        "--set-param",
        "genception.iterations=3",
        "score@regions_medium",
    )
    evaluated.git("worktree", "add", "--quiet", str(tmp_path / "further"))
    further = Checkout(tmp_path / "further", evaluated.state)
    for checkout in (evaluated, further):
        checkout.params(lambda params: params["genception"].update(iterations=3))
        checkout.repro("data")
        assert to_make(checkout) == {
            "models.regions_medium": 0,
            "generators.painter": 0,
        }
    assert not (further.root / ".driftledger").joinpath("calls.db").exists()

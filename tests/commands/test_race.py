"""``run --until ranked``: rounds over tiny images; who is asked, what is written, and when."""

import shutil

import pytest
import yaml

from driftledger.commands.collect import collect
from driftledger.commands.plan import plan
from driftledger.commands.race import keys_of_race, race, sizes_of
from driftledger.core.errors import ConfigError, ServiceError
from driftledger.core.files import read_json
from driftledger.ledger.race import RACE, Race
from driftledger.project.project import Project
from driftledger_demo.models.regions.model import Regions
from tests.conftest import draw
from tests.support.cases import cases, each_case
from tests.support.evaluation import build
from tests.support.params import default_params
from tests.support.small import contents

IMAGES = 40
RUN = """\
run:
  datasets: [my_images] # all that are built
  genception: [my_images]
  models: [{models}]
  generators: [painter]
  encoders: [layout]
  seed: 1
datasets:
  my_images: # mine
    provider: image_folder
    path: my_images # here
  others: {{provider: image_folder, path: others}}
"""


@pytest.fixture
def make(tmp_path, monkeypatch):
    """Make a project of 40 images in two categories, as a user writes it."""
    monkeypatch.chdir(tmp_path)
    for number in range(IMAGES):
        kind = "round" if number % 2 else "square"
        draw(tmp_path / "my_images" / kind / f"{number}.png", number, (24, 18))
    params = default_params()
    chains = {"iterations": 1, "text_encoder": None}
    own = {
        "genception": params["genception"] | chains,
        "tracking": params["tracking"],
    }

    def make(*models, first=None):
        text = RUN.format(models=", ".join(models))
        if first:
            text = text.replace("# mine", f"# mine\n    first: {first}")
        text += yaml.safe_dump(own, width=4096)
        (tmp_path / "params.yaml").write_text(text, encoding="utf-8")
        project = Project(tmp_path, own_code=True)
        build(project)
        return project

    return make


def params_of(project):
    return (project.root / "params.yaml").read_text(encoding="utf-8").splitlines()


def calls_of(project):
    with project.store(writes=False) as store:
        return store.database.count()


def test_a_race_that_is_decided_writes_one_line_and_its_looks(make, capsys):
    project = make("regions_fine", "blind")
    before = params_of(project)
    built = contents(project.root)
    planned = sum(each.to_make for each in plan(project).calls.values())
    race(project)
    seen = read_json(project.root / RACE, Race)
    assert (seen.samples, seen.undecided) == (32, [])
    assert seen.keys == {
        "dataset": "my_images",
        "generator": "painter",
        "encoder": "layout",
    }
    [look] = seen.looks
    assert (look.first, look.second, look.low > 0) == ("blind", "regions_fine", True)
    after = params_of(project)
    assert [line for line in after if line not in before] == ["    first: 32"]
    assert len(after) == len(before) + 1
    assert contents(project.root) == built  # no round is in the project
    assert 0 < calls_of(project) < planned
    assert "looks after 32, 40 samples" in capsys.readouterr().err


def test_a_second_race_sees_the_same_and_asks_nobody(make):
    race(make("regions_fine", "blind"))
    project = make("regions_fine", "blind", first=32)
    first = (project.root / RACE).read_bytes()
    calls = calls_of(project)
    params = params_of(project)
    race(project)
    assert (project.root / RACE).read_bytes() == first
    assert calls_of(project) == calls
    assert params_of(project) == params


def test_a_race_that_decides_nothing_asks_about_all(make, capsys):
    project = make("regions_fine", "regions_medium", "blind")
    params = params_of(project)
    race(project)
    seen = read_json(project.root / RACE, Race)
    assert (seen.samples, seen.undecided) == (
        IMAGES,
        ["regions_fine and regions_medium"],
    )
    assert params_of(project) == params
    assert "between regions_fine and regions_medium" in capsys.readouterr().err


@pytest.mark.parametrize(("first", "cannot"), [(21, True), (None, False)])
def test_few_images_are_said_to_decide_nothing(first, cannot, make, capsys):
    project = make("regions_fine", "blind", first=first)
    race(project)
    said = capsys.readouterr().err.splitlines()[0]
    assert ("21 samples cannot decide before all" in said) is cannot
    assert read_json(project.root / RACE, Race).samples == first or 32


def away(monkeypatch, detail):
    respond = Regions.respond

    def answer(self, conversations):
        if self.detail == detail:
            raise ServiceError("the service is away")
        return respond(self, conversations)

    monkeypatch.setattr(Regions, "respond", answer)


def test_a_model_that_fails_is_out_and_others_go_on(make, monkeypatch, capsys):
    away(monkeypatch, "coarse")
    project = make("regions_fine", "regions_coarse", "blind")
    race(project)
    seen = read_json(project.root / RACE, Race)
    assert seen.models == ["regions_fine", "regions_coarse", "blind"]
    assert [(look.first, look.second) for look in seen.looks] == [
        ("blind", "regions_fine")
    ]
    assert seen.samples == 32
    assert "regions_coarse: the service is away" in capsys.readouterr().err


def test_a_race_of_one_that_is_left_ends_and_keeps_what_was_paid(make, monkeypatch):
    project = make("regions_fine", "blind")
    params = params_of(project)
    with monkeypatch.context() as patch:
        away(patch, "fine")
        with pytest.raises(ServiceError, match="regions_fine: the service is away"):
            race(project)
    assert not (project.root / RACE).exists()
    assert params_of(project) == params
    kept = calls_of(project)
    assert kept > 0
    race(project)
    assert read_json(project.root / RACE, Race).samples == 32
    assert calls_of(project) > kept


def test_records_of_others_are_not_paid_again(make, monkeypatch):
    project = make("regions_fine", "blind")
    collect(project)
    shutil.rmtree(project.state)

    def refuse(*_):
        raise AssertionError("asked again")

    monkeypatch.setattr(Regions, "respond", refuse)
    race(Project(project.root, own_code=True))
    assert read_json(project.root / RACE, Race).samples == 32


@each_case(cases(__file__, "race_sizes"))
def test_looks_double_once_every_category_is_there(case):
    categories = {}
    for category, size in case["sizes"].items():
        for number in range(size):
            categories[f"{category}{number}"] = category
    assert [*sizes_of(categories, 0)] == case["looks"]


@pytest.mark.parametrize(
    "run", [{"models": ("blind",)}, {"genception": ()}, {"generators": ()}]
)
def test_a_race_of_nothing_is_refused(run, make):
    settings = make("regions_fine", "blind").settings
    settings = settings.model_copy(update={"run": settings.run.model_copy(update=run)})
    with pytest.raises(ConfigError, match="select them"):
        keys_of_race(settings)

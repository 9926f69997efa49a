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
    own = {name: params[name] for name in ("genception", "tracking")}
    own["genception"] |= {"iterations": 1, "text_encoder": None}

    def make(*models, first=None):
        text = RUN.format(models=", ".join(models))
        if first:
            text = text.replace("# mine", f"# mine\n    first: {first}")
        text += yaml.safe_dump(own, width=4096)
        (tmp_path / "params.yaml").write_text(text)
        project = Project(tmp_path, own_code=True)
        build(project)
        return project

    return make


def params_of(project):
    return (project.root / "params.yaml").read_text().splitlines()


def calls_of(project):
    with project.store(writes=False) as store:
        return store.database.count()


def test_a_second_race_sees_the_same_and_asks_nobody(make):
    race(make("regions_fine", "blind"))
    project = make("regions_fine", "blind", first=32)

    def state():
        return (project.root / RACE).read_bytes(), calls_of(project), params_of(project)

    before = state()
    race(project)
    assert state() == before


def away(monkeypatch, detail):
    respond = Regions.respond

    def answer(self, conversations):
        if self.detail == detail:
            raise ServiceError("the service is away")
        return respond(self, conversations)

    monkeypatch.setattr(Regions, "respond", answer)


@each_case(cases(__file__, "race"))
def test_a_race_writes_its_looks_and_one_line(case, make, monkeypatch, capsys):
    if "away" in case:
        away(monkeypatch, case["away"])
    project = make(*case["models"], first=case.get("first"))
    before = params_of(project)
    built = contents(project.root)
    planned = sum(calls.to_make for calls in plan(project).calls.values())
    race(project)
    seen = read_json(project.root / RACE, Race)
    assert (seen.models, seen.samples) == (case["models"], case["samples"])
    assert seen.undecided == case.get("undecided", [])
    keys = {"dataset": "my_images", "generator": "painter", "encoder": "layout"}
    assert seen.keys == keys
    if "looks" in case:
        looks = [[look.first, look.second] for look in seen.looks if look.low > 0]
        assert looks == case["looks"]
    after = params_of(project)
    assert [line for line in after if line not in before] == case.get("adds", [])
    assert {*before} <= {*after}
    assert contents(project.root) == built  # no round is in the project
    assert 0 < calls_of(project) <= planned
    assert (calls_of(project) < planned) == ("adds" in case)
    assert case["says"] in capsys.readouterr().err


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

    monkeypatch.setattr(Regions, "respond", None)
    race(Project(project.root, own_code=True))
    assert read_json(project.root / RACE, Race).samples == 32


@each_case(cases(__file__, "race_sizes"))
def test_looks_double_once_every_category_is_there(case):
    categories = {
        f"{category}{number}": category
        for category, size in case["sizes"].items()
        for number in range(size)
    }
    assert [*sizes_of(categories, 0)] == case["looks"]


@pytest.mark.parametrize(
    "run", [{"models": ("blind",)}, {"genception": ()}, {"generators": ()}]
)
def test_a_race_of_nothing_is_refused(run, make):
    settings = make("regions_fine", "blind").settings
    settings = settings.model_copy(update={"run": settings.run.model_copy(update=run)})
    with pytest.raises(ConfigError, match="select them"):
        keys_of_race(settings)

"""``driftledger collect``: all calls of the selection in one process, or those of some models and benchmarks."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from driftledger.collect.ray import WorkersError
from driftledger.commands import stages
from driftledger.commands.collect import collect, plan
from driftledger.core.errors import ConfigError, StoreError
from driftledger.demo.generators.painter import Painter
from driftledger.demo.models.blind import Blind
from driftledger.demo.models.regions.model import Regions
from driftledger.project.project import Project
from tests.support.evaluation import build
from tests.support.small import changed, folders, make_small, matching


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A small project whose data are built."""
    monkeypatch.chdir(tmp_path)
    project = make_small(tmp_path)
    build(project)
    return project


def to_make(project: Project) -> dict[str, int]:
    return {name: calls.to_make for name, calls in plan(Project(project.root)).items()}


def test_what_is_planned_is_made_and_then_nothing_is_left(project: Project) -> None:
    before = to_make(project)
    assert before.keys() == {"models.regions_medium", "models.blind", "generators.painter", "judge rubric"}
    assert min(before.values()) > 0
    collect(project, ["blind"])
    assert to_make(project)["models.blind"] == 0
    assert to_make(project)["models.regions_medium"] == before["models.regions_medium"]
    collect(project, ["regions_medium", "blind"])
    assert set(to_make(project).values()) == {0}


def test_records_of_one_model_and_benchmark_leave_the_others_alone(project: Project) -> None:
    collect(project, ["blind"], ["mme"])
    assert {name for name in folders(project.root) if "records" in name} == {
        f"data/records/blind/mme/scenes_mme/{stage}" for stage in ("answers", "grades")
    }
    collect(project, ["blind"])
    collect(project, ["blind"], ["trac"])
    assert len(matching(folders(project.root), ["data/records/blind/*"])) == 9


def test_a_component_is_let_go_of_when_no_later_folder_needs_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    for component, method in ((Painter, "generate"), (Blind, "respond"), (Regions, "respond")):
        original = getattr(component, method)
        monkeypatch.setattr(
            component,
            method,
            lambda self, *given, original=original: (seen.append(self.provider), original(self, *given))[1],
        )
        monkeypatch.setattr(component, "release", lambda self: seen.append(f"{self.provider} released"), raising=False)
    collect(project, ["regions_medium", "blind"])
    assert seen.count("regions released") == seen.count("blind released") == 1
    assert seen.index("regions released") < seen.index("blind")
    last = len(seen) - 1 - seen[::-1].index("painter")
    assert "painter released" in seen[last:]


def test_the_command_line_says_where(project: Project) -> None:
    with pytest.raises(ConfigError, match="where: Input should be 'here' or 'ray'"):
        collect(project, on="slurm")
    with pytest.raises(ConfigError, match="address is 'auto', which is of a Ray cluster; set where to 'ray'"):
        collect(project, address="auto")
    with pytest.raises(WorkersError, match=r"the Ray cluster at 127\.0\.0\.1:9 cannot be used .*; start it"):
        collect(project, ["trac"], on="ray", address="127.0.0.1:9")


def test_what_encoders_see_is_only_looked_at_for_what_was_asked(project: Project) -> None:
    collect(project, benchmarks=["trac", *SETS])
    assert not (project.paths.state / "features").exists()


def test_one_model_or_one_benchmark(project: Project) -> None:
    whole = to_make(project)
    collect(project, models=["blind"])
    rest = to_make(project)
    assert rest["models.blind"] == 0
    assert rest["models.regions_coarse"] == whole["models.regions_coarse"]
    assert 0 < rest["judge rubric"] < whole["judge rubric"]
    collect(project, benchmarks=["genception"])
    after = to_make(project)
    assert 0 < after["models.regions_coarse"] < rest["models.regions_coarse"]
    assert after["judge rubric"] == rest["judge rubric"]


def test_what_is_not_needed_is_not_looked_at(project: Project) -> None:
    params = yaml.safe_load((project.root / "params.yaml").read_text(encoding="utf-8"))
    params["generators"] = {"gone": {"provider": "diffusers", "path": "gone"}}
    params["run"] |= {"generators": ["gone"], "judge": "gpt_4_1"}
    (project.root / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    collect(Project(project.root), benchmarks=["trac"])
    with pytest.raises(ConfigError, match="'gone' is no folder here"):
        collect(Project(project.root), benchmarks=["genception"])


def test_nothing_stays_in_memory(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    released: list[str] = []
    noting: Callable[[Blind], None] = lambda model: released.append(model.provider)  # noqa: E731
    monkeypatch.setattr(Blind, "release", noting)
    collect(project, benchmarks=["trac"])
    assert released == ["blind"]


def test_what_is_not_there_is_named(project: Project) -> None:
    with pytest.raises(ConfigError, match="benchmark 'genceptoin' is unknown; did you mean 'genception'"):
        collect(project, benchmarks=["genceptoin"])
    with pytest.raises(ConfigError, match="selected model 'regions_fine' is unknown; did you mean 'regions_coarse'"):
        collect(project, models=["regions_fine"])
    (project.paths.dataset("my_images")).rename(project.root / "elsewhere")
    with pytest.raises(StoreError, match="dataset my_images is not built yet; run 'dvc repro dataset@my_images'"):
        collect(project)

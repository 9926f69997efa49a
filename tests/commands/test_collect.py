"""Everything that is asked, in one process: the stages that follow ask nothing."""

import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from driftledger.collect.ray import WorkersError
from driftledger.commands import stages
from driftledger.commands.collect import collect, plan
from driftledger.core.errors import ConfigError, StoreError
from driftledger.demo.encoders.layout import LayoutEncoder
from driftledger.demo.models.blind import Blind
from driftledger.demo.models.rubric import Rubric
from driftledger.project.project import Project
from tests.conftest import draw
from tests.support.labelled import Item, write_labelled
from tests.support.openai_server import ChatAnswer, OpenAIServer
from tests.support.params import default_params

SETS = {"mm_sap": "scenes_mm_sap", "mm_vet": "scenes_mm_vet"}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Two models and a generator over drawn images, a labelled dataset and two question sets, all of them built."""
    for number in range(3):
        draw(tmp_path / "my_images" / f"{number}.png", number)
    params = default_params()
    params["datasets"] = {
        "my_images": {"provider": "image_folder", "path": str(tmp_path / "my_images")},
        "colours": {"provider": "arrangements", "labelled": True},
    }
    params["question_sets"] = {
        name: {"provider": "scenes", "protocol": protocol, "count": 13} for protocol, name in SETS.items()
    }
    params["run"] |= {"datasets": ["my_images", "colours"], "genception": ["my_images"], "fidelity": ["my_images"]}
    params["run"] |= {"trac": ["colours"], "descriptions": ["features"], "question_sets": list(SETS.values())}
    params["run"] |= {protocol: [name] for protocol, name in SETS.items()} | {"mme": []}
    params["run"] |= {"models": ["blind", "regions_coarse"], "generators": ["painter"]}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    project = Project(tmp_path)
    stages.dataset(project, "my_images")
    colours = [
        Item(f"{split}{red}", f"c{red}", split, (red, 0, 0)) for split in ("support", "test") for red in (9, 200)
    ]
    write_labelled(project.paths.dataset("colours"), colours)
    for name in SETS.values():
        stages.question_set(project, name)
    return project


def to_make(project: Project) -> dict[str, int]:
    return {name: calls.to_make for name, calls in plan(Project(project.root)).items()}


def asks_nobody(*_: Any) -> None:
    raise AssertionError("asked once more")


def write_all(project: Project, model: str) -> None:
    drawn = ["my_images", model, "painter"]
    stages.run_stage(project, "genception", "witness", ["my_images"])
    for benchmark, stage in (("genception", "chain"), ("fidelity", "redraw")):
        stages.run_stage(project, benchmark, stage, drawn)
        stages.run_stage(project, benchmark, benchmark, [*drawn, "layout"])
    stages.run_stage(project, "trac", "describe", ["colours", model, "features"])
    for protocol, name in SETS.items():
        for stage in ("answer", "grade"):
            stages.run_stage(project, protocol, stage, [name, model])


def test_stages_find_in_the_store_what_was_collected(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    assert min(to_make(project).values()) > 0
    collect(project)
    assert set(to_make(project).values()) == {0}
    monkeypatch.setattr(Blind, "respond", asks_nobody)
    monkeypatch.setattr(Rubric, "respond", asks_nobody)
    write_all(Project(project.root), "blind")


def test_scores_find_in_the_store_what_the_encoder_saw(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    collect(project)
    monkeypatch.setattr(LayoutEncoder, "encode_images", asks_nobody)
    write_all(Project(project.root), "blind")
    write_all(Project(project.root), "regions_coarse")


def test_collected_first_or_not_the_files_are_the_same(project: Project) -> None:
    def written() -> dict[str, bytes]:
        folders = [project.root / "data", project.root / "reports" / "scores"]
        files = [path for folder in folders for path in folder.rglob("*") if "regions_coarse" in str(path)]
        return {str(path): path.read_bytes() for path in files if path.is_file()}

    write_all(project, "regions_coarse")
    before = written()
    assert any("scores/fidelity" in path for path in before)
    shutil.rmtree(project.paths.state)
    collect(project)
    write_all(Project(project.root), "regions_coarse")
    assert written() == before


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


def test_models_behind_services_are_asked_side_by_side(project: Project) -> None:
    """Each of two services answers only once the other has been asked, and a local model computes meanwhile."""
    pytest.importorskip("openai")
    asked = {"first": threading.Event(), "second": threading.Event()}

    def says(name: str, other: str) -> Callable[[dict[str, Any]], ChatAnswer]:
        def reply(request: dict[str, Any]) -> ChatAnswer:
            asked[name].set()
            assert asked[other].wait(60)
            return ChatAnswer("a red square")

        return reply

    with OpenAIServer(reply=says("first", "second")) as first, OpenAIServer(reply=says("second", "first")) as second:
        params = yaml.safe_load((project.root / "params.yaml").read_text(encoding="utf-8"))
        for name, server in (("first", first), ("second", second)):
            params["models"][name] = {
                **{"provider": "openai", "model": "vision-1", "base_url": server.base_url, "api_key_env": None}
            }
        params["run"]["models"] = ["first", "blind", "second"]
        (project.root / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
        collect(Project(project.root), benchmarks=["trac", "mm_vet"])
        counts = [len(server.requests) for server in (first, second)]
        assert counts[0] == counts[1] > 4
        collect(Project(project.root), benchmarks=["trac", "mm_vet"])
        assert [len(server.requests) for server in (first, second)] == counts
    with Project(project.root).store(writes=False) as store:
        assert {row.parts["role"] for row in store.rows()} == {"describe", "answer", "grade"}

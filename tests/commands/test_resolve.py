"""``data/resolved.json``: everything that the pipelines depend on is in it, whichever file an entry is from."""

import json
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from driftledger.benchmarks.registry import benchmark, benchmarks
from driftledger.collect.observations import Observed, write_observations
from driftledger.commands import resolve as module
from driftledger.commands.resolve import resolve
from driftledger.core.errors import ConfigError
from driftledger.project.project import Project
from tests.conftest import REPOSITORY, draw
from tests.support.params import DEFAULT, default_params

Params = dict[str, Any]


@pytest.fixture
def resolved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Params], object]], Params]:
    """What is noted for the repository's settings after a change."""

    monkeypatch.chdir(tmp_path)  # folders of images are below the top folder

    def note(change: Callable[[Params], object]) -> Params:
        params = default_params()
        params["run"] |= {"datasets": ["my_images"], "genception": ["my_images"], "fidelity": ["my_images"], "trac": []}
        change(params)
        (tmp_path / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
        if not (tmp_path / "my_images").is_dir():
            draw(tmp_path / "my_images" / "0.png", 0)
        resolve(Project(tmp_path))
        noted: Params = json.loads((tmp_path / "data" / "resolved.json").read_bytes())
        return noted

    return note


def dug(noted: Params, key: str) -> Any:
    for part in key.split("."):
        noted = noted[part]
    return noted


def expected(root: Path) -> Iterator[str]:
    """Every key of it that a stage of the selection depends on, in all pipelines."""
    project = Project(root)
    params = yaml.safe_load((root / "params.yaml").read_text(encoding="utf-8"))
    for spec, keys in project.selected.scores:
        stages = yaml.safe_load((REPOSITORY / "pipelines" / spec.name / "dvc.yaml").read_text(encoding="utf-8"))
        for stage in stages["stages"].values():
            for each in stage["params"]:
                for key in each["data/resolved.json"] if isinstance(each, dict) else ():
                    for word, name in keys.items():
                        key = key.replace(f"${{item.{word}}}", name)
                    yield re.sub(r"\$\{(\w+)\.(\w+)\}", lambda found: params[found[1]][found[2]], key)
    top = yaml.safe_load((REPOSITORY / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    for word in ("dataset", "question_set"):
        for name in params["run"][f"{word}s"]:
            for key in top[word]["params"][0]["data/resolved.json"]:
                yield key.replace(f"${{item.{word}}}", name)
    yield from top["report"]["params"][1]["data/resolved.json"]
    yield from top["correlation"]["params"][1]["data/resolved.json"]


OBSERVATIONS = "observations"
"""Which are empty as long as nothing was asked twice."""
EMPTY = {OBSERVATIONS, "named.genception.writer"}
"""And of nobody, as long as no chain begins with a text."""


def test_what_was_seen_of_components_is_noted(
    tmp_path: Path, resolved: Callable[[Callable[[Params], object]], Params]
) -> None:
    assert resolved(lambda params: None)[OBSERVATIONS] == {}
    write_observations(Project(tmp_path).paths.observations, {"f": Observed(name="seer", asked_again=2, other=1)})
    assert resolved(lambda params: None)[OBSERVATIONS] == {"f": {"name": "seer", "asked_again": 2, "other": 1}}


def test_what_another_process_resolves_meanwhile_is_not_overtaken(
    tmp_path: Path, resolved: Callable[[Callable[[Params], object]], Params], monkeypatch: pytest.MonkeyPatch
) -> None:
    noted = resolved(lambda params: None)
    project, begun = Project(tmp_path), threading.Event()
    monkeypatch.setattr(module, "resolved", lambda project: begun.set() or noted)
    with ThreadPoolExecutor(1) as pool:
        with project.only_one(project.paths.resolved):
            project.paths.resolved.unlink()
            running = pool.submit(resolve, project)
            assert not begun.wait(0.5)
            assert not project.paths.resolved.exists()
        running.result()
    assert json.loads(project.paths.resolved.read_bytes()) == noted


def test_every_stage_finds_what_it_depends_on(tmp_path: Path) -> None:
    shutil.copy(DEFAULT, tmp_path)
    resolve(Project(tmp_path))
    noted = json.loads((tmp_path / "data" / "resolved.json").read_bytes())
    keys = set(expected(tmp_path))
    assert len(keys) > 50
    assert [key for key in keys - EMPTY if not dug(noted, key)] == []


def test_what_only_the_catalogue_has_is_there_too(
    tmp_path: Path, resolved: Callable[[Callable[[Params], object]], Params]
) -> None:
    def change(params: Params) -> None:
        for section in ("models", "generators", "encoders", "question_sets", "descriptions"):
            del params[section]

    noted = resolved(change)
    assert [key for key in set(expected(tmp_path)) - EMPTY if not dug(noted, key)] == []
    assert noted["settings"]["models"]["regions_fine"]["detail"] == "fine"
    assert noted["settings"]["datasets"]["my_images"]["path"] == "my_images"


def test_settings_are_those_that_can_change_an_output(
    resolved: Callable[[Callable[[Params], object]], Params],
) -> None:
    def change(params: Params) -> None:
        params["run"]["models"] = ["gpt_4o"]

    noted = resolved(change)
    said = noted["settings"]["models"]["gpt_4o"]
    assert (said["provider"], said["model"], said["max_tokens"]) == ("openai", "gpt-4o-2024-05-13", 512)
    assert not {"prices", "limits"} & said.keys()
    assert noted["settings"]["generators"]["painter"]["longest_side"] == 256


def test_a_default_that_is_written_out_changes_nothing(
    resolved: Callable[[Callable[[Params], object]], Params],
) -> None:
    plain = resolved(lambda params: None)
    assert resolved(lambda params: params["models"]["blind"].update(batch_size=16)) == plain


def test_a_changed_setting_changes_its_entry_alone(resolved: Callable[[Callable[[Params], object]], Params]) -> None:
    before = resolved(lambda params: None)
    after = resolved(lambda params: params["models"]["regions_fine"].update(detail="medium"))
    assert after["settings"]["models"]["regions_fine"].pop("detail") == "medium"
    assert before["settings"]["models"]["regions_fine"].pop("detail") == "fine"
    assert after["models"].pop("regions_fine") != before["models"].pop("regions_fine")
    witnesses = [noted["named"]["genception"]["cross_check"] for noted in (before, after)]
    assert witnesses[0].pop("models.regions_fine") != witnesses[1].pop("models.regions_fine")
    assert after["entries"].pop("models.regions_fine") != before["entries"].pop("models.regions_fine")
    assert after == before


def test_a_changed_image_changes_its_dataset_alone(
    tmp_path: Path, resolved: Callable[[Callable[[Params], object]], Params]
) -> None:
    before = resolved(lambda params: None)
    draw(tmp_path / "my_images" / "0.png", 1)
    after = resolved(lambda params: None)
    assert after["datasets"].pop("my_images") != before["datasets"].pop("my_images")
    assert after == before


def test_a_benchmark_that_goes_over_nothing_is_left_out(
    resolved: Callable[[Callable[[Params], object]], Params],
) -> None:
    def change(params: Params) -> None:
        params["run"] |= {"mm_vet": [], "fidelity": []}

    noted = resolved(change)
    assert noted["judge"] == "none"
    assert "rubric" not in noted["models"]
    assert noted["beside"] == {}
    assert noted["code"].keys() == {"dataset", "question_set", "report", "correlation", "genception", "mm_sap", "mme"}
    assert "elements" not in noted["settings"]["descriptions"]


def test_peoples_ratings_are_noted_by_their_bytes(
    tmp_path: Path, resolved: Callable[[Callable[[Params], object]], Params]
) -> None:
    def change(params: Params) -> None:
        params["fidelity"]["ratings"] = "ratings.csv"

    with pytest.raises(ConfigError, match=r"fidelity\.ratings in params\.yaml is ratings\.csv, which is missing"):
        resolved(change)
    (tmp_path / "ratings.csv").write_text("rating\n", encoding="utf-8")
    first = resolved(change)["beside"]["fidelity"]["ratings"]
    (tmp_path / "ratings.csv").write_text("rating\n5\n", encoding="utf-8")
    assert first != resolved(change)["beside"]["fidelity"]["ratings"] != "none"
    assert resolved(lambda params: None)["beside"] == {"fidelity": {"ratings": "none"}}


def test_each_stage_has_the_digest_of_its_own_code(resolved: Callable[[Callable[[Params], object]], Params]) -> None:
    code = resolved(lambda params: params["run"].update(datasets=["my_images", "digits"], trac=["digits"]))["code"]
    scoring = [code[spec.name][spec.scores.name] for spec in benchmarks()]
    assert len({*scoring}) == len(scoring)
    answers = {code[name]["answer"] for name in ("mm_sap", "mm_vet", "mme")}
    assert len(answers) == 1  # they ask alike, by the same code
    assert code["dataset"]["my_images"] != code["dataset"]["digits"]
    assert len(set(code["question_set"].values())) == 3  # each has the rules of its benchmark
    assert {*code["genception"]} == {stage.name for stage in benchmark("genception").stages[1:]}


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The modules whose code is parsed for stages, in order."""
    seen: list[str] = []
    digest = module.code_digest
    monkeypatch.setattr(module, "code_digest", lambda *targets: seen.append(targets[0]) or digest(*targets))
    return seen


def test_code_that_is_what_it_was_is_not_parsed_again(
    resolved: Callable[[Callable[[Params], object]], Params], parsed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = resolved(lambda params: None)["code"]
    assert len(parsed) == 2
    assert resolved(lambda params: None)["code"] == first
    assert len(parsed) == 2
    assert (
        resolved(lambda params: params["run"].update(mme=[], question_sets=[], mm_sap=[], mm_vet=[]))["code"] != first
    )
    assert len(parsed) == 4
    monkeypatch.setattr(module, "own_code", lambda: "another")
    assert resolved(lambda params: None)["code"] == first
    assert len(parsed) == 6


def test_code_of_others_is_parsed_each_time(
    resolved: Callable[[Callable[[Params], object]], Params], parsed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    places = module.provider_place

    def elsewhere(section: str, provider: str) -> str:
        return "tests.support.photos:Photos" if provider == "image_folder" else places(section, provider)

    monkeypatch.setattr(module, "provider_place", elsewhere)
    for times in (2, 4):
        resolved(lambda params: None)
        assert len(parsed) == times

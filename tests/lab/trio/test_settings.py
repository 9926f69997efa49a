"""``trio/params.yaml``: it loads, and what is wrong in one is one sentence."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from driftledger.core.errors import ConfigError
from driftledger.project.catalogue import CatalogueEntry
from driftledger.project.settings import parse_settings
from lab.trio.settings import FOLDER, choice_prompt, load_trio, ways_to_ask, ways_to_tell
from lab.validity.stages import climb, of_another_mix
from tests.conftest import REPOSITORY
from tests.support.params import DEFAULT, default_settings

Tree = dict[str, Any]


@pytest.fixture
def written(tmp_path: Path) -> Callable[[Callable[[Tree], object]], Path]:
    """Write a changed copy of the settings, and return its project's folder."""

    def write(change: Callable[[Tree], object]) -> Path:
        content = yaml.safe_load((REPOSITORY / FOLDER / "params.yaml").read_text(encoding="utf-8"))
        change(content)
        return with_text(tmp_path, yaml.safe_dump(content))

    return write


def with_text(root: Path, text: str | bytes) -> Path:
    (root / FOLDER).mkdir()
    (root / FOLDER / "params.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    return root


def refused(root: Path) -> str:
    """The one sentence, behind the file's name."""
    with pytest.raises(ConfigError) as caught:
        load_trio(root)
    file, said = str(root / FOLDER / "params.yaml"), str(caught.value)
    assert said.startswith(file)
    assert "\n" not in said
    return said.removeprefix(file)


def test_the_shipped_settings_load() -> None:
    trio = load_trio(REPOSITORY)
    assert trio.describer.milestones.keys() == {"llava_early", "llava_middle"}
    assert trio.polish.milestones.keys() == {"llava_final"}
    assert trio.painter.milestones.keys() == {"sd_1", "sd_2"}
    for part in (trio.polish, trio.painter):
        assert max(part.milestones.values()) == part.course.steps


def test_every_checkpoint_is_in_the_catalogue() -> None:
    trio, settings = load_trio(REPOSITORY), default_settings()
    made = {*trio.describer.milestones, *trio.polish.milestones, *trio.painter.milestones, "clip", "vit"}
    sections = ("models", "generators", "encoders")
    entries = [entry for section in sections for entry in settings.entries(section).values()]
    paths = [str(entry.settings().get("path", "")) for entry in entries if isinstance(entry, CatalogueEntry)]
    assert {path.removeprefix(f"{FOLDER}/") for path in paths if path.startswith(f"{FOLDER}/")} == made


def test_steps_by_the_names_of_the_catalogue() -> None:
    trio = load_trio(REPOSITORY)
    for steps in (trio.models, trio.generators):
        assert [*steps.values()] == sorted(set(steps.values()))
    assert trio.models["trio_llava_final"] == trio.describer.course.steps + trio.polish.course.steps
    assert [*trio.models] == ["trio_llava_early", "trio_llava_middle", "trio_llava_final"]
    assert [*trio.generators] == ["trio_sd_1", "trio_sd_2"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda tree: tree["describer"]["milestones"].update(llava_middle=10**6, llava_early=1),
            "after the last of {steps} steps: {{'llava_middle': 1000000}}",
        ),
        (lambda tree: tree.update(sede=tree.pop("seed")), ": setting 'sede' is unknown; did you mean 'seed'? valid: "),
        (lambda tree: tree["pair"]["course"].update(stpes=3), "'stpes' is unknown; did you mean 'steps'? valid: "),
        (lambda tree: tree.pop("looker"), ": looker: Field required"),
        (lambda tree: tree.update(scenes=0), ": scenes: Input should be greater than or equal to 1 (got 0)"),
        (lambda tree: tree["pair"]["course"].update(rate=0), ": pair.course.rate: Input should be greater than 0"),
        (lambda tree: tree["pair"]["course"].update(memory=1), ": pair.course.memory: Input should be less than 1"),
        (lambda tree: tree["pair"]["course"].update(rate=float("nan")), ": pair.course.rate: Input should be a finite"),
        (lambda tree: tree["painter"]["milestones"].update({"../sd": 1}), ": painter.milestones.../sd"),
        (
            lambda tree: tree["painter"]["milestones"].update(sd_1="many"),
            ": painter.milestones.sd_1: Input should be a",
        ),
    ],
)
def test_what_is_wrong_is_one_sentence(
    written: Callable[[Callable[[Tree], object]], Path], change: Callable[[Tree], object], said: str
) -> None:
    steps = load_trio(REPOSITORY).describer.course.steps
    assert said.format(steps=steps) in refused(written(change))


def test_a_file_that_is_missing(tmp_path: Path) -> None:
    assert refused(tmp_path) == " is missing; run this in the top folder of the project"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("seed: [1", " is not YAML: while parsing a flow sequence"),
        (b"seed: \xff\n", " is not YAML: "),
        ("", ": Input should be a valid dictionary"),
        ("- seed\n", ": Input should be a valid dictionary"),
    ],
)
def test_a_file_that_is_no_settings(tmp_path: Path, text: str | bytes, said: str) -> None:
    assert refused(with_text(tmp_path, text)).startswith(said)


def test_what_training_asks_is_what_the_benchmarks_ask() -> None:
    settings, params = default_settings(), yaml.safe_load(DEFAULT.read_text(encoding="utf-8"))
    assert params["genception"]["describe_prompt"] in ways_to_ask(settings)
    assert not [way for way in ways_to_ask(settings) if "{" in way]
    assert ways_to_tell(settings) == [params["genception"]["generate_prompt"], params["fidelity"]["generate_prompt"]]
    assert all("{description}" in way for way in ways_to_tell(settings))
    assert choice_prompt(settings) == params["mm_sap"]["prompt"]


def test_a_way_to_describe_that_somebody_changed_is_what_is_trained() -> None:
    content = yaml.safe_load(DEFAULT.read_text(encoding="utf-8"))
    content["descriptions"]["features"] = {"prompt": "What shows that it is {category}?"}
    assert "What shows that it is shapes?" in ways_to_ask(parse_settings(content, "params.yaml"))


def test_one_recipe_may_leave_as_many_checkpoints_as_one_likes(
    written: Callable[[Callable[[Tree], object]], Path],
) -> None:
    steps = {f"llava_{steps:04}": steps for steps in (400, 500, 700, 1000, 1400, 1700, 2000, 2400)}

    def along_one_recipe(trio: Tree) -> None:
        trio["describer"]["milestones"] = steps
        trio["polish"] |= {"course": {"steps": 1, "rate": 0.0005, "memory": 0.98}, "milestones": {}}

    trio = load_trio(written(along_one_recipe))
    assert climb("models", trio.models) == tuple(f"trio_{name}" for name in steps)
    assert of_another_mix(trio) == ()

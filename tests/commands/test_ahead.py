"""What later stages ask is asked beside the one that runs: of embedded components, once, and to the same files."""

import shutil
from collections.abc import Callable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml

from driftledger.collect.store import StoredCall
from driftledger.commands import ahead, stages
from driftledger.commands.ahead import ALL, Share, collect_ahead
from driftledger.core.types import Conversation, Reply
from driftledger.demo.generators.painter import Painter
from driftledger.demo.models.blind import Blind
from driftledger.project.project import Project
from tests.conftest import Checkout, draw
from tests.support.params import default_params

SETS = {"mm_sap": "scenes_mm_sap", "mme": "scenes_mme"}
DATA = ["dataset@my_images", *(f"question_set@{name}" for name in SETS.values())]
ASKED = {
    "answer@scenes_mm_sap-blind": ("mm_sap", "answer"),
    "answer@scenes_mme-blind": ("mme", "answer"),
    "chain@my_images-blind-painter": ("genception", "chain"),
    "redraw@my_images-blind-painter": ("fidelity", "redraw"),
}
NOW = "describe@somebody"
ORDER = [*DATA, NOW, *ASKED]


class Elsewhere(Blind):
    """Says the same, and is nobody of ours."""

    provider: ClassVar[str] = "tests.commands.test_ahead:Elsewhere"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A model and a generator over drawn images and two question sets about the same scenes, all of them built."""
    for number in range(3):
        draw(tmp_path / "my_images" / f"{number}.png", number)
    params = default_params()
    params["datasets"] = {"my_images": {"provider": "image_folder", "path": str(tmp_path / "my_images")}}
    params["question_sets"] = {
        name: {"provider": "scenes", "protocol": protocol, "count": 13} for protocol, name in SETS.items()
    }
    params["genception"] |= {"iterations": 2, "cross_check": []}
    params["run"] |= {"datasets": ["my_images"], "genception": ["my_images"], "fidelity": ["my_images"], "trac": []}
    params["run"] |= {protocol: [name] for protocol, name in SETS.items()} | {"mm_vet": []}
    params["run"] |= {"question_sets": list(SETS.values()), "models": ["blind"], "generators": ["painter"]}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    project = Project(tmp_path)
    stages.dataset(project, "my_images")
    for name in SETS.values():
        stages.question_set(project, name)
    return project


def change(project: Project, of: Callable[[dict[str, Any]], None]) -> Project:
    path = project.root / "params.yaml"
    params = yaml.safe_load(path.read_text(encoding="utf-8"))
    of(params)
    path.write_text(yaml.safe_dump(params), encoding="utf-8")
    return Project(project.root, own_code=True)


def stored(project: Project) -> list[StoredCall]:
    with project.store() as store:
        return store.rows()


def write_all(project: Project) -> dict[str, bytes]:
    for name, (benchmark, stage) in ASKED.items():
        stages.run_stage(project, benchmark, stage, name.partition("@")[2].split("-"))
    files = [file for file in (project.root / "data").rglob("*") if file.is_file()]
    return {str(file): file.read_bytes() for file in files}


def after_data() -> int:
    return ORDER.index(NOW)


def ask(
    project: Project,
    order: Sequence[str] = ORDER,
    at: Callable[[], int] = after_data,
    *,
    pulls: bool = False,
    share: Share = ALL,
) -> list[str]:
    """Ask ahead; for which stages it was said, in order, that nothing is asked any more."""
    over: list[str] = []
    collect_ahead(project, order, at, over.append, pulls=pulls, share=share)
    return over


def test_the_stages_that_follow_ask_nobody_and_write_the_same(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = write_all(project)
    calls = {each.digest for each in stored(project)}
    shutil.rmtree(project.paths.state)
    ask(Project(project.root))
    assert {each.digest for each in stored(project)} == calls
    for component, method in ((Blind, "respond"), (Painter, "generate")):
        monkeypatch.setattr(component, method, asks_nobody)
    assert write_all(Project(project.root)) == before


def asks_nobody(*_: Any) -> None:
    raise AssertionError("asked once more")


def test_all_questions_about_an_image_are_asked_in_a_row(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    respond = Blind.respond

    def watched(model: Blind, conversations: Sequence[Conversation]) -> list[Reply]:
        seen.extend(image.sha256 for each in conversations if (image := each.last_image) is not None)
        return respond(model, conversations)

    monkeypatch.setattr(Blind, "respond", watched)
    ask(project, ORDER[:-2])
    assert len([*groupby(seen)]) == len(set(seen)) == 13
    assert len(seen) == len(stored(project))


def test_a_stage_that_has_begun_or_is_not_to_be_made_is_left_alone(project: Project) -> None:
    assert ask(project, ORDER, lambda: len(ORDER))[-len(ASKED) :] == [*ASKED]
    assert sorted(ask(project, [*DATA, NOW])) == sorted([*DATA, NOW])
    assert stored(project) == []
    last = ORDER[-1]
    ask(project, ORDER, lambda: ORDER.index(last))
    assert {each.parts["role"] for each in stored(project)} == {"describe", "generate"}
    assert {each.context.t for each in stored(project)} == {1}


def test_data_are_waited_for(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0, 0, 1, 2])
    waits: list[float] = []
    monkeypatch.setattr(ahead.time, "sleep", waits.append)
    ask(project, [DATA[0], NOW, ORDER[-1]], lambda: next(now))
    assert len(waits) == 2
    assert stored(project)


def test_several_share_the_images_and_together_ask_all_of_it(project: Project) -> None:
    ask(project)
    calls = {each.digest for each in stored(project)}
    shutil.rmtree(project.paths.state)
    shares: list[set[str]] = []
    for number in range(3):
        over = ask(Project(project.root), share=Share(number, 3))
        assert sorted(over) == sorted(ORDER)
        shares.append({each.digest for each in stored(project)}.difference(*shares))
    assert set.union(*shares) == calls
    assert all(shares)


def test_nobody_waits_for_data_of_which_another_stage_is_asked(project: Project) -> None:
    """The stage that is made now comes first, also where other questions about its images are not there yet."""
    first, later = "answer@scenes_mm_sap-blind", "answer@scenes_mme-blind"
    order = [DATA[0], DATA[1], "chain@my_images-blind-painter", first, DATA[2], later]
    at = [3]
    over: list[str] = []

    def note(stage: str) -> None:
        over.append(stage)
        if stage == first:
            assert {each.parts["role"] for each in stored(project)} == {"answer"}
            at[0] = 5

    collect_ahead(project, order, lambda: at[0], note, pulls=False)
    assert over[-2:] == ["chain@my_images-blind-painter", later] or over[-2:] == [
        later,
        "chain@my_images-blind-painter",
    ]
    assert over.index(first) < over.index(later)


@pytest.mark.parametrize(
    "of",
    [
        lambda params: params.update(collect={"where": "ray"}),
        lambda params: params["models"]["blind"].update(workers={"replicas": 2}),
        lambda params: params["models"]["blind"].update(provider=Elsewhere.provider),
    ],
    ids=["on Ray", "by replicas", "somebody else's"],
)
def test_nobody_else_is_asked(project: Project, of: Callable[[dict[str, Any]], None]) -> None:
    assert sorted(ask(change(project, of))) == sorted(ORDER)
    assert stored(project) == []


@pytest.mark.slow
def test_what_dvc_has_is_not_asked_again(evaluated: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside its folder, in its cache, or where it pulls from; the control is gone from all of them."""
    monkeypatch.chdir(evaluated.root)
    project = Project(evaluated.root)
    order = ["dataset@my_images", NOW, "chain@my_images-regions_medium-painter"]

    def calls(*, pulls: bool) -> int:
        shutil.rmtree(evaluated.root / ".driftledger", ignore_errors=True)
        ask(Project(project.root), order, lambda: 1, pulls=pulls)
        return len(stored(project))

    assert calls(pulls=False) == 0
    shutil.rmtree(evaluated.root / "data" / "chains")
    assert calls(pulls=False) == 0
    shutil.rmtree(evaluated.root / ".dvc" / "cache")
    assert calls(pulls=True) == 0
    assert calls(pulls=False) == 32


def test_nobody_waits_for_data_that_are_made_later(project: Project) -> None:
    """As where a stage is asked for by its name, before the one that makes its data."""
    [collected, *_], [dataset, *_] = ASKED, DATA
    late = [collected, dataset, *DATA[1:]]
    assert collected in ask(project, late, lambda: 0)
    assert not [each for each in stored(project) if each.role == "model"]

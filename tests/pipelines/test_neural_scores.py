"""The neural scores in Git, made anew here: other processors give other last bits, and now and then another token."""

import json
import re
import shutil
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import yaml

from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import Score
from driftledger.commands.collect import collect
from driftledger.project.resolve import resolve
from driftledger.core.files import read_json
from driftledger.project.presets import apply_preset
from driftledger.project.project import Project
from tests.conftest import REPOSITORY
from tests.support.evaluation import build, evaluate
from tests.support.params import DEFAULT

for library in ("torch", "transformers", "diffusers", "open_clip"):
    pytest.importorskip(library)

pytestmark = [pytest.mark.neural, pytest.mark.slow]

MODELS = ["trio_llava_early", "trio_llava_final"]
"""The one whose answers are the most arbitrary, and the one that others are compared with."""
NUMBER = re.compile(r"-?[0-9]+\.[0-9]+")


class Headline(NamedTuple):
    metrics: tuple[str, ...]
    tolerance: float
    """How far they may be off, in their own unit: GC goes from 0 to 1, MME up to 200, all others are percentages."""


HEADLINES = {
    "genception": Headline(("gc_at_1", "gc_at_2", "gc_at_3"), 0.002),
    "fidelity": Headline(("clip_s", "clip_s_i", "image_similarity", "ssim"), 0.2),
    "trac": Headline(("top1", "class_mean"), 1.1),  # one sample of 96
    "mm_sap": Headline(("score",), 0.5),
    "mm_vet": Headline(("total",), 0.5),
    "mme": Headline(("score",), 5),
}


def too_far(now: dict[str, Any], then: dict[str, Any]) -> Iterator[str]:
    """What is off between two score files of one run; a metric that one of them lacks is."""
    metrics, tolerance = HEADLINES[then["benchmark"]]
    for metric in metrics:
        new, old = (score["metrics"].get(metric) for score in (now, then))
        if (new is None) != (old is None) or (new is not None and abs(new - old) > tolerance):
            yield f"{metric} is {new}, in Git {old}"


def score(benchmark: str, **metrics: float) -> dict[str, Any]:
    return {"benchmark": benchmark, "metrics": metrics}


@pytest.mark.parametrize(
    ("then", "now", "said"),
    [
        (score("genception", gc_at_1=0.5, gc_at_2=0.4), score("genception", gc_at_1=0.5019, gc_at_2=0.3981), []),
        (score("genception", gc_at_3=0.5), score("genception", gc_at_3=0.503), ["gc_at_3 is 0.503, in Git 0.5"]),
        (score("trac", top1=50.0), score("trac", top1=48.0), ["top1 is 48.0, in Git 50.0"]),
        (score("mme", score=120.0, other=1.0), score("mme", score=116.0, other=9.0), []),
        (score("fidelity", clip_s=30.0), score("fidelity"), ["clip_s is None, in Git 30.0"]),
    ],
)
def test_only_headlines_that_are_too_far_away_are_named(
    then: dict[str, Any], now: dict[str, Any], said: list[str]
) -> None:
    assert list(too_far(now, then)) == said


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The preset ``neural`` with fewer models, evaluated in one process without DVC."""
    root = tmp_path_factory.mktemp("neural")
    shutil.copytree(REPOSITORY / "trio", root / "trio")
    shutil.copy(DEFAULT, root)
    apply_preset(root, "neural")
    params = yaml.safe_load((root / "params.yaml").read_text(encoding="utf-8"))
    params["run"]["models"] = MODELS
    (root / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    made = Project(root)
    resolve(made)
    build(made)
    collect(made)
    evaluate(made)
    return made


def test_the_scores_in_git_are_those_that_come_out_here(project: Project) -> None:
    made = sorted((project.root / "reports" / "scores").rglob("score.json"))
    assert len(made) == 2 * (2 * 2 + 2 * 2 + 2 + 3)  # chains, redrawings, descriptions by reader, questions
    wrong = []
    for path in made:
        place = path.relative_to(project.root)
        now, then = json.loads(path.read_bytes()), json.loads((REPOSITORY / place).read_bytes())
        wrong += [f"{place}: {said}" for said in too_far(now, then)]
    assert wrong == []


def metrics(project: Project, name: str, model: str, generator: str, encoder: str) -> dict[str, float]:
    keys = {"dataset": "arrangements", "model": model, "generator": generator, "encoder": encoder}
    return read_json(project.root / benchmark(name).scores.at(keys) / "score.json", Score).metrics


@pytest.mark.parametrize("generator", ["trio_sd_1", "trio_sd_2"])
@pytest.mark.parametrize("encoder", ["layout", "trio_clip"])
def test_the_metrics_rank_the_trained_model_above_the_untrained(project: Project, generator: str, encoder: str) -> None:
    early, final = (metrics(project, "genception", model, generator, encoder) for model in MODELS)
    for t in (1, 2, 3):
        assert final[f"gc_at_{t}_low"] > early[f"gc_at_{t}_high"]
    distance = {"layout": "frechet_layout", "trio_clip": "frechet_open_clip"}[encoder]
    assert final[f"{distance}_at_3"] < early[f"{distance}_at_3"]


def test_fidelity_through_a_clip_that_reads(project: Project) -> None:
    early, final = (metrics(project, "fidelity", model, "trio_sd_2", "trio_clip") for model in MODELS)
    assert final["clip_s"] > early["clip_s"]
    assert final["clip_s_i"] > early["clip_s_i"]

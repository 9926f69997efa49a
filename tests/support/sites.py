"""Pages of the report over a hand-written ledger."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from driftledger.benchmarks.score import Score
from driftledger.core.paths import Combination
from driftledger.project.project import Project
from driftledger.reports.correlation import PAIRS
from driftledger.reports.correlation.columns import our_columns
from driftledger.reports.correlation.pairs import pairs
from driftledger.reports.correlation.tables import pairs_csv
from driftledger.reports.site.build import write_site
from tests.support.description_ledgers import add_fidelity, add_trac, fidelity_score, trac_score
from tests.support.ledgers import add_stages, component, genception_score, lock_of, varied, write_ledger
from tests.support.question_ledgers import add_questions, question_score

MODELS = ("seer", "poet", "blind")
"""The last one is a control."""


@dataclass(frozen=True)
class Selecting(Project):
    """A project whose runs are given."""

    runs: Sequence[Combination] = ()

    @property
    def combinations(self) -> list[Combination]:
        return list(self.runs)


def as_control(score: Score) -> Score:
    return varied(score, model=component(score.model, provider="blind"))


def site_scores() -> list[Score]:
    """Of three models in four benchmarks; each worse than the one before."""
    scores = []
    for place, model in enumerate(MODELS):
        less = 0.25 * place
        values = {"gc_at_1": 0.9, "gc_at_2": 0.7, "gc_at_2_low": 0.65, "gc_at_2_high": 0.75}
        gc = {key: round(value - less, 3) for key, value in values.items()}
        of_model = [
            genception_score(
                model=model,
                metrics=gc | {"similarity_at_2": 0.6 - less},
                groups={"category": {"round": gc}, "group": {}},
            ),
            trac_score(model=model, metrics={"top1": 64.0 - place, "class_mean": 60.0 + place, "leak_rate": 25.0}),
            fidelity_score(model=model, metrics={"ssim": 28.25 + place}),
            question_score(model=model),
        ]
        scores += [as_control(score) for score in of_model] if model == "blind" else of_model
    return scores


def write_ledgers(root: Path, scores: Sequence[Score]) -> Project:
    """The files of these scores, the locks that name them, and the correlations."""
    chained = [score for score in scores if score.benchmark == "genception"]
    for score in chained:
        write_ledger(root, score)
    for score in chained:
        add_stages(root, lock_of(root, score)["stages"])
    for score in scores:
        if score.benchmark == "trac":
            add_trac(root, score)
        elif score.benchmark == "fidelity":
            add_fidelity(root, score)
        elif score.benchmark != "genception":
            add_questions(root, score)
    models = dict.fromkeys(score.model for score in scores)
    project = Selecting(root, runs=[Combination(model, "brush", "eye") for model in models])
    file = project.paths.reports / PAIRS
    file.write_text(pairs_csv(list(pairs(list(our_columns(scores)), 0.95))), encoding="utf-8")
    return project


def written_site(root: Path, scores: Sequence[Score] | None = None) -> Path:
    """The folder of the site, beside the ledger in ``root``."""
    scores = scores or site_scores()
    project = write_ledgers(root, scores)
    write_site(root / "site", project, scores)
    return root / "site"

"""What people look at: the report, and MLflow."""

from itertools import product
from pathlib import Path

from driftledger.benchmarks._questions.records import QuestionScore
from driftledger.benchmarks.description_records import FidelityScore, TracScore
from driftledger.benchmarks.genception.records import ScoreFile
from driftledger.core.errors import StoreError
from driftledger.core.files import read_json, write_bytes
from driftledger.ledger.lineage import read_all_evidence
from driftledger.project.project import Project
from driftledger.reports.chains_picture import draw_chains
from driftledger.reports.leaderboard import write_leaderboard

PICTURED = 4
"""Models in the picture of chains, the first of the selection."""


def report(project: Project) -> None:
    """Write the leaderboard of what is selected, and a picture of one sample's chains."""
    target = project.layout.leaderboard
    with project.only_one(target):
        scores = [_current(project, read_json(path, ScoreFile)) for path in _drift_scores(project)]
        asked = [read_json(path, QuestionScore) for path in _question_scores(project)]
        told = [read_json(path, TracScore) for path in _trac_scores(project)]
        redrawn = [read_json(path, FidelityScore) for path in _fidelity_scores(project)]
        write_leaderboard(target, scores, project.settings.genception.iterations, asked, told, redrawn)
        run = project.settings.run
        picture = draw_chains(
            project.layout, run.genception[:1], run.models[:PICTURED], run.generators[0], run.encoders[0]
        )
        write_bytes(project.layout.chains_picture, picture)


def _current(project: Project, score: ScoreFile) -> ScoreFile:
    if score.inputs.chain.iterations != project.settings.genception.iterations:
        raise StoreError(
            f"the score of {score.model} on {score.dataset} is of another T than params.yaml; run 'dvc repro'"
        )
    return score


def _drift_scores(project: Project) -> list[Path]:
    """The score file of every selected combination, by dataset, in the order of ``run:``; so do those below."""
    datasets = project.settings.run.genception
    return [project.layout.scores("genception", dataset, each) for dataset in datasets for each in project.combinations]


def _fidelity_scores(project: Project) -> list[Path]:
    datasets = project.settings.run.fidelity
    return [project.layout.scores("fidelity", dataset, each) for dataset in datasets for each in project.combinations]


def _trac_scores(project: Project) -> list[Path]:
    run = project.settings.run
    names = product(run.trac, run.models, run.descriptions, run.text_encoders)
    return [project.layout.trac_scores(*each) for each in names]


def _question_scores(project: Project) -> list[Path]:
    run = project.settings.run
    return [project.layout.question_scores(*each) for each in product(run.question_sets, run.models)]


def track(project: Project) -> str:
    """Show what is selected in MLflow, and say in a line what that took."""
    from driftledger.tracking import project as tracking  # MLflow takes a second to import

    evidence = read_all_evidence(project.layout, project.selected, project.combinations)
    return tracking.show(project.layout, evidence, project.settings.tracking)

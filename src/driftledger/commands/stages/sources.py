"""What everything else stands on: the names that are selected, datasets and question sets."""

from driftledger.core.canonical import sha256_file, sha256_of
from driftledger.core.errors import ConfigError
from driftledger.core.files import write_json
from driftledger.data.datasets.build import build
from driftledger.data.question_sets.build import build as build_question_set
from driftledger.project.project import Project
from driftledger.project.settings import Settings


def resolve(project: Project) -> None:
    """Note what every selected name stands for now: a source's digest, a component's fingerprint.

    Other stages depend on their entry in it, so that DVC sees a changed image, a replaced weight file or a new version
    of a component, and nothing else.
    """
    settings = project.settings
    noted = {
        "datasets": {name: settings.dataset(name).source_digest() for name in settings.run.datasets},
        "question_sets": {name: settings.question_set(name).source_digest() for name in settings.run.question_sets},
        "prompts": _prompts(settings),
        "judge": settings.model(settings.run.judge).fingerprint if settings.needs_judge else "none",
        "models": {name: settings.model(name).fingerprint for name in settings.run.models},
        "generators": {name: settings.generator(name).fingerprint for name in settings.run.generators},
        "encoders": {
            name: settings.encoder(name).fingerprint for name in (*settings.run.encoders, *settings.run.text_encoders)
        },
        "examples": {name: settings.examples_fingerprint(name) for name in settings.run.descriptions},
        "ratings": _ratings_digest(project),
    }
    write_json(project.layout.resolved, noted)


def _prompts(settings: Settings) -> dict[str, str]:
    """Their digests: ``dvc.lock`` repeats what a stage depends on for every stage, and DVC reads it for each."""
    genception, questions = settings.genception, settings.questions
    return {
        "genception": sha256_of([genception.describe_prompt, genception.generate_prompt]),
        "grade": sha256_of(questions.grade_prompt),
    }


def _ratings_digest(project: Project) -> str:
    ratings = project.settings.fidelity.ratings
    if ratings is None:
        return "none"
    if not (project.root / ratings).is_file():
        raise ConfigError(f"fidelity.ratings in params.yaml is {ratings}, which is missing; mend it or set null")
    return sha256_file(project.root / ratings)


def dataset(project: Project, name: str) -> None:
    """Read, check and store one dataset."""
    target = project.layout.dataset(name)
    with project.only_one(target):
        build(name, project.settings.dataset(name), target)


def question_set(project: Project, name: str) -> None:
    """Read, check and store one question set."""
    target = project.layout.question_set(name)
    with project.only_one(target):
        build_question_set(name, project.settings.question_set(name), target)

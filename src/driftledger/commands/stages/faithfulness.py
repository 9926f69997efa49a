"""Fidelity: descriptions drawn again, and how true both are to their images."""

from driftledger.benchmarks.fidelity import redraw as redrawing
from driftledger.benchmarks.fidelity import score as faithfulness
from driftledger.benchmarks.fidelity.ratings import Rating, read_ratings
from driftledger.benchmarks.genception.chain import ChainProtocol
from driftledger.commands.stages.genception import collect_chains
from driftledger.components.base import Generator, Model
from driftledger.core.files import write_json, write_jsonl
from driftledger.core.paths import Combination, samples_file
from driftledger.data.records import read_samples
from driftledger.project.project import Project


def redraw(project: Project, dataset: str, model: str, generator: str) -> None:
    """Collect one description and one redrawing per image."""
    source, target = project.layout.dataset(dataset), project.layout.redraws(dataset, model, generator)
    protocol = redraw_protocol(project, dataset, project.model(model), project.generator(generator))
    samples, least = redrawing.to_redraw(read_samples(source)), project.settings.fidelity.min_coverage
    collect_chains(project, protocol, samples, target, (model, generator), ("fidelity", least))


def fidelity(project: Project, dataset: str, combination: Combination) -> None:
    """Score how faithful one combination's descriptions and redrawings of a dataset are."""
    settings, layout = project.settings, project.layout
    target = layout.scores("fidelity", dataset, combination)
    with project.only_one(target):
        score_file, rows = faithfulness.score(
            layout.dataset(dataset),
            layout.redraws(dataset, combination.model, combination.generator),
            combination,
            project.encoder(combination.encoder),
            settings.fidelity,
            ratings(project),
            settings.run.seed,
            project.features(),
        )
        write_jsonl(samples_file(target), rows)
        write_json(target, score_file)


def redraw_protocol(project: Project, dataset: str, model: Model, generator: Generator) -> ChainProtocol:
    """How this model describes, and this generator redraws, the images of a dataset that is built.

    Raises:
        ConfigError: the prompt wants a general category, and the dataset has none.
    """
    settings = project.settings.fidelity
    asked = settings.description, project.settings.description(settings.description)
    card, seed = project.dataset_card(dataset), project.settings.run.seed
    return redrawing.redraw_protocol(card, model, generator, asked, settings.generate_prompt, seed)


def ratings(project: Project) -> list[Rating]:
    """What people think of descriptions.

    Raises:
        ConfigError: the sheet cannot be read.
    """
    path = project.settings.fidelity.ratings
    return [] if path is None else read_ratings(project.root / path)

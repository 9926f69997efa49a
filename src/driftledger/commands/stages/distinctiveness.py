"""TRAC: descriptions of labelled images, and how distinctive they are."""

from driftledger.benchmarks.trac import describe as describing
from driftledger.benchmarks.trac import score as distinctiveness
from driftledger.benchmarks.trac.describe import DescribeProtocol, check_splits
from driftledger.benchmarks.trac.examples import Examples
from driftledger.commands.stages.spending import say_spent
from driftledger.components.base import Model
from driftledger.core.files import new_folder, write_json, write_jsonl
from driftledger.core.paths import samples_file
from driftledger.data.records import read_samples
from driftledger.project.project import Project


def describe(project: Project, dataset: str, model: str, description: str) -> None:
    """Collect one model's descriptions of a labelled dataset."""
    source, target = project.layout.dataset(dataset), project.layout.descriptions(dataset, model, description)
    protocol = describe_protocol(project, dataset, project.model(model), description)
    with project.only_one(target), project.store() as store:
        title = f"{dataset} · {model} · {description}"
        collected = describing.collect_stored(protocol, read_samples(source), store, title)
        say_spent(protocol.model, store)
        describing.check_failures(collected, project.settings.trac.min_coverage)
        with new_folder(target) as folder:
            describing.write_descriptions(folder, protocol, model, collected)


def trac(project: Project, dataset: str, model: str, description: str, encoder: str) -> None:
    """Score how distinctive a model's descriptions of a labelled dataset are."""
    settings, layout = project.settings, project.layout
    target = layout.trac_scores(dataset, model, description, encoder)
    with project.only_one(target):
        score_file, rows = distinctiveness.score(
            layout.dataset(dataset),
            layout.descriptions(dataset, model, description),
            encoder,
            project.encoder(encoder),
            settings.trac,
            settings.run.seed,
        )
        write_jsonl(samples_file(target), rows)
        write_json(target, score_file)


def describe_protocol(project: Project, dataset: str, model: Model, description: str) -> DescribeProtocol:
    """How this model describes the samples of a labelled dataset that is built.

    Raises:
        ConfigError: there is no such description, or the prompt wants a general category and the dataset has none.
        DataError: the dataset has no support and test set.
    """
    settings, card = project.settings.description(description), project.dataset_card(dataset)
    check_splits(card)
    return DescribeProtocol(
        card, model, description, settings, _examples(project, description), project.settings.run.seed
    )


def _examples(project: Project, description: str) -> Examples | None:
    settings = project.settings
    shown = settings.description(description).demonstrations
    project.check_resolved("examples", description, settings.examples_fingerprint(description))
    if shown is None:
        return None
    encoder = (shown.encoder, settings.encoder(shown.encoder)) if shown.encoder else None
    by = (shown.by, settings.model(shown.by)) if shown.by else None
    return Examples(shown.choose, shown.shots, encoder, by)

"""GenCeption: chains, and how far they drift."""

from collections.abc import Sequence
from pathlib import Path

from driftledger.benchmarks.genception import chain as chains
from driftledger.benchmarks.genception import drift as drifts
from driftledger.commands.stages.spending import say_spent
from driftledger.components.base import Generator, Model
from driftledger.core.files import new_folder, write_json, write_jsonl
from driftledger.core.paths import Combination, samples_file
from driftledger.core.types import Sample
from driftledger.data.records import read_samples
from driftledger.project.project import Project


def chain(project: Project, dataset: str, model: str, generator: str) -> None:
    """Collect one model's and generator's chains over a dataset."""
    source, target = project.layout.dataset(dataset), project.layout.chain(dataset, model, generator)
    protocol = chain_protocol(project, dataset, project.model(model), project.generator(generator))
    least = project.settings.genception.min_coverage
    collect_chains(project, protocol, read_samples(source), target, (model, generator), ("genception", least))


def collect_chains(
    project: Project,
    protocol: chains.ChainProtocol,
    samples: Sequence[Sample],
    target: Path,
    names: tuple[str, str],
    required: tuple[str, float],
) -> None:
    """Collect chains and write them to ``target``.

    Args:
        names: of the model and the generator.
        required: which benchmark it is for, and its ``min_coverage``.
    """
    benchmark, min_coverage = required
    with project.only_one(target), project.store() as store:
        collected = chains.collect(protocol, samples, store, " · ".join((protocol.dataset.name, *names)))
        for component in (protocol.model, protocol.generator):
            say_spent(component, store)
        chains.check_failures(collected, min_coverage, benchmark)
        with new_folder(target) as folder:
            chains.write_chains(folder, protocol, names, collected)


def drift(project: Project, dataset: str, combination: Combination) -> None:
    """Score one combination's chains over a dataset."""
    settings, layout = project.settings, project.layout
    target = layout.scores("genception", dataset, combination)
    with project.only_one(target):
        score_file, rows = drifts.score(
            layout.dataset(dataset),
            layout.chain(dataset, combination.model, combination.generator),
            combination,
            project.encoder(combination.encoder),
            settings.genception,
            settings.run.seed,
            project.features(),
        )
        write_jsonl(samples_file(target), rows)
        write_json(target, score_file)


def chain_protocol(project: Project, dataset: str, model: Model, generator: Generator) -> chains.ChainProtocol:
    """How a chain of this model and generator goes over a dataset that is built."""
    settings = project.settings.genception
    return chains.ChainProtocol(
        dataset=project.dataset_card(dataset),
        model=model,
        generator=generator,
        iterations=settings.iterations,
        describe_prompt=settings.describe_prompt,
        generate_prompt=settings.generate_prompt,
        run_seed=project.settings.run.seed,
    )

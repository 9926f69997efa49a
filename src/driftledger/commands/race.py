"""``run --until ranked``: more images until models are told apart.

Each round is a project of its own in the state's folder, with ``first: n`` in memory. What is
published, ``params.yaml`` included, is written once the race is over.
"""

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from driftledger.benchmarks.base.benchmark import Benchmark
from driftledger.benchmarks.registry import benchmark, benchmark_names
from driftledger.collect.features import release_all
from driftledger.commands.collect import collect, restore, tasks_of
from driftledger.commands.stages import data, score
from driftledger.core.errors import ConfigError, DriftledgerError, first_few
from driftledger.core.files import read_json, write_json, write_text
from driftledger.core.paths import STATE, Keys
from driftledger.core.text import for_line, say
from driftledger.data.datasets.base import first_of
from driftledger.data.records import (
    DATASET_CARD,
    ONE_CATEGORY,
    DatasetCard,
    read_samples,
)
from driftledger.ledger.race import BENCHMARK, RACE, Race
from driftledger.metrics.sequential import smallest_difference
from driftledger.project.presets import laid_over
from driftledger.project.project import Project
from driftledger.project.resolve import resolved
from driftledger.project.settings import PARAMS, Settings
from driftledger.reports.scores import rows_reader, selected_score
from driftledger.scoring.number import Place
from driftledger.scoring.score import Score

FIRST = 32
"""Images before the first look."""
UNTIL = "--until ranked"


def keys_of_race(settings: Settings) -> Keys:
    """Return the dataset, generator and encoder that decide: the first of each.

    Raises:
        ConfigError: GenCeption goes over no dataset, or fewer than two models are selected.
    """
    selected = settings.keys_of(benchmark(BENCHMARK))
    if len(settings.run.models) < 2 or not selected:
        raise ConfigError(
            f"{UNTIL} ranks two models or more by GenCeption; select them in run.models, and a "
            "dataset in run.genception"
        )
    keys = dict(selected[0])
    del keys["model"]
    return keys


def race(project: Project) -> None:
    """Ask about 32 images, then 64 and so on, until every two models are told apart.

    At the latest, it ends when all images are asked about.

    A model whose calls fail is out of the race. Unless all images were needed, ``params.yaml`` gets
    their number as ``first`` of the dataset.

    Raises:
        ConfigError: as of :func:`keys_of_race`, or the dataset has a support set.
        DriftledgerError: fewer than two models are left.
    """
    spec = benchmark(BENCHMARK)
    keys = keys_of_race(project.settings)
    name = keys["dataset"]
    folder = project.root / spec.data.at(keys)
    card = read_json(folder / DATASET_CARD, DatasetCard)
    if card.labels:
        raise ConfigError(
            f"{UNTIL}: {name} has a support set; select a dataset without one"
        )
    models = project.settings.run.models
    course = Race(
        keys=dict(keys),
        metric="",
        models=[*models],
        confidence=project.settings.section(spec.name).confidence,
        samples=0,
        looks=[],
    )
    categories = {}
    for sample in read_samples(folder):
        categories[sample.id] = sample.category or ONE_CATEGORY
    sizes = [*sizes_of(categories, card.sample_seed)]
    counts = Counter(categories.values())
    smallest = smallest_difference(len(counts) * min(counts.values()), course.alpha)
    say(f"race: {prospect_of(sizes, smallest)}")
    with project.store() as store:
        for task in tasks_of(project):
            restore(task, store)
    for size in sizes:
        text, round_project = _with_first(project, keys, models, size)
        scores = _scores(round_project)
        models = tuple(score.model for score in scores)
        rows_of = rows_reader(round_project)
        rows = {score.model: rows_of(score) for score in scores}
        course = course.model_copy(update={"metric": _last_ranked(spec, scores).name})
        course = course.look(rows, card.sample_seed)
        if not course.undecided:
            break
    shutil.rmtree(round_project.root)
    write_json(project.root / RACE, course)
    if course.undecided:
        say(
            f"race: all {size} samples do not decide between {first_few(course.undecided)}; the "
            "letters beside the scores say what they show if looked at once"
        )
    else:
        say(f"race: decided after {size} of {sizes[-1]} samples")
    if size < sizes[-1]:
        write_text(project.root / PARAMS, text)
        where = f"datasets.{name}.first"
        say(f"{PARAMS}: {where} is {size} now; take it out to ask about all")


def prospect_of(sizes: Sequence[int], smallest: float) -> str:
    """Say after how many samples a race looks, and what it cannot decide.

    Args:
        smallest: the smallest difference that all samples can show.
    """
    when = f"looks after {', '.join(map(str, sizes))} samples"
    if len(sizes) == 1 or smallest > 1:
        when = f"{sizes[-1]} samples cannot decide before all are asked about"
    return f"{when}; they show no difference below {smallest:.2f}"


def sizes_of(categories: Mapping[str, str], seed: int) -> Iterator[int]:
    """Yield the numbers of images after which to look: each is twice the last.

    The last number is that of all images.

    Rounds that lack a category are left out.
    """
    size = FIRST
    while size < len(categories):
        first = first_of(categories, size, seed)
        if {categories[id_] for id_ in first} == {*categories.values()}:
            yield size
        size *= 2
    yield len(categories)


def _with_first(
    project: Project, keys: Keys, models: Sequence[str], size: int
) -> tuple[str, Project]:
    """Return ``params.yaml`` with the first images of a dataset, and their project.

    The project lies in a folder of its own, and selects only the scores of a race.
    """
    name = keys["dataset"]
    written = project.settings.entry("datasets", name).written
    entries = {"datasets": {name: written | {"first": size}}}
    text, settings = laid_over(project.root, {}, UNTIL, entries)
    selected: dict[str, Sequence[str]] = dict.fromkeys(benchmark_names(), ())
    selected |= {BENCHMARK: (name,), "models": models, "question_sets": ()}
    for key in keys:
        selected[f"{key}s"] = (keys[key],)
    run = settings.run.model_copy(update=selected)
    round_settings = settings.model_copy(
        update={"run": run, "store": str(project.state)}
    )
    selecting = replace(project, given=round_settings)
    round_project = replace(
        selecting, root=project.root / STATE / "race", resolved=resolved(selecting)
    )
    return text, round_project


def _last_ranked(spec: Benchmark, scores: Sequence[Score]) -> Place:
    """Return the first metric at the last t by which a score is ranked.

    If none is ranked, it is the last t with a value.
    """
    known = []
    ranked = []
    for of_model in scores:
        for number in of_model.over_t(spec.metrics.first.name):
            if number.value is not None:
                known.append(number.place)
                if spec.is_complete(of_model, number.place):
                    ranked.append(number.place)
    return max(ranked or known, key=lambda place: place.t or 0)


def _scores(project: Project) -> list[Score]:
    """Collect and score, and return the scores of the models that could be called.

    Raises:
        DriftledgerError: fewer than two are left.
    """
    failure = DriftledgerError(f"{UNTIL}: fewer than two models have a score")
    data(project)
    try:
        collect(project)
    except DriftledgerError as error:
        failure = error
        say(for_line(f"out of the race: {error}"))
    scores = []
    for spec, keys in project.selected:
        made = tasks_of(project, [keys["model"]])[0].made()
        if made is not None and not score(project, keys["model"]):
            scores.append(selected_score(project, spec, keys))
    release_all(project.components.values())
    if len(scores) < 2:
        raise failure
    return scores

"""``run --until ranked``: look at a race after each round, and note whom to ask about how many."""

import math
from dataclasses import replace

from driftledger.benchmarks.race import Race, course_of, run_race
from driftledger.commands.collect import tasks_of
from driftledger.core.errors import ConfigError
from driftledger.core.files import read_regular, write_json, write_text
from driftledger.core.text import say
from driftledger.data.records import read_samples
from driftledger.project.presets import laid_over
from driftledger.project.project import RACE_NOW, Project
from driftledger.project.settings import PARAMS


def race_until_ranked(project: Project) -> Project:
    """Write a race by the first metric that decides one into ``params.yaml``, unless it has one.

    Raises:
        ConfigError: nothing is selected that has races, or one cannot be run.
    """
    settings = project.settings
    if settings.run.stop_when is not None:
        return project
    metrics = list[str]()
    for spec in settings.benchmarks:
        metrics += spec.races(settings.section(spec.name))
    if not metrics:
        raise ConfigError(
            "--until ranked: no benchmark with races is selected; use genception"
        )
    rule = {"ranked": metrics[0], "margin": 0.02}
    text = read_regular(project.root / PARAMS).decode()
    text, _ = laid_over(
        project.root, text, {"run": {"stop_when": rule}}, "--until ranked"
    )
    write_text(project.root / PARAMS, text)
    say(f"{PARAMS}: run.stop_when is {rule}; take it out to ask about all samples")
    return replace(project)


def look(project: Project) -> Race | None:
    """Compare models over what is scored, write ``data/race.json``, and return it.

    Without the scores of some model it is None, and nothing is written.
    """
    from driftledger.ledger.compare import units_of
    from driftledger.reports.scores import is_stored, rows_reader, selected_score

    settings = project.settings
    spec = settings.raced
    rule = settings.run.stop_when
    assert spec is not None
    assert rule is not None
    metric = spec.metric(rule.ranked)
    assert metric is not None
    rows_of = rows_reader(project)
    keys = dict(settings.keys_of(spec)[0])
    samples = read_samples(project.root / spec.data.at(keys))
    course = course_of(samples, settings.run.seed)
    values: dict[str, list[float | None]] = {}
    costs = {}
    for model in settings.run.models:
        keys["model"] = model
        if not is_stored(project, spec, keys):
            return None
        score = selected_score(project, spec, keys)
        rows = rows_of(score)
        units = units_of(metric, rows, rule.ranked)
        values[model] = []
        for sample in course.samples[: len(rows)]:
            values[model].append(units[sample.id][0] if sample.id in units else None)
        if "usd_per_1000" in score.costs:
            costs[model] = score.costs["usd_per_1000"] / 1000
    fields = run_race(values, course, rule, score.confidence)
    calls = 0
    for task in tasks_of(project):
        if task.spec is spec:
            calls += task.collecting(whole=True).calls - task.collecting().calls
    usd = [cost * (len(samples) - len(values[model])) for model, cost in costs.items()]
    longest = max(len(own) for own in values.values())
    del keys["model"]
    race = Race(
        **fields,
        of=project.noted()["race"]["of"],
        keys=keys,
        rule=rule,
        confidence=score.confidence,
        seed=settings.run.seed,
        samples=len(samples),
        kind=samples[0].medium.kind,
        order=[each.id for each in course.samples[:longest]],
        values=values,
        unspent_calls=calls,
        unspent_usd=math.fsum(usd) if usd else None,
    )
    write_json(project.root / RACE_NOW, race)
    return race

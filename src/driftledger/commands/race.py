"""``run --until ranked``: look at a race after each round, and note whom to ask about how many."""

import math
from dataclasses import replace

from driftledger.benchmarks.race import Race, decided
from driftledger.benchmarks.score import ROWS, SCORE, Row, Score
from driftledger.benchmarks.usage import read_usage
from driftledger.core.errors import ConfigError, unknown_name
from driftledger.core.files import (
    read_json,
    read_jsonl,
    read_regular,
    write_json,
    write_text,
)
from driftledger.core.text import say
from driftledger.project.presets import laid_over
from driftledger.project.project import RACE_NOW, Project
from driftledger.project.settings import PARAMS

UNTIL = ("ranked",)


def race_until(project: Project, until: str) -> Project:
    """Write a race by the first metric that allows one into ``params.yaml``, unless it has one.

    Raises:
        ConfigError: there is nothing to wait for by that name, or no benchmark with races.
    """
    settings = project.settings
    if until not in UNTIL:
        raise ConfigError(unknown_name("--until", until, UNTIL))
    if settings.run.stop_when is not None:
        return project
    specs = [spec for spec in settings.benchmarks if spec.races]
    if not specs:
        raise ConfigError(
            "--until ranked is for chains; select something in run.genception"
        )
    last = getattr(settings.section(specs[0].name), "iterations", 1)
    rule = {"ranked": specs[0].metrics[0].key.replace("{t}", str(last)), "margin": 0.02}
    text = read_regular(project.root / PARAMS).decode()
    change = {"run": {"stop_when": rule}}
    text, _ = laid_over(project.root, text, change, f"--until {until}")
    write_text(project.root / PARAMS, text)
    say(f"{PARAMS}: run.stop_when is {rule} now; take it out to ask about all samples")
    return replace(project)


def look(project: Project) -> Race | None:
    """Compare models over what is scored, write ``data/race.json``, and return it.

    Without the scores of some model it is None, and nothing is written.
    """
    settings = project.settings
    spec = settings.raced
    rule = settings.run.stop_when
    assert spec is not None
    assert rule is not None
    metric = spec.metric(rule.ranked)
    assert metric is not None
    values = {}
    costs = []
    keys = dict(settings.keys_of(spec)[0])
    for model in settings.run.models:
        folder = project.root / spec.scores.at(keys | {"model": model})
        if not (folder / SCORE).is_file():
            return None
        score = read_json(folder / SCORE, Score)
        course = spec.course(project.root / spec.data.at(keys), score.inputs.protocol)
        rows = {}
        for row in read_jsonl(folder / ROWS, Row):
            [rows[row.unit]] = metric.values_in(row, rule.ranked) or [None]
        values[model] = [rows[id_] for id_ in course.ids if id_ in rows]
        usage = read_usage(folder)
        cost = usage.costs.get("usd_per_1000") if usage else None
        costs.append((model, cost))
    del keys["model"]
    race = Race(
        of=project.noted()["race"]["of"],
        keys={"benchmark": spec.name, **keys},
        rule=rule,
        confidence=score.confidence,
        seed=settings.run.seed,
        values=values,
    )
    race = decided(race, course)
    known = [(model, cost) for model, cost in costs if cost is not None]
    if race.over and known:
        left = [cost * (race.samples - race.asked[model]) for model, cost in known]
        race = race.model_copy(update={"unspent_usd": math.fsum(left) / 1000})
    write_json(project.root / RACE_NOW, race)
    return race

"""The stage ``resolve``: what the selected names stand for now, and which code is behind each stage.

Other stages depend on their entries in ``data/resolved.json``, so that DVC sees a changed image, a replaced weight
file, a new version of a component or changed code, and nothing else. What people set stands beside the digests in
plain words, wherever an entry is from, so that ``dvc params diff`` tells what changed and not only that something did.
"""

import sys
from collections.abc import Mapping
from functools import partial
from typing import Any

import driftledger
from driftledger.benchmarks.base import DATASET, QUESTION_SET, Benchmark
from driftledger.benchmarks.code import code_behind, code_behind_data
from driftledger.benchmarks.descriptions import Description
from driftledger.benchmarks.settings import EntryOf
from driftledger.collect.observations import read_observations
from driftledger.commands.kept import ENTRIES, KeptAsNoted, NamedSource
from driftledger.commands.stages import file_beside
from driftledger.components.base import Component
from driftledger.core.canonical import sha256_file, sha256_of
from driftledger.core.code_digest import code_digest
from driftledger.core.file_states import own_code
from driftledger.core.files import write_json
from driftledger.core.registry import provider_place
from driftledger.data.datasets.base import Provider
from driftledger.data.leaderboards import leaderboard_digests, leaderboard_folders
from driftledger.ledger.log.lines import PLAN_LINE
from driftledger.ledger.objects.remembered import Remembered
from driftledger.project.project import Project
from driftledger.project.settings import Settings

REPORT = "driftledger.reports.report"
"""What puts scores together, beside the tables and pictures of each benchmark."""
CORRELATION = "driftledger.reports.correlation.correlation"
"""What sets scores against each other and against leaderboards."""
FILE = "resolve.db"
"""In the folder of the checkout's state."""
NOTHING = "none"
"""Noted where there is no file or component, since DVC wants every parameter to be there."""


def resolve(project: Project) -> None:
    """Note what every selected name stands for now, and under an open plan that it was tried."""
    with project.only_one(project.paths.resolved):
        noted = resolved(project)
        write_json(project.paths.resolved, noted)
    if project.paths.ledger.is_file() and PLAN_LINE in project.paths.ledger.read_bytes():
        from driftledger.commands.attempts import note_attempt  # which only plans need

        note_attempt(project, noted)


def resolved(project: Project) -> dict[str, Any]:
    """What every selected name stands for now: a source's digest, a component's fingerprint, its settings.

    Of what is not on this machine it is what was noted before, and stderr is told so; see :class:`.kept.KeptAsNoted`.
    """
    settings = project.settings
    providers: dict[str, dict[str, Any]] = {
        "datasets": {name: settings.dataset(name) for name in settings.named("datasets")},
        "question_sets": {name: settings.question_set(name) for name in settings.named("question_sets")},
    }
    components: dict[str, dict[str, Any]] = {
        "models": {name: settings.model(name) for name in settings.named("models")},
        "generators": {name: settings.generator(name) for name in settings.named("generators")},
        "encoders": {name: settings.encoder(name) for name in settings.named("encoders")},
    }
    descriptions = {name: settings.description(name) for name in settings.named("descriptions")}
    sources = {
        f"{section}.{name}": NamedSource(_as_written(one), partial(_digest, one))
        for section, some in {**providers, **components}.items()
        for name, one in some.items()
    }
    sources |= {f"examples.{name}": _examples(settings, name) for name in descriptions}
    sources |= {
        f"beside.{spec.name}.{setting}": _beside(project, spec, setting)
        for spec in settings.benchmarks
        for setting in spec.beside
    }
    kept = KeptAsNoted.of(project)
    found = {key: kept.unless_here(key, source) for key, source in sources.items()}
    noted: dict[str, Any] = {
        section: {name: found[f"{section}.{name}"] for name in some}
        for section, some in {**providers, **components, "examples": descriptions}.items()
    }
    noted["judge"] = noted["models"][settings.judge] if settings.needs_judge else NOTHING
    noted["named"] = _named(settings, {section: noted[section] for section in components})
    noted["beside"] = {
        spec.name: {setting: found[f"beside.{spec.name}.{setting}"] for setting in spec.beside}
        for spec in settings.benchmarks
        if spec.beside
    }
    noted["settings"] = {
        section: {name: _in_words(each) for name, each in some.items()}
        for section, some in {**providers, **components, "descriptions": descriptions}.items()
    }
    noted["correlation"] = {
        "settings": settings.correlation.model_dump(mode="json"),
        "leaderboards": leaderboard_digests(leaderboard_folders(project.root)),
    }
    noted["code"] = _code(project, noted["settings"])
    noted[ENTRIES] = {key: source.written for key, source in sources.items()}
    noted["observations"] = {one: seen.to_dict() for one, seen in read_observations(project.paths.observations).items()}
    kept.tell()
    return noted


def _digest(one: Component | Provider) -> str:
    return one.fingerprint if isinstance(one, Component) else one.source_digest()


def _named(settings: Settings, fingerprints: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, dict[str, str]]]:
    """Benchmark → setting that names components → ``<section>.<name>`` → fingerprint of each."""
    noted: dict[str, dict[str, dict[str, str]]] = {
        spec.name: {
            key: {}
            for key, field in spec.settings.model_fields.items()
            if any(isinstance(mark, EntryOf) and mark.section in fingerprints for mark in field.metadata)
        }
        for spec in settings.benchmarks
    }
    for where, section, name in settings.references():
        benchmark, _, key = where.partition(".")
        if key in noted[benchmark]:
            noted[benchmark][key][f"{section}.{name}"] = fingerprints[section][name]
    return {benchmark: named for benchmark, named in noted.items() if named}


def _code(project: Project, entries: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Digests of the code behind each stage that the selection has.

    All of that code must be parsed. Where all of it is ours, that is done once, as long as no file of it is another.
    """
    settings, data = project.settings, {stage.name: entries[f"{stage.name}s"] for stage in (DATASET, QUESTION_SET)}
    specifications = [type(spec).__module__ for spec in settings.benchmarks]
    places = [provider_place(f"{name}s", each["provider"]) for name, some in data.items() for each in some.values()]
    if not all(place.startswith(f"{driftledger.__name__}.") for place in (*specifications, *places)):
        return _digests(settings, data)
    about = sha256_of([own_code(), sys.version, specifications, places, data])
    with Remembered(project.paths.state / FILE) as remembered:
        found: dict[str, Any] = remembered.recall("code", about, lambda: _digests(settings, data))
        return found


def _digests(settings: Settings, data: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Of datasets and question sets by name, of each benchmark's own stages by stage, of the report and the
    correlation."""
    found: dict[str, Any] = {
        stage.name: {name: code_behind_data(stage, entry) for name, entry in data[stage.name].items()}
        for stage in (DATASET, QUESTION_SET)
    }
    for spec in settings.benchmarks:
        found[spec.name] = {stage.name: code_behind(spec, stage) for stage in (*spec.collects, spec.scores)}
    specifications = [type(spec).__module__ for spec in settings.benchmarks]
    views = {"report": REPORT, "correlation": CORRELATION}
    return found | {name: code_digest(module, *specifications) for name, module in views.items()}


def _examples(settings: Settings, description: str) -> NamedSource:
    shown = settings.description(description).demonstrations
    encoder = settings.encoder(shown.encoder) if shown and shown.encoder else None
    by = settings.model(shown.by) if shown and shown.by else None
    written = sha256_of([None if each is None else _as_written(each) for each in (encoder, by)])
    return NamedSource(written, partial(settings.examples_fingerprint, description))


def _beside(project: Project, spec: Benchmark, setting: str) -> NamedSource:
    def digest() -> str:
        file = file_beside(project, spec, setting)
        return NOTHING if file is None else sha256_file(file)

    return NamedSource(sha256_of(str(getattr(project.settings.section(spec.name), setting))), digest)


def _in_words(entry: Component | Provider | Description) -> dict[str, Any]:
    """What can change an output: of a component every setting, also those that nobody set, as in its fingerprint; of
    data and of descriptions what is not the default."""
    if isinstance(entry, Component):
        return {"provider": entry.provider, **entry.model_dump(mode="json", exclude=entry.operational())}
    words = entry.model_dump(mode="json", exclude_defaults=True)
    return words if isinstance(entry, Description) else {"provider": entry.provider, **words}


def _as_written(entry: Component | Provider) -> str:
    """Hex SHA-256 of what can be said of an entry without what it names: of a component its version, its code where
    that is its identity, and all settings, those among them that say where its weights are."""
    if not isinstance(entry, Component):
        return sha256_of(_in_words(entry))
    named = entry.model_dump(mode="json", include=entry.operational(), exclude_defaults=True)
    code = entry.code_digest if entry.code_is_identity else None
    return sha256_of([_in_words(entry), named, entry.version, code])

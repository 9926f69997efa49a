"""Versions of all selected names, and what each stage depends on.

DVC compares the parts of that file that a stage names as its parameters. So a changed image, a
replaced weight file or a new version of a component runs what depends on it, and nothing else.
"""

from collections.abc import Sequence
from functools import cache

from driftledger.benchmarks.base.benchmark import Benchmark
from driftledger.benchmarks.base.settings import EntryOf
from driftledger.benchmarks.base.stage import SCORES, Stage
from driftledger.components.base import Component
from driftledger.core.canonical import Json, sha256_file, sha256_of
from driftledger.core.code_digest import code_digest, is_ours
from driftledger.core.errors import (
    ConfigError,
    DriftledgerError,
    MissingExtraError,
    MissingSourceError,
    StoreError,
)
from driftledger.core.files import keep_only, write_json
from driftledger.core.made import files_digest, made_from
from driftledger.core.paths import Keys
from driftledger.core.registry import PROVIDED_SECTIONS
from driftledger.core.text import say
from driftledger.data.datasets.base import Provider
from driftledger.project.project import NOTED_SETTINGS, RESOLVED, Project, folder_in
from driftledger.project.settings import Settings, missing_towers

NOTHING = "none"
"""Noted in place of a missing file or component, since DVC wants every parameter to exist."""

DATA_VERSION = 7
REPORT_VERSION = 28
TRACK_VERSION = 1
"""Versions of stages, to be raised when what they write changes. Stages of benchmarks have theirs
in their tables."""


def resolve(project: Project) -> None:
    """Write ``data/resolved.json`` and ``data/settings.json``.

    Scores of models that are no longer selected are removed.
    """
    models = project.settings.run.models
    noted = resolved(project)
    behind = Json()
    for name in ("data", "report", "track"):
        noted[name] = _digest(noted[name], behind)
    for name in ("collect", "score"):
        for model in models:
            noted[name][model] = _digest(noted[name][model], behind)
    write_json(project.root / NOTED_SETTINGS, behind)
    write_json(project.root / RESOLVED, noted)
    scores = project.root / SCORES
    keep_only(scores, [scores / model for model in models])


def _digest(noted: Json, behind: Json) -> str:
    """Return the digest of a stage's dependencies, and file them under it."""
    digest = sha256_of(noted)
    behind[digest] = noted
    return digest


def resolved(project: Project, missing: dict[str, str] | None = None) -> Json:
    """Return the current version of every selected name, and what each stage depends on.

    A component that is not on this machine, such as a colleague's weights, keeps the version that
    was noted before if its entry is unchanged, so that all without new calls still runs. Standard
    error lists these components.

    Args:
        missing: is filled with other components that are not on this machine, such as
            ``models.mine``, and the reasons; the result is then for counting calls only. Without
            it, the first such component is an error.
    """
    settings = project.settings
    noted = _versions(project, missing)
    noted["data"] = {
        "version": DATA_VERSION,
        "datasets": noted.pop("datasets"),
        "question_sets": noted.pop("question_sets"),
    }
    noted["descriptions"] = {}
    for name in settings.named("descriptions"):
        description = settings.description(name)
        examples = NOTHING
        if shots := description.demonstrations:
            encoder = noted["encoders"].get(shots.encoder)
            by = noted["models"].get(shots.by)
            examples = sha256_of([encoder, by])
        words = description.model_dump(mode="json", exclude_defaults=True)
        noted["descriptions"][name] = {**words, "examples_by": examples}
    noted["judge"] = noted["models"][settings.judge] if settings.judge else NOTHING
    noted["beside"] = {}
    for spec in settings.benchmarks:
        if spec.scores.beside:
            digests = dict.fromkeys(spec.scores.beside, NOTHING)
            for setting, file in project.files_beside(spec).items():
                digests[setting] = sha256_file(file)
            noted["beside"][spec.name] = digests
    # model → folder below its stage's output → its inputs, except earlier folders
    for kind in ("collect", "score"):
        noted[kind] = {model: {} for model in settings.run.models}
        for spec in settings.benchmarks:
            stage = spec.collects if kind == "collect" else spec.scores
            for model in settings.run.models:
                for keys in settings.keys_of(spec, stage, model):
                    inputs = _shaped_by(settings, noted, spec, stage, keys)
                    noted[kind][model][folder_in(stage, keys)] = inputs
    run = settings.run.model_dump(mode="json")
    noted["report"] = {
        "version": REPORT_VERSION,
        "run": run,
        "correlation": settings.correlation.model_dump(mode="json"),
    }
    noted["track"] = {
        "version": TRACK_VERSION,
        "run": run,
        "tracking": settings.tracking.model_dump(mode="json"),
    }
    return noted


def _versions(project: Project, missing: dict[str, str] | None) -> Json:
    """Return the versions of components and of data, by section and name."""
    settings = project.settings
    before = project.noted().get("entries", {})
    noted: Json = {section: {} for section in PROVIDED_SECTIONS}
    selected = [
        (section, name) for section in noted for name in settings.named(section)
    ]
    noted[
        "entries"
    ] = {}  # how each was written, and its digest; no stage depends on it
    build = cache(settings.build)
    for section, name in selected:
        entry = build(section, name)
        key = f"{section}.{name}"
        definition = [
            entry.provider,
            entry.model_dump(mode="json", exclude_defaults=True),
        ]
        if isinstance(entry, Component):
            definition += [entry.version, entry.code_is_identity and entry.code_digest]
        written = sha256_of(definition)
        try:
            digest = (
                entry.fingerprint
                if isinstance(entry, Component)
                else entry.source_digest()
            )
        except DriftledgerError as error:
            is_noted = before.get(key, {}).get("written") == written
            if is_noted and isinstance(error, MissingSourceError | MissingExtraError):
                digest = before[key]["digest"]
                consequence = "its noted version is kept, and only new calls to it fail"
                say(
                    f"driftledger: {key} is not on this machine ({error}); {consequence}"
                )
            elif missing is None:
                raise
            else:
                digest = sha256_of([NOTHING, key])  # nothing of it is stored
                missing[key] = str(error)
        noted["entries"][key] = {"written": written, "digest": digest}
        noted[section][name] = digest
        if isinstance(entry, Provider):
            noted[section][name] = {
                "provider": entry.provider,
                **definition[1],
                "source": digest,
            }
            module = type(entry).__module__
            # what Python gave is never made again
            if (section, name) not in settings.given and not is_ours(module):
                noted[section][name]["code"] = code_digest(module)
    # files that were read for a fingerprint may say that an encoder takes texts alone
    for problem in missing_towers(settings, build):
        raise ConfigError(problem)
    return noted


def inputs_of(
    project: Project, stage: Stage, keys: Keys, before: Sequence[Stage]
) -> str:
    """Return the digest of what ``resolve`` noted of a folder, and of earlier folders.

    Raises:
        StoreError: one of these is missing.
    """
    noted = project.noted_of(stage, keys)
    if not noted:
        name = f"{keys['model']}/{folder_in(stage, keys)}"
        raise StoreError(
            f"data/resolved.json does not know {name}; run 'dvc repro resolve'"
        )
    digests = []
    for earlier in before:
        folder = project.root / earlier.at(keys)
        if not folder.is_dir():
            raise StoreError(
                f"{earlier.at(keys)} is missing; run 'dvc repro {earlier.lock(keys)}' or 'dvc pull'"
            )
        manifest = made_from(folder)
        digests.append(files_digest(folder) if manifest is None else manifest.files)
    return sha256_of([noted, digests])


def _shaped_by(
    settings: Settings, noted: Json, spec: Benchmark, stage: Stage, keys: Keys
) -> Json:
    """Return the settings and versions that shape a folder, without earlier folders."""
    section = settings.section(spec.name)
    inputs: Json = {"version": stage.version, "seed": settings.run.seed}
    inputs |= section.model_dump(mode="json", include=set(stage.settings))
    for key, name in keys.items():
        section_of_key = "encoders" if key == "text_encoder" else f"{key}s"
        if (
            section_of_key in noted
        ):  # data is noted apart, since the folder is made from its files
            inputs[key] = noted[section_of_key][name]
    for setting, entry, names in section.marks(EntryOf):
        if setting in stage.settings:
            inputs[setting] = {name: noted[entry.section][name] for name in names}
    if stage.judged:
        inputs["judge"] = noted["judge"]
    if stage is spec.scores:  # a further metric is computed everywhere
        inputs["metrics"] = [metric.name for metric in spec.metrics]
        inputs |= noted["beside"].get(spec.name, {})
    return inputs

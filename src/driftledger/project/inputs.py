"""What benchmarks get of a project: folders, settings and components, and no project."""

from collections.abc import Mapping
from pathlib import Path

from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.collecting import StageInputs
from driftledger.benchmarks.scoring import ToScore
from driftledger.core.errors import ConfigError, MissingSourceError, nothing_at
from driftledger.project.project import Project


def stage_inputs(project: Project, spec: Benchmark, keys: Mapping[str, str]) -> StageInputs:
    """Return what the collect stages of a benchmark are made from."""
    return StageInputs(
        keys=keys,
        section=project.settings.section(spec.name),
        seed=project.settings.run.seed,
        folders=_folders(project, spec, keys),
        model=project.model,
        generator=project.generator,
        encoder=project.encoder,
        description=project.settings.description,
        judge=project.settings.judge if spec.judged else None,
    )


def to_score(project: Project, spec: Benchmark, keys: Mapping[str, str]) -> ToScore:
    """Return what a score of the project is computed from; errors as of :meth:`Project.encoder`."""
    section = project.settings.section(spec.name)
    scoring = spec.scoring_of(section, project.settings.run.seed)
    named = {role: keys.get(role) or getattr(scoring, role, None) for role in ("encoder", "text_encoder")}
    files = {setting: file_beside(project, spec, setting) for setting in spec.beside}
    return ToScore(
        keys=keys,
        folders=_folders(project, spec, keys),
        scoring=scoring,
        min_coverage=section.min_coverage,
        encoders={role: project.encoder(name) for role, name in named.items() if name is not None},
        beside={setting: file for setting, file in files.items() if file is not None},
        features=project.features(),
    )


def file_beside(project: Project, spec: Benchmark, setting: str) -> Path | None:
    """Return the file that a setting names; None where it names none.

    Raises:
        MissingSourceError: it is missing.
    """
    path = getattr(project.settings.section(spec.name), setting)
    if path is None:
        return None
    file: Path = project.root / path
    if not file.is_file():
        sentence = f"{spec.name}.{setting} in params.yaml is {path}, which is missing; mend it or set null"
        raise MissingSourceError(sentence, str(path)) if nothing_at(file) else ConfigError(sentence)
    return file


def _folders(project: Project, spec: Benchmark, keys: Mapping[str, str]) -> dict[str, Path]:
    return {
        stage.name: project.root / stage.at(keys)
        for stage in (spec.data, *spec.collects)
        if set(stage.keys) <= keys.keys()
    }

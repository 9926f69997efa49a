"""What links a combination's scores to bytes, components, versions and code."""

from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Generic, NamedTuple, TypeAlias, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Discriminator, Tag

from driftledger.benchmarks._questions.records import QuestionInputs, QuestionScore
from driftledger.benchmarks.description_records import FidelityScore, TracInputs, TracScore
from driftledger.benchmarks.genception.records import ScoreFile
from driftledger.components.card import ComponentCard
from driftledger.core.canonical import md5_file, sha256_of
from driftledger.core.errors import LedgerError
from driftledger.core.files import read_json
from driftledger.core.paths import (
    Combination,
    Layout,
    answer_stage,
    chain_stage,
    dataset_stage,
    describe_stage,
    drift_stage,
    fidelity_stage,
    grade_stage,
    question_set_stage,
    redraw_stage,
    score_stage,
    trac_stage,
)
from driftledger.ledger.code import CodeVersion, code_version
from driftledger.ledger.lock import LockedFile, LockEntry, read_lock


def _kind(score: Any) -> str:
    """Which of the four kinds of score this is; the question benchmarks share one."""
    benchmark = score.get("benchmark") if isinstance(score, dict) else score.benchmark
    return benchmark if benchmark in ("genception", "trac", "fidelity") else "questions"


AnyScore: TypeAlias = Annotated[
    Annotated[ScoreFile, Tag("genception")]
    | Annotated[TracScore, Tag("trac")]
    | Annotated[FidelityScore, Tag("fidelity")]
    | Annotated[QuestionScore, Tag("questions")],
    Discriminator(_kind),
]
"""What a score file holds, by the benchmark that it names."""

S = TypeVar("S", ScoreFile, TracScore, FidelityScore, QuestionScore)
S_co = TypeVar("S_co", bound=ScoreFile | TracScore | FidelityScore | QuestionScore, covariant=True)


class Behind(BaseModel, Generic[S_co]):
    """What stands behind one score file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    score: S_co
    score_file: LockedFile
    data: LockedFile
    """The folder of the dataset or question set."""
    collected: dict[str, LockedFile]
    """The stages between the data and the score, ``chain`` for instance, and the folder that each wrote."""
    stages: dict[str, LockEntry]
    """The entries of ``dvc.lock`` from the data to the score."""

    @property
    def on(self) -> str:
        """The name of the dataset or question set."""
        return self.score.question_set if isinstance(self.score, QuestionScore) else self.score.dataset

    @property
    def cards(self) -> dict[str, ComponentCard]:
        """Role → the component that played it, of the roles that this benchmark has."""
        inputs = self.score.inputs
        if isinstance(inputs, TracInputs):
            return {"model": inputs.descriptions.model, "text_encoder": inputs.encoder}
        if isinstance(inputs, QuestionInputs):
            judge = {"judge": inputs.grades.judge} if inputs.grades.judge else {}
            return {"model": inputs.grades.answers.model, **judge}
        return {"model": inputs.chain.model, "generator": inputs.chain.generator, "encoder": inputs.encoder}


class Evidence(BaseModel):
    """The evidence of one run.

    ``fingerprint`` hangs on the settings and the bytes in the lock entries, not on the code's: code that was changed
    and still gives the same bytes has made no new run. A component's own version is in those bytes.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    combination: Combination
    fingerprint: str
    behind: list[Behind[AnyScore]]
    """Benchmark by benchmark, in the order of the selection: TRAC's headline is the first of each dataset.

    TRAC's and the question benchmarks' scores are the model's, whichever generator and encoder stand beside it."""
    code: CodeVersion

    def of(self, kind: type[S]) -> list[Behind[S]]:
        """What is behind the scores of one kind."""
        return [cast("Behind[S]", behind) for behind in self.behind if isinstance(behind.score, kind)]

    @property
    def cards(self) -> dict[str, ComponentCard]:
        """Role → the first component that played it; a role that no benchmark of the run has is absent."""
        return {role: card for behind in reversed(self.behind) for role, card in behind.cards.items()}


class Selected(NamedTuple):
    """What every combination is evaluated on, benchmark by benchmark."""

    genception: Sequence[str] = ()
    trac: Sequence[str] = ()
    descriptions: Sequence[str] = ()
    text_encoders: Sequence[str] = ()
    """TRAC goes over its datasets with each way to ask and each text encoder; the first of both is the headline."""
    fidelity: Sequence[str] = ()
    question_sets: Sequence[str] = ()


class _Way(NamedTuple):
    """How one score came to be: the stages from the data to the score, each with the output that leads on."""

    kind: type[ScoreFile] | type[TracScore] | type[FidelityScore] | type[QuestionScore]
    steps: dict[str, Path]


def _ways(layout: Layout, selected: Selected, combination: Combination) -> Iterator[_Way]:
    model, generator, _ = combination
    for name in selected.genception:
        steps = {
            dataset_stage(name): layout.dataset(name),
            chain_stage(name, model, generator): layout.chain(name, model, generator),
            drift_stage(name, combination): layout.scores("genception", name, combination),
        }
        yield _Way(ScoreFile, steps)
    for name, asked, reader in product(selected.trac, selected.descriptions, selected.text_encoders):
        steps = {
            dataset_stage(name): layout.dataset(name),
            describe_stage(name, model, asked): layout.descriptions(name, model, asked),
            trac_stage(name, model, asked, reader): layout.trac_scores(name, model, asked, reader),
        }
        yield _Way(TracScore, steps)
    for name in selected.fidelity:
        steps = {
            dataset_stage(name): layout.dataset(name),
            redraw_stage(name, model, generator): layout.redraws(name, model, generator),
            fidelity_stage(name, combination): layout.scores("fidelity", name, combination),
        }
        yield _Way(FidelityScore, steps)
    for name in selected.question_sets:
        steps = {
            question_set_stage(name): layout.question_set(name),
            answer_stage(name, model): layout.answers(name, model),
            grade_stage(name, model): layout.grades(name, model),
            score_stage(name, model): layout.question_scores(name, model),
        }
        yield _Way(QuestionScore, steps)


def steps_behind(layout: Layout, selected: Selected, combination: Combination) -> Iterator[dict[str, Path]]:
    """For each score of a run, the stages from the data to it, each with the output that leads on."""
    return (way.steps for way in _ways(layout, selected, combination))


def stages_behind(layout: Layout, selected: Selected, combinations: Sequence[Combination]) -> list[str]:
    """The stages behind these runs, by name, each once; those that others read come first."""
    ways = (steps for combination in combinations for steps in steps_behind(layout, selected, combination))
    return list(dict.fromkeys(stage for steps in ways for stage in steps))


def read_evidence(layout: Layout, selected: Selected, combination: Combination) -> Evidence:
    """One combination's evidence; errors as in :func:`read_all_evidence`."""
    [evidence] = read_all_evidence(layout, selected, [combination])
    return evidence


def read_all_evidence(layout: Layout, selected: Selected, combinations: Sequence[Combination]) -> list[Evidence]:
    """Gather each combination's evidence from ``dvc.lock``, the score files and Git.

    Raises:
        LedgerError: a stage has not run, or a score file is not the one that ``dvc.lock`` speaks of.
    """
    lock, code = read_lock(layout.root), code_version(layout.root)
    found = []
    for combination in combinations:
        behind = [_behind(layout, lock, way) for way in _ways(layout, selected, combination)]
        found.append(
            Evidence(
                name=str(combination),
                combination=combination,
                fingerprint=fingerprint_of(behind, selected, combination),
                behind=behind,
                code=code,
            )
        )
    return found


def fingerprint_of(behind: Sequence[Behind[AnyScore]], selected: Selected, combination: Combination) -> str:
    """The hash of the lock entries, and of what a run shows beyond them."""
    shown: dict[str, Any] = {name: entry.without_code() for each in behind for name, entry in each.stages.items()}
    if selected.trac:
        shown["TRAC headline"] = [selected.descriptions[0], selected.text_encoders[0]]
    if not selected.genception and not selected.fidelity:
        shown["combination"] = list(combination)  # no entry tells its generator and encoder from others
    return sha256_of(shown)


def _behind(layout: Layout, lock: dict[str, LockEntry], way: _Way) -> Behind[AnyScore]:
    missing = [stage for stage in way.steps if stage not in lock]
    if missing:
        raise LedgerError(f"no dvc.lock here has a stage {missing[0]!r}; run 'dvc repro' first")
    outs = {
        stage.partition("@")[0]: lock[stage].out(path.relative_to(layout.root).as_posix())
        for stage, path in way.steps.items()
    }
    (_, data), *collected, (_, score_file) = outs.items()
    score_path = layout.root / score_file.path
    _check_md5(score_path, score_file)
    return Behind[AnyScore](
        score=read_json(score_path, way.kind),
        score_file=score_file,
        data=data,
        collected=dict(collected),
        stages={stage: lock[stage] for stage in way.steps},
    )


def _check_md5(path: Path, locked: LockedFile) -> None:
    try:
        md5 = md5_file(path)
    except FileNotFoundError:
        raise LedgerError(f"{locked.path} is missing; run 'dvc repro', or 'git checkout {locked.path}'") from None
    if md5 != locked.md5:
        raise LedgerError(
            f"{locked.path} is not the file that dvc.lock speaks of (md5 {md5}, not {locked.md5}); "
            "run 'dvc repro' to compute it again"
        )

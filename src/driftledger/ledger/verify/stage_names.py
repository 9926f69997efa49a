"""Whether a stage's entry is about what the stage's name says: its command, and the files that it writes."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from driftledger.core.escaping import for_line
from driftledger.core.paths import Combination, Layout, questions_file, samples_file
from driftledger.ledger.findings import Finding
from driftledger.ledger.verify.lock_text import LockTexts


def check_names(root: Path, locks: LockTexts) -> Iterator[Finding]:
    """Every stage of ``dvc.lock`` runs the command and writes the files that its name stands for."""
    layout = Layout(root)
    for stage, entry in locks.entries.items():
        kind, _, rest = stage.partition("@")
        names, (run, *asked) = rest.split("-") if rest else [], str(entry.cmd).removeprefix("driftledger ").split(" ")
        outs = outputs_of(layout, kind, names)
        if outs is None and outputs_of(layout, run, asked) is None:
            continue  # of a stage that there was once
        if str(entry.cmd) != " ".join(["driftledger", kind, *names]):
            what = f"stage {for_line(stage)!r} runs another command, {for_line(str(entry.cmd))!r:.200}"
            yield Finding("bytes", locks.where(stage, "cmd"), what)
        for place, out in enumerate(entry.outs):
            if outs is not None and root / out.path not in outs:
                what = f"stage {for_line(stage)} writes no {for_line(out.path)!r:.200}"
                yield Finding("bytes", locks.where(stage, "outs", place, "path"), what)


def outputs_of(layout: Layout, kind: str, names: Sequence[str]) -> list[Path] | None:
    """What a stage of this kind writes; None for another kind, or other names than it takes."""
    writes: dict[str, Callable[..., list[Path]]] = {
        "resolve": lambda: [layout.resolved],
        "dataset": lambda *names: [layout.dataset(*names)],
        "chain": lambda *names: [layout.chain(*names)],
        "drift": lambda data, *names: _with_samples(layout.scores("genception", data, Combination(*names))),
        "describe": lambda *names: [layout.descriptions(*names)],
        "trac": lambda *names: _with_samples(layout.trac_scores(*names)),
        "redraw": lambda *names: [layout.redraws(*names)],
        "fidelity": lambda data, *names: _with_samples(layout.scores("fidelity", data, Combination(*names))),
        "question_set": lambda *names: [layout.question_set(*names)],
        "answer": lambda *names: [layout.answers(*names)],
        "grade": lambda *names: [layout.grades(*names)],
        "score": lambda *names: _with_questions(layout.question_scores(*names)),
        "report": lambda: [
            *(layout.leaderboard.with_suffix(suffix) for suffix in (".csv", ".md")),
            layout.chains_picture,
        ],
        "track": lambda: [],
    }
    try:
        return writes[kind](*names) if kind in writes else None
    except TypeError:  # as many names as another kind takes
        return None


def _with_samples(score_file: Path) -> list[Path]:
    return [score_file, samples_file(score_file)]


def _with_questions(score_file: Path) -> list[Path]:
    return [score_file, questions_file(score_file)]

"""Do experiments and worktrees repeat calls, and where do their runs go? Run with DVC's own queue and Git's worktrees.

Run as ``python -m lab.one_store`` in the top folder; it writes ``reports/perf/one_store.json``. A small project is
evaluated, then once more with one more iteration by ``dvc exp run --temp``, with two and three more by two workers of
``dvc queue start`` at once, and as it was in a worktree of Git's.
"""

import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import typer

from driftledger.core.files import write_json
from lab.entry import new_app, run
from lab.kills import Project

RESULTS = "reports/perf/one_store.json"
_PATIENCE = 1800

app = new_app(__doc__ or "")


def _in(project: Project, *command: str) -> str:
    done = subprocess.run(
        command, cwd=project.root, env=project.environment, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _temporary(project: Project) -> None:
    _in(project, "dvc", "exp", "run", "--temp", "--set-param", "genception.iterations=4")


def _queued(project: Project) -> None:
    for iterations in (5, 6):
        _in(project, "dvc", "exp", "run", "--queue", "--set-param", f"genception.iterations={iterations}")
    _in(project, "dvc", "queue", "start", "--jobs", "2")
    end = time.monotonic() + _PATIENCE
    while any(word in (said := _in(project, "dvc", "queue", "status")) for word in ("Queued", "Running")):
        assert time.monotonic() < end, said
        time.sleep(2)
    assert said.count("Success") == 2, said


def _in_a_worktree(project: Project) -> None:
    further = Project(project.root.parent / "further")
    _in(project, "git", "worktree", "add", "--quiet", str(further.root))
    _in(further, "dvc", "repro")
    assert further.outputs() == project.outputs()
    assert not (further.root / "mlflow.db").exists()


WAYS = {"dvc exp run --temp": _temporary, "dvc queue start --jobs 2": _queued, "git worktree": _in_a_worktree}


@app.command()
def one_store() -> None:
    """Evaluate in every way, and count; exit code 1 where a call was made again or a run is missing."""
    repository, results = Path.cwd(), dict[str, Any]()
    with tempfile.TemporaryDirectory(prefix="one-store-") as folder:
        project = Project(Path(folder) / "project").make(repository)
        _in(project, "dvc", "repro")
        _in(project, "git", "add", "--all")
        _in(
            project, "git", "-c", "user.name=one", "-c", "user.email=one@localhost", "commit", "--quiet", "-m", "scores"
        )
        for name, way in WAYS.items():
            (stored, made), (runs, _) = project.calls(), project.runs()
            way(project)
            (now_stored, now_made), (now_runs, finished) = project.calls(), project.runs()
            results[name] = {
                "calls_needed_before": stored,
                "new_calls": now_stored - stored,
                "calls_repeated": now_made - made - (now_stored - stored),
                "new_runs_in_the_one_mlflow": now_runs - runs,
                "unfinished_runs": now_runs - finished,
            }
            print(name, results[name], flush=True)
    write_json(repository / RESULTS, results)
    print(json.dumps(results, indent=2))
    raise typer.Exit(1 if any(each["calls_repeated"] or each["unfinished_runs"] for each in results.values()) else 0)


if __name__ == "__main__":
    run(app)

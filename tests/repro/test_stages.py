"""A stage that is forked is what a process of its own is; whatever is not literally ours goes to the shell."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from driftledger.repro import stages
from driftledger.repro.stages import may_read_locks, words_of

SHELL = "/bin/sh"
OURS = "driftledger stage genception chain my_images regions_medium painter"

PARENT = """
import atexit, os, random, sys, threading, warnings
import numpy as np
from driftledger import start
from driftledger.repro import stages

def stage():
{}

start.main = stage
atexit.register(print, "the parent ends")
left = []
environment = {{"ONLY": "this", "PATH": "/bin"}}
for _ in range({}):
    print("before", flush=False)
    code = stages.run_forked(
        ["driftledger", "stage", "x"], "/", environment, every=0.2, meanwhile=lambda: print("meanwhile")
    )
    print("code", code, len(left))
"""


def forked(*lines: str, times: int = 1) -> "subprocess.CompletedProcess[str]":
    """What a parent says whose stage is these lines."""
    code = PARENT.format("".join(f"    {line}\n" for line in lines), times)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setattr(
        stages.threading, "active_count", lambda: 1
    )  # other tests of this process may have left threads
    return {"PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/bin"])}


def test_what_our_pipelines_write_is_forked(environment: dict[str, str]) -> None:
    if sys.platform != "linux":
        pytest.skip("elsewhere nothing is forked")
    assert words_of(OURS, SHELL, environment) == OURS.split()
    assert words_of("driftledger stage track", "/bin/bash", environment) == ["driftledger", "stage", "track"]


@pytest.mark.parametrize(
    "command",
    [
        *(
            "python train.py",
            "true",
            "driftledger",
            "driftledger stage",
            "driftledger run",
            "./driftledger stage track",
        ),
        *(
            f"{OURS} > log",
            f"{OURS} && true",
            f"{OURS}; true",
            f"{OURS} | tee log",
            f"{OURS} &",
            f" {OURS}",
            f"{OURS} ",
        ),
        *(f"A=1 {OURS}", f"{OURS} $HOME", f"{OURS} '*'", f"{OURS} ~", f"{OURS} a{{b,c}}", f"{OURS}\n{OURS}"),
        *(f"{OURS}\n", OURS.replace(" ", "\t"), OURS.replace(" ", "  "), f"{OURS} é", "xdriftledger stage track"),
    ],
)
def test_all_else_goes_to_the_shell(command: str, environment: dict[str, str]) -> None:
    assert words_of(command, SHELL, environment) is None
    assert may_read_locks(command)


def test_where_the_name_may_mean_something_else_it_goes_to_the_shell(
    environment: dict[str, str], tmp_path: Path
) -> None:
    for more in ({"BASH_ENV": "x"}, {"BASH_FUNC_driftledger%%": "() { :; }"}, {"PATH": "/usr/bin"}):
        assert words_of(OURS, SHELL, environment | more) is None
    for shell in (None, "/usr/bin/fish", "/bin/xonsh"):
        assert words_of(OURS, shell, environment) is None
    other = tmp_path / "driftledger"
    other.write_text("#!/bin/sh\n")
    other.chmod(stat.S_IRWXU)
    assert words_of(OURS, SHELL, {"PATH": f"{tmp_path}{os.pathsep}{environment['PATH']}"}) is None


def test_beside_other_threads_nothing_is_forked(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages.threading, "active_count", lambda: 2)
    assert words_of(OURS, SHELL, environment) is None


def test_stages_of_data_and_of_benchmarks_read_no_locks() -> None:
    waiting = ["driftledger stage dataset photos", "driftledger stage question_set scenes", OURS]
    assert not any(may_read_locks(command) for command in waiting)
    assert all(may_read_locks(f"driftledger stage {name}") for name in ("resolve", "report", "correlation", "track"))
    assert may_read_locks([OURS, OURS])
    assert may_read_locks(None)


def test_what_goes_wrong_meanwhile_leaves_the_stage_to_end(tmp_path: Path) -> None:
    """It may be at a call that is paid for."""
    (tmp_path / "stage.py").write_text(
        PARENT.format("    import time; time.sleep(0.6); print('it has ended', flush=True)", 1).replace(
            'print("meanwhile")', "1 / 0"
        )
    )
    done = subprocess.run([sys.executable, "stage.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[:2] == ["before", "it has ended"]
    assert done.stderr.splitlines()[-1].startswith("ZeroDivisionError")


def test_a_kernel_without_handles_of_processes_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: int) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", missing, raising=False)
    assert stages._ends_within(os.getpid(), 0.0)


def test_place_environment_and_words_are_those_of_the_command() -> None:
    done = forked("print(os.getcwd(), dict(os.environ), sys.argv[1:], sys.argv[0].endswith('/driftledger'))")
    assert done.stdout.splitlines()[:3] == [
        "before",
        "/ {'ONLY': 'this', 'PATH': '/bin'} ['stage', 'x'] True",
        "code 0 0",
    ]
    assert done.stdout.count("the parent ends") == 1
    assert done.stderr == ""


def test_what_a_stage_leaves_behind_ends_with_it() -> None:
    lines = ["left.append(1)", "os.chdir('/tmp')", "os.environ['MORE'] = '1'", "sys.path.append('x')"]
    done = forked(*lines, "print(len(left), random.random(), np.random.random())", times=2)
    seen = [line.split() for line in done.stdout.splitlines() if line[0] in "12"]
    assert [line[0] for line in seen] == ["1", "1"]
    assert seen[0][1:] != seen[1][1:]
    assert done.stdout.count("code 0 0") == 2


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("sys.exit()", 0),
        ("sys.exit(2)", 2),
        ("sys.exit('why')", 1),
        ("sys.exit(256)", 0),
        ("1 / 0", 1),
        ("os.kill(os.getpid(), 9)", -9),
        ("os.kill(os.getpid(), 15)", -15),
        ("raise KeyboardInterrupt", -2),
        ("os._exit(7)", 7),
    ],
)
def test_a_stage_ends_with_the_code_that_its_process_would(line: str, code: int) -> None:
    done = forked(line)
    assert f"code {code} 0" in done.stdout
    script = f"import os, sys\n{line}"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=False).returncode == code
    for word in ("why", "ZeroDivisionError: division by zero", "KeyboardInterrupt"):
        assert (word in done.stderr) == (word.split(":")[0].replace("ZeroDivisionError", "1 / 0") in line)


def test_what_a_stage_registers_for_its_end_is_called_and_its_threads_are_waited_for() -> None:
    done = forked(
        "atexit.register(print, 'registered')",
        "threading.Timer(0.1, print, ['waited for']).start()",
        "import weakref; start.kept = threading.Event(); weakref.finalize(start.kept, print, 'finalised')",
    )
    lines = done.stdout.splitlines()
    assert lines[:1] == ["before"]
    assert set(lines[1:4]) == {"waited for", "registered", "finalised"}
    assert lines[1] == "waited for"
    assert lines[4:] == ["code 0 0", "the parent ends"]


def test_what_waits_is_written_while_a_long_stage_runs_and_not_for_a_short_one() -> None:
    long = forked("import time; time.sleep(1)")
    assert long.stdout.splitlines()[:3] == ["before", "meanwhile", "code 0 0"]
    assert "meanwhile" not in forked("pass").stdout


def test_ctrl_c_reaches_the_stage_and_its_parent_goes_on() -> None:
    done = interrupted()
    assert "KeyboardInterrupt" in done.stderr
    assert "code -2 0" in done.stdout


def interrupted() -> "subprocess.CompletedProcess[str]":
    lines = ("import signal, time", "time.sleep(0.3)", "os.killpg(0, signal.SIGINT)", "time.sleep(10)")
    code = PARENT.format("".join(f"    {line}\n" for line in lines), 1)
    heard = f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n{code}"
    return subprocess.run(
        [sys.executable, "-c", heard], capture_output=True, text=True, check=False, timeout=60, start_new_session=True
    )


def test_what_is_imported_ahead_starts_no_thread_and_no_engine() -> None:
    code = (
        "import os, sys, threading\n"
        "from driftledger.repro.stages import import_needed\n"
        "import_needed()\n"
        "print(threading.active_count(), sorted({'torch', 'mlflow', 'ray', 'transformers', 'vllm'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split(maxsplit=1) == ["1", "[]\n"]

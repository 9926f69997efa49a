"""Without names that only POSIX has, every module is still imported, and commands still start.

This is all that is known of Windows. The libraries that driftledger uses are loaded before those
names are taken away: what they need is theirs.
"""

import json
import os
import select
import signal
import subprocess
import sys

import pytest

SIGNALS = {"SIGABRT", "SIGFPE", "SIGILL", "SIGINT", "SIGSEGV", "SIGTERM"}
"""The signals that Windows has, beside those of consoles."""
NAMES = {
    signal: "alarm getitimer pause pthread_kill pthread_sigmask setitimer siginterrupt sigpending "
    "sigtimedwait sigwait sigwaitinfo",
    select: "epoll poll",
    os: "WNOHANG O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_SYNC chown chroot confstr fchdir "
    "fchmod fchown fdatasync fork forkpty getegid geteuid getgid getgroups getloadavg getpgid "
    "getpgrp getpriority getsid getuid getxattr killpg lchown lockf mkfifo mknod nice openpty "
    "pathconf posix_fadvise posix_fallocate posix_spawn pread pwrite readv register_at_fork "
    "sched_getaffinity sched_setaffinity sendfile setgid setpgid setpriority setsid setuid statvfs "
    "sync sysconf tcgetpgrp ttyname uname wait wait3 wait4 waitid writev",
}
"""Module → names that Windows lacks."""
MODULES = "fcntl grp posix pty pwd resource syslog termios tty"
"""Modules that Windows lacks."""
CODE = """
import importlib, json, os, pkgutil, select, signal, sys
from contextlib import redirect_stdout, suppress
from io import StringIO

def run():
    import driftledger
    for module in pkgutil.walk_packages(driftledger.__path__, "driftledger."):
        if module.name != "driftledger.__main__":
            importlib.import_module(module.name)
    from driftledger.cli import main
    main()

taken, modules, sys.argv[1:] = json.loads(sys.argv[1])
sys.argv[0] = "driftledger"
with redirect_stdout(StringIO()), suppress(SystemExit):
    run()
for module, names in taken.items():
    for name in names:
        delattr(sys.modules[module], name)
for name in [name for name in sys.modules if name.partition(".")[0] == "driftledger"]:
    del sys.modules[name]
sys.modules |= dict.fromkeys(modules)
run()
"""


@pytest.mark.parametrize("command", ["--help", "plan --help", "models"])
def test_commands_start_without_what_only_posix_has(tmp_path, command):
    taken = {}
    for module, names in NAMES.items():
        taken[module.__name__] = [
            name for name in names.split() if hasattr(module, name)
        ]
    for name in signal.Signals.__members__:
        if name not in SIGNALS:
            taken["signal"].append(name)
    assert "SIGHUP" in taken["signal"]
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            CODE,
            json.dumps([taken, MODULES.split(), command.split()]),
        ],
        cwd=tmp_path,
        env=os.environ | {"COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()

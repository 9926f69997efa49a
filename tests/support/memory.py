"""How much memory some code takes, measured in a process of its own."""

import subprocess
import sys

_TOLD = """
import pathlib, re
print(int(re.search(r"VmHWM:\\s+(\\d+)", pathlib.Path("/proc/self/status").read_text())[1]) / 1024)
"""


def peak(code: str, *arguments: str, most: int = 4096) -> tuple[list[str], float]:
    """What some code prints, a line each, and the most memory it held at once, in MiB.

    Args:
        most: MiB of addresses that it may ask for, so that what does not hold takes no machine down.
    """
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({most << 20}, {most << 20}))\n"
    process = [sys.executable, "-c", limited + code + _TOLD, *arguments]
    done = subprocess.run(process, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    *said, last = done.stdout.splitlines()
    return said, float(last)

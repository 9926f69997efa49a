"""The chain stage holds one batch of images, however many samples there are."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

COLLECT = """
import resource, sys
from pathlib import Path
from PIL import Image
from driftledger.benchmarks.runner import write_collected
from driftledger.core.canonical import sha256_file
from driftledger.core.types import ImageFile, Sample
from tests.support.chains import chains, collected
from tests.support.fakes import EchoModel, SizeGenerator

folder, count = Path(sys.argv[1]), int(sys.argv[2])
samples = []
for number in range(count):
    path = folder / f"{number}.png"
    Image.new("RGB", (900, 700), (number % 256, 0, 0)).save(path)
    samples.append(Sample(str(number), ImageFile(path, sha256_file(path))))
collecting = chains(samples, EchoModel(batch_size=4), SizeGenerator(batch_size=4), 2, "draw {description}")
write_collected(folder / "out", collecting, collected(collecting, folder / "store"))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def peak_mib(folder: Path, samples: int) -> int:
    folder.mkdir()
    command = [sys.executable, "-c", COLLECT, str(folder), str(samples)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True, timeout=1800)
    return int(done.stdout)


@pytest.mark.slow
def test_peak_memory_does_not_grow_with_samples(tmp_path: Path) -> None:
    few, many = peak_mib(tmp_path / "few", 12), peak_mib(tmp_path / "many", 120)
    decoded = 108 * 2 * 900 * 700 * 3 // 2**20
    assert decoded > 380
    assert many - few < 40

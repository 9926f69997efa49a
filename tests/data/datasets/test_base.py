import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from driftledger.core.errors import DataError
from driftledger.data.datasets.base import PILLOW_LIMIT, digest_files, read_file
from driftledger_demo.datasets.photos import Photos
from tests.support.unprivileged import unprivileged


def test_a_missing_file_is_one_sentence_that_says_why(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^cats/a\.png cannot be read \(No such file or directory\); mend its rights"):
        read_file(tmp_path / "a.png", "cats/a.png")
    with pytest.raises(DataError, match=r"^cats/a\.png cannot be read"):
        digest_files([("cats/a.png", tmp_path / "a.png")])


def test_a_file_without_rights_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"x")
    (tmp_path / "a.png").chmod(0)
    with pytest.raises(DataError, match=r"^a\.png cannot be read \(Permission denied\)"):
        unprivileged(read_file, tmp_path / "a.png", "a.png")


def test_the_digest_of_files_hangs_on_names_and_content_alone(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(b"abc")
    other.write_bytes(b"abc")
    os.utime(other, (1, 1))
    assert digest_files([("x", one)]) == digest_files([("x", other)])
    assert digest_files([("x", one)]) != digest_files([("y", one)])
    other.write_bytes(b"abd")
    assert digest_files([("x", one)]) != digest_files([("x", other)])


@pytest.mark.parametrize("settings", [{"max_pixels": 0}, {"max_pixels": PILLOW_LIMIT + 1}, {"max_pixel": 5}])
def test_settings_out_of_bounds_or_unknown_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Photos(**settings)

"""What the checker says of a bundle that is as it was written, and how."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from driftledger_check.cli import check, main, run
from tests.conftest import REPOSITORY
from tests.support.bundles import Forger

CHECKER = REPOSITORY / "src" / "driftledger_check"


def test_what_is_as_it_was_written_is_reproduced(score_zip: Path) -> None:
    report = check(score_zip)
    assert report.holds
    assert {"files", "links", "fingerprints", "ledger", "numbers of genception/my_images"} == set(report.groups)
    for group in ("files", "links", "fingerprints"):
        assert {line.status for line in report.groups[group]} == {"reproduced"}
    assert len(report.groups["links"]) > 50


def test_json_has_every_line_and_the_text_one_per_group(score_zip: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(score_zip, as_json=True) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["holds"] is True
    assert said["counts"]["reproduced"] > 100
    assert {"where", "status", "what"} == set(said["lines"]["files"][0])
    assert run(score_zip) == 0
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) < 20
    assert shown[0].split()[0] == "files"
    assert "nobody signed the bundle" in "".join(shown)
    assert shown[-1].startswith("score.zip: ")


def test_a_difference_is_named_and_the_exit_code_is_1(
    forger: Forger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forger.members["environment.json"] += b" "
    assert run(forger.write(tmp_path / "x.zip")) == 1
    assert "differs: environment.json: it is " in capsys.readouterr().out


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\3\4" + bytes(100)])
def test_no_bundle_is_one_sentence_and_exit_code_2(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.zip").write_bytes(content)
    assert run(tmp_path / "x.zip") == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "x.zip is not a bundle" in said.err


def test_a_file_that_is_not_there_is_one_sentence(score_zip: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(Path("/nowhere/x.zip")) == 2
    assert "cannot be read: No such file" in capsys.readouterr().err
    assert run(score_zip, allowed_signers=Path("/nowhere/signers")) == 2
    assert "there is no file /nowhere/signers" in capsys.readouterr().err
    assert run(score_zip, checkpoint=score_zip) == 2
    assert "score.zip has more than" in (said := capsys.readouterr().err) or "score.zip is not the JSON of any" in said


def test_the_arguments_reach_the_checks(
    score_zip: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["driftledger-check", "--json", str(score_zip)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert json.loads(capsys.readouterr().out)["bundle"] == "score.zip"


LISTED = """
import sys
from driftledger_check.cli import main
try:
    main()
finally:
    print("modules:", *sorted(sys.modules))
"""


def test_alone_it_imports_nothing_of_the_package_and_writes_nothing(score_zip: Path, tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    shutil.copytree(CHECKER, alone / "driftledger_check", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "empty").mkdir()
    done = subprocess.run(
        [sys.executable, "-I", "-B", "-c", f"import sys; sys.path.insert(0, {str(alone)!r})\n{LISTED}", str(score_zip)],
        capture_output=True, text=True, check=False, cwd=tmp_path / "empty",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    modules = done.stdout.partition("modules: ")[2].split()
    assert "driftledger_check.links" in modules
    tops = {each.partition(".")[0] for each in modules}
    assert not tops & {"driftledger", "torch", "scipy", "skimage", "pydantic", "dvc", "mlflow", "requests", "httpx"}
    others = tops - {"driftledger_check", "numpy", "PIL", "cython_runtime", "sitecustomize"} - sys.stdlib_module_names
    assert {each for each in others if not each.startswith("_")} == set()
    assert not {"urllib.request", "http.client", "ssl"} & set(modules)
    assert list((tmp_path / "empty").iterdir()) == []

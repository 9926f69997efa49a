"""Bundles of other versions of driftledger, of foreign benchmarks, and those that ask for much."""

import errno
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from driftledger import __version__
from driftledger.core.canonical import sha256_bytes, sha256_of
from driftledger.core.media import png_bytes
from driftledger.ledger import rescoring
from driftledger.ledger.bundles import checking
from driftledger.ledger.bundles.checking import run
from driftledger.ledger.bundles.reading import FEATURES, FILES, MANIFEST
from tests.ledger.bundles.test_bundle import (
    RECORDS,
    SCORE,
    foreign,
)
from tests.ledger.conftest import CHAINS, GENCEPTION, MODEL
from tests.support.bundles import canonical
from tests.support.cases import cases, each_case
from tests.support.ledgers import number_in

FIDELITY = f"reports/scores/{MODEL}/fidelity/my_images/painter/layout"


def test_a_score_a_published_run_and_a_bundle_name_their_version(forger):
    for name, data in forger.members.items():
        if (
            name == MANIFEST
            or name.endswith("/score.json")
            or name.startswith("ledger/")
        ):
            assert json.loads(data)["driftledger"] == __version__, name


@each_case(cases(__file__, "versions"))
def test_a_bundle_of_another_version(forger, tmp_path, case, monkeypatch, capsys):
    """What is known is checked, whatever version a bundle claims."""
    monkeypatch.setattr(
        rescoring,
        "CORRECTIONS",
        {tuple(names): since for *names, since in case.get("corrections", ())},
    )

    result = forger.lines(FILES + RECORDS)[0]["results"][0]
    change = result | case.get("result", {})
    forger.put(FILES + RECORDS, 0, "results", 0, to=change)
    records = sha256_bytes(forger.members[FILES + RECORDS])

    score = forger.read(FILES + SCORE)
    score["inputs"]["records"] = {"chain": records}
    score.pop("driftledger")
    if case["wrote"]:
        score["driftledger"] = case["wrote"]
    for name, value in case.get("numbers", {}).items():
        number_in(score, name)["value"] = value
    for name in case.get("removes", ()):
        score["numbers"].remove(number_in(score, name))
    content = canonical(score | case.get("fields", {}))
    forger.members[FILES + SCORE] = content
    forger.follow()
    code = run(forger.write(tmp_path / "x.zip"))
    printed = capsys.readouterr().out
    assert case["says"] in printed
    assert code == case["code"], printed


def refingerprinted(card):
    names = ("provider", "version", "settings", "identity")
    return card | {"fingerprint": sha256_of({name: card[name] for name in names})}


def long_answer(forger):
    for number in (0, 1):
        text = "a " * 100_001
        forger.put(FILES + RECORDS, number, "results", 0, "text", to=text)


def large_picture(forger):
    png = png_bytes(Image.new("L", (10_001, 5_001)))
    [name, *_] = forger.names(f"{FILES}{CHAINS}/images")
    forger.members[name] = png


def other_format(forger):
    """A picture that Pillow would give to a program."""
    [name, *_] = forger.names(f"{FILES}{CHAINS}/images")
    forger.members[name] = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n"


def many_groups(forger):
    groups = {str(number): ["round"] for number in range(101)}
    card = f"{FILES}data/datasets/my_images/dataset.json"
    forger.put(card, "groups", to=groups)


def wide_features(forger):
    fingerprint = foreign(forger, GENCEPTION, "encoder")
    text = f"{FEATURES}{fingerprint}.txt"
    table = io.BytesIO()
    np.save(table, np.ones((len(forger.members[text].splitlines()), 2**20), np.float32))
    forger.members[f"{FEATURES}{fingerprint}.npy"] = table.getvalue()


def many_words(forger):
    score = f"{FILES}reports/scores/{MODEL}/trac/digits/shown/tfidf/score.json"
    card = forger.read(score)["components"]["text_encoder"]
    card["settings"]["max_features"] = 10**6
    forger.put(score, "components", "text_encoder", to=refingerprinted(card))


LARGE = [
    (long_answer, "an answer has 200,002 characters, and up to 200,000 are read"),
    (large_picture, "has 10001 × 5001 pixels, and up to 50,000,000 are decoded"),
    (other_format, "it is no PNG, JPEG or WebP that can be read"),
    (many_groups, "the data has 101 groups, and up to 100 are computed"),
    (many_words, "texts by 1,000,000 words are more than is computed for a stranger"),
    (wide_features, "numbers are more than is computed for a stranger"),
]


@pytest.mark.parametrize(("forge", "says"), LARGE, ids=[f.__name__ for f, _ in LARGE])
def test_what_would_take_too_much_is_not_computed(
    forger, tmp_path, forge, says, monkeypatch, capsys
):
    monkeypatch.setattr(checking, "DISTANCE_COST", 1e8)
    monkeypatch.setattr(checking, "TEXT_FEATURES", 1e6)
    forge(forger)
    forger.follow()
    assert run(forger.write(tmp_path / "x.zip")) in (1, 3)
    assert says in capsys.readouterr().out


def test_a_full_disk_is_no_forgery(score_zip, monkeypatch, capsys):
    def full(file, data):
        raise OSError(errno.ENOSPC, "No space left on device", str(file))

    monkeypatch.setattr(Path, "write_bytes", full)
    assert run(score_zip) == 3
    assert "has no room for its files; name another folder by TMPDIR" in (
        capsys.readouterr().out
    )


@pytest.mark.parametrize("same", [True, False])
def test_an_embedded_encoder_of_another_pillow_is_tried(forger, tmp_path, same):
    """What it reproduces is reproduced; a number that it does not give is not checked."""

    card = forger.read(FILES + SCORE)["components"]["encoder"]
    card["identity"]["pillow"] = "1.0"
    forger.put(FILES + SCORE, "components", "encoder", to=refingerprinted(card))
    if not same:
        forger.put(FILES + SCORE, "category/round/gc_at_2", "value", to=0.99)
    forger.follow()
    report = forger.check(tmp_path)
    lines = report.groups[f"numbers of {GENCEPTION.removeprefix('reports/scores/')}"]
    statuses = {line.where.partition(": ")[2]: line.status for line in lines}
    assert statuses["category/round/gc_at_2"] == (
        "reproduced" if same else "not checkable"
    )
    assert statuses["components.encoder.identity.pillow"] == "not checkable"
    assert statuses["gc_at_2"] == "reproduced"
    assert "differs" not in statuses.values()


NEEDED = (
    "PIL annotated_doc annotated_types filelock numpy platformdirs pydantic "
    "pydantic_core ruamel scipy shellingham typer typing_extensions typing_inspection"
)
"""What ``driftledger check`` imports of others, in docs/trust.md by the names of distributions."""
EMBEDDED_WORDS = "safetensors tokenizers"
ALONE = """
import json, sys
from importlib.metadata import packages_distributions
others = packages_distributions()
refused = others.keys() - {*sys.argv.pop(1).split(), "driftledger", "driftledger_demo"}
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in refused:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Finder())
from driftledger.cli import main
try:
    main()
except SystemExit as end:
    loaded = {name.partition(".")[0] for name in sys.modules}
    ours = {"_distutils_hack", "driftledger", "driftledger_demo"}
    print(json.dumps([end.code, sorted((loaded & others.keys()) - ours)]))
"""


@pytest.mark.parametrize(
    "installed", [NEEDED, f"{NEEDED} {EMBEDDED_WORDS}"], ids=["least", "words"]
)
def test_check_needs_few_libraries_and_runs_no_other(score_zip, installed):
    """As after ``pip install --no-deps driftledger`` and these: no DVC, MLflow or torch."""
    command = [sys.executable, "-c", ALONE, installed, "check", str(score_zip)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    ended, loaded = json.loads(done.stdout.splitlines()[-1])
    assert ended == 0, done.stdout
    assert {*loaded} == {*installed.split()}

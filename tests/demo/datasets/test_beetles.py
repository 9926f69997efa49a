"""The drawn beetles: what tells the species apart, and what only tells individuals apart."""

import json
import subprocess
import sys
from collections import Counter
from functools import cache
from io import BytesIO
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pydantic import ValidationError
from skimage.measure import label

from driftledger.core.files import read_jsonl
from driftledger.core.registry import provider_class
from driftledger.core.strict import explain
from driftledger.data.datasets.build import build
from driftledger.data.records import SampleEntry
from driftledger.demo.choices import between, roll
from driftledger.demo.cielab import lab
from driftledger.demo.datasets.beetles.anatomy import Part, sprite
from driftledger.demo.datasets.beetles.drawing import draw
from driftledger.demo.datasets.beetles.provider import Beetles
from driftledger.demo.datasets.beetles.species import COLOURS, SPECIES, Species
from driftledger.demo.datasets.digits import Digits
from driftledger.demo.vocabulary import COLOURS as VOCABULARY
from tests.support.machines import DISPATCHED, blas, environment, without

GOLDEN = Path(__file__).parents[1] / "golden" / "labelled.py"


@cache
def shown(support: int, test: int) -> dict[str, bytes]:
    """Id → pixels."""
    items = Beetles(support_per_label=support, test_per_label=test).items()
    return {item.id: Image.open(BytesIO(item.read())).tobytes() for item in items}


def test_the_default_set(tmp_path: Path) -> None:
    card = build("beetles", Beetles(), tmp_path / "beetles")
    assert card.samples == 360
    assert card.general_category == "beetle"
    assert card.labels == {species.name: {"support": 10, "test": 5} for species in SPECIES}
    assert card.leaks == {}
    entries = read_jsonl(tmp_path / "beetles" / "samples.jsonl", SampleEntry)
    assert {(entry.width, entry.height) for entry in entries} == {(128, 128)}
    assert not any(entry.notes for entry in entries)


def test_no_image_is_there_twice() -> None:
    assert len(set(shown(20, 20).values())) == len(shown(20, 20)) == 24 * 40


def test_counts_change_no_individual() -> None:
    for support, test in ((1, 1), (12, 2), (2, 7)):
        few = shown(support, test)
        assert few.items() <= shown(20, 20).items()
        assert Counter(name.partition("-")[0] for name in few) == {"support": 24 * support, "test": 24 * test}


def test_an_id_does_not_give_the_species_away() -> None:
    names = [species.name.lower() for species in SPECIES]
    assert not [sample for sample in shown(1, 1) for name in names if name in sample]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"support_per_label": 0}, "b: support_per_label: Input should be greater than or equal to 1 (got 0)"),
        ({"test_per_label": 1001}, "b: test_per_label: Input should be less than or equal to 1000 (got 1001)"),
        ({"species": 3}, "b: setting 'species' is unknown; "),
    ],
)
def test_wrong_settings_are_one_sentence(wrong: dict[str, int], said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Beetles.model_validate(wrong)
    assert explain(caught.value, "b").startswith(said)


def test_every_two_species_differ_and_each_has_a_twin_that_differs_in_one_attribute() -> None:
    differing = {(one.name, other.name): one.differs(other) for one, other in combinations(SPECIES, 2)}
    assert all(differing.values())
    alone = Counter(names[0] for names in differing.values() if len(names) == 1)
    assert set(alone) == {"body", "wings", "head", "spots", "marks"}
    assert sum(alone.values()) >= 15
    twins = {name for pair, names in differing.items() if len(names) == 1 for name in pair}
    assert twins == {species.name for species in SPECIES}


@pytest.mark.parametrize("species", SPECIES, ids=lambda species: species.name)
def test_marks_have_a_colour_exactly_where_there_are_marks(species: Species) -> None:
    assert (species.marks is not None) == (species.band or species.spots > 0)
    assert species.marks != species.wings


def test_names_say_nothing() -> None:
    names = [species.name.lower() for species in SPECIES]
    assert len(set(names)) == len(names) == 24
    words = {
        word for name in (*VOCABULARY, *COLOURS, "round", "long", "band", "spot", "beetle") for word in name.split()
    }
    assert not [(name, word) for name in names for word in words if word in name]
    assert not [pair for pair in combinations(names, 2) if pair[0][:4] == pair[1][:4]]


def test_the_nearest_shades_can_still_be_told_apart() -> None:
    """ΔE of 15 is far above what is just noticeable (about 2.3), and above what shade adds to an individual."""
    seen = {name: lab(np.array(colour, dtype=np.uint8)) / 10 for name, colour in COLOURS.items()}
    assert min(float(np.linalg.norm(seen[one] - seen[other])) for one, other in combinations(seen, 2)) > 15


def spots(species: Species) -> int:
    """How many separate parts of the mark's colour there are, the band's halves aside."""
    marks = sprite(species, 100) == Part.MARK
    return int(label(marks, connectivity=1).max()) - 2 * species.band


@pytest.mark.parametrize("species", SPECIES, ids=lambda species: species.name)
def test_the_drawing_keeps_to_the_table(species: Species) -> None:
    parts = sprite(species, 100)
    assert spots(species) == species.spots
    wings = np.argwhere((parts == Part.RIM) | (parts == Part.WING))
    height, width = np.ptp(wings, axis=0)
    assert (10 * height > 15 * width) == (species.body == "long")
    assert set(np.unique(parts).tolist()) - {Part.MARK} == {0, *Part} - {Part.MARK}


@pytest.mark.parametrize("size", [88, 93, 100])
def test_a_beetle_is_the_same_on_both_sides_but_for_the_light(size: int) -> None:
    for species in SPECIES:
        unlit = np.where(sprite(species, size) == Part.SHINE, Part.WING, sprite(species, size))
        assert np.array_equal(unlit, unlit[:, ::-1]), species.name


def test_individuals_are_drawn_whole() -> None:
    for size in range(88, 101):
        for species in (SPECIES[0], SPECIES[8]):
            parts = sprite(species, size)
            edges = (parts[0], parts[-1], parts[:, 0], parts[:, -1])
            assert not any(edge.any() for edge in edges), f"{species.name} at {size} % touches the edge"


def test_individuals_of_a_species_differ_in_all_that_is_theirs() -> None:
    keys = [("beetles", SPECIES[0].name, "support", number) for number in range(40)]
    assert {roll(4, *key, "quarter turns") for key in keys} == {0, 1, 2, 3}
    assert {roll(4, *key, "ground") for key in keys} == {0, 1, 2, 3}
    assert {between(92, 108, *key, "shade") for key in keys} <= set(range(92, 109))
    assert draw(SPECIES[0], "support", 0).tobytes() != draw(SPECIES[0], "test", 0).tobytes()


def test_the_source_digest_sees_the_settings() -> None:
    digests = {Beetles(test_per_label=count).source_digest() for count in (4, 5)}
    assert len(digests) == 2
    assert Beetles().source_digest() in digests
    assert Beetles().source() == {"kind": "beetles", "version": Beetles.version}


def test_the_registry_finds_the_beetles() -> None:
    assert provider_class("datasets", "beetles") is Beetles


def golden(**machine: str) -> dict[str, dict[str, str]]:
    done = subprocess.run(
        [sys.executable, str(GOLDEN)], env=environment(machine), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def now() -> dict[str, dict[str, str]]:
    return golden(PYTHONHASHSEED="12345")


def test_pixels_change_only_with_the_version(now: dict[str, dict[str, str]]) -> None:
    written = json.loads(GOLDEN.with_suffix(".json").read_text())
    how = "then run: python tests/demo/golden/labelled.py --write"
    for made in (Digits, Beetles):
        known = written[made.provider]
        assert made.version in known, f"version {made.version} of {made.provider} is not written down; {how}"
        assert now[made.provider] == {made.version: known[made.version]}, (
            f"{made.provider} changed: raise the version of {made.__name__} if this is meant, {how}"
        )


@pytest.mark.slow
@pytest.mark.parametrize("kept", range(len(DISPATCHED) + 1))
def test_same_pixels_at_every_cpu_level(now: dict[str, dict[str, str]], kept: int) -> None:
    """``kept`` is how many of numpy's dispatched feature levels are left on."""
    assert golden(**without(*DISPATCHED[kept:]), **blas("Prescott", 1)) == now

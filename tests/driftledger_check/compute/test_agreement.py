"""Two programs, one score: what the checker finds is what driftledger stored, to the bit."""

from driftledger_check.compute import recompute, stored
from tests.support.checked import Checkout


def test_every_value_of_every_score_is_found_again(evaluated: Checkout) -> None:
    seen = set()
    for place in evaluated.places:
        files = evaluated.files(place)
        found, kept = recompute(files), stored(files)
        assert found.numbers == kept, files.place
        seen.add(files.score["benchmark"])
    assert seen == {"genception", "trac", "fidelity", "mm_sap", "mm_vet", "mme"}

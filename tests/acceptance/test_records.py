"""Every record and image that the embedded components make is the one in ``golden/``."""

from tests.acceptance.checkout import Checkout
from tests.acceptance.records import digests, read_golden


def test_embedded_components_say_and_draw_the_same(evaluated: Checkout) -> None:
    golden, now = read_golden(), digests(evaluated.root)
    assert golden, "there are no golden digests"
    wrong = [f"{name}: {now.get(name)}, golden {rest}" for name, rest in golden.items() if now.get(name) != rest]
    assert not wrong, "\n".join(wrong)
    assert now.keys() == golden.keys()

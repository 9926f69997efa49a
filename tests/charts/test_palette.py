from itertools import pairwise

from driftledger.charts.palette import COLOURS, GREY, SHAPES, colour_of
from tests.support.svg import contrast

DARK = "#14171c"


def test_every_colour_is_read_on_white_and_seen_on_black() -> None:
    for colour in (*COLOURS, GREY):
        assert contrast(colour, "#ffffff") >= 4.5, colour
        assert contrast(colour, DARK) >= 3, colour


def test_a_model_looks_the_same_whatever_controls_and_models_stand_behind_it() -> None:
    few = colour_of(["a", "blind", "b"], {"blind"})
    more = colour_of(["a", "b", "random", "blind", "c"], {"blind", "random"})
    assert (few["a"], few["b"]) == (more["a"], more["b"])
    assert few["blind"].colour == more["random"].colour == GREY
    assert few["blind"].hollow
    assert not few["a"].hollow


def test_no_two_of_forty_models_look_alike_and_neighbours_differ_in_colour_and_shape() -> None:
    names = [str(number) for number in range(40)]
    looks = list(colour_of(names).values())
    assert len(set(looks)) == 40
    assert all(a.colour != b.colour and a.shape != b.shape for a, b in pairwise(looks))
    controls = list(colour_of(names[:6], names).values())
    assert len({each.shape for each in controls}) == len(SHAPES)

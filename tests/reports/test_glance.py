"""The table that a run ends with, and the number that is asked for next."""

from driftledger.reports.glance import best_number, glance
from tests.benchmarks.genception.test_tables import best_and_worst, gc_only
from tests.support.description_ledgers import fidelity_score, trac_score
from tests.support.question_ledgers import question_score
from tests.support.terminal import fitting, printed


def test_models_stand_best_first_under_their_metrics_in_words() -> None:
    text = printed(glance([*best_and_worst(), trac_score(), fidelity_score(), question_score()]), 100).splitlines()
    assert [line.split()[0] for line in text if line.startswith(("best", "worst"))] == ["best", "worst"]
    assert " ".join(" ".join(text[:4]).split()).startswith("MM-SAP")  # the longest head
    assert text[-1] == "on shapes, digits, exam; reports/leaderboard.md has all"


def test_controls_stand_apart_and_are_not_asked_for_next() -> None:
    worst, best = best_and_worst()
    card = best.components["model"].model_copy(update={"provider": "blind"})
    blind = best.model_copy(update={"components": best.components | {"model": card}})
    text = fitting(glance([blind, worst])).splitlines()
    assert [line.split()[0] for line in text[5:8]] == ["worst", "controls:", "best"]
    assert [line.strip() for line in text[:5]] == ["GenCeption", "GC@2", "(control", "above", "1 of 1)"]
    assert text[-1].startswith("controls do not look at the image; on shapes")
    assert best_number([blind, worst]) == (worst, "gc_at_2")
    assert best_number([blind]) == (blind, "gc_at_2")


def test_long_names_fit_narrow_terminals() -> None:
    fitting(glance([gc_only(f"{letter}_{'long_' * 12}", 0.5, 0.5, 0.5) for letter in "ab"]))


def test_of_many_models_the_first_are_shown() -> None:
    text = fitting(glance([gc_only(f"m{n:02}", 0.5 + n / 100, 0.5, 0.5) for n in range(25)]))
    assert "and 5 more" in text


def test_without_scores_there_is_nothing() -> None:
    assert printed(glance([])) == ""
    assert best_number([]) is None


def test_the_best_number_is_called_as_shortly_as_can_be() -> None:
    worst, best = best_and_worst()
    assert best_number([worst, best]) == (best, "gc_at_2")
    there = [gc_only("a", 0.1, 0.1, 0.1, dataset=each) for each in ("x", "y")]
    found = best_number(there)
    assert found is not None
    assert found[1] == "genception/x/gc_at_2"

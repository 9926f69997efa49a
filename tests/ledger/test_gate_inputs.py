"""What a gate refuses to judge: runs that did not happen, and numbers that nobody recomputed."""

import contextlib
import shutil

import pytest

from driftledger.commands.compare import compare
from driftledger.core.errors import LedgerError
from driftledger.ledger.gate import Gate, Verdict
from driftledger.ledger.published import publish
from tests.ledger.conftest import CHAINS, GENCEPTION, MODEL

RUN = f"{MODEL}/painter/layout"
FORMER = f"HEAD:{RUN}"
NOT_EVALUATED = (
    "B, regions_medium · painter · layout, has not been evaluated since params.yaml or what it "
    "names changed ("
)
RULES = [Gate("worse"), Gate("changed"), Gate("not-as-good", 0.1, "gc_at_2")]


def concluded(ledger, gate=RULES[0], a=FORMER, b=RUN):
    with contextlib.chdir(ledger.root):
        compared = compare(ledger.project, a, b, gate=gate)
    assert compared.as_markdown().splitlines()[-1].startswith("- ")
    return compared.conclusion


def raise_scores(ledger):
    """Raise the numbers of a score and of its rows by hand."""
    ledger.put(f"{GENCEPTION}/rows.jsonl", "*", "values", "gc", to=[0.9, 0.9])
    ledger.put(f"{GENCEPTION}/score.json", "gc_at_2", "value", to=0.9)
    ledger.relock()


def without_history(ledger):
    """Leave the history behind, where a ledger has been, so that nobody misses it."""
    ledger.git("checkout", "--quiet", "--orphan", "anew")
    shutil.rmtree(ledger.root / "ledger")
    ledger.commit("no ledger, and no history")


@pytest.mark.parametrize("gate", RULES)
def test_a_run_that_is_current_is_one_run_with_what_was_committed(original, gate):
    verdict = concluded(original, gate)
    assert verdict == (
        Verdict.PASSES,
        "A and B are one run (A as published, B recomputed from its records)",
    )


@pytest.mark.parametrize(
    ("gate", "old", "new", "says"),
    [
        *((gate, '"seed": 1', '"seed": 2', "my_images/painter.seed") for gate in RULES),
        (RULES[0], '"iterations": 2', '"iterations": 1', "painter.iterations"),
        (RULES[0], '"detail": "medium"', '"detail": "coarse"', "painter.model"),
        (RULES[0], '"fidelity": ["my_images"]', '"fidelity": []', "fidelity/my_images"),
    ],
)
def test_a_gate_cannot_tell_of_settings_that_were_not_run(ledger, gate, old, new, says):
    params = ledger.root / "params.yaml"
    text = params.read_text()
    assert old in text
    params.write_text(text.replace(old, new))
    verdict = concluded(ledger, gate)
    assert verdict.verdict is Verdict.UNKNOWN
    assert verdict.says.startswith("cannot tell: ")
    assert NOT_EVALUATED in verdict.says
    assert says in verdict.says
    assert verdict.says.endswith("; run 'driftledger run'")


def test_code_of_others_is_not_run_to_find_out(ledger):
    params = ledger.root / "params.yaml"
    text = params.read_text()
    params.write_text(text.replace('"provider": "regions"', '"provider": "mine:Seer"'))
    verdict = concluded(ledger)
    assert verdict.verdict is Verdict.UNKNOWN
    assert "params.yaml cannot be resolved here: " in verdict.says
    assert "--trust" in verdict.says


def test_it_says_that_nothing_differs(ledger):
    params = ledger.root / "params.yaml"
    params.write_text(params.read_text().replace('"seed": 1', '"seed": 2'))
    assert concluded(ledger).says.startswith(
        f"cannot tell: A and B are one run; {NOT_EVALUATED}"
    )


def test_a_gate_cannot_tell_of_images_that_were_not_run(ledger):
    shutil.copy(
        ledger.root / "my_images/round/1.png", ledger.root / "my_images/round/7.png"
    )
    verdict = concluded(ledger)
    assert f"{NOT_EVALUATED}datasets.my_images.source)" in verdict.says


def test_a_run_of_a_commit_is_what_that_commit_has(ledger):
    params = ledger.root / "params.yaml"
    params.write_text(params.read_text().replace('"seed": 1', '"seed": 2'))
    verdict = concluded(ledger, b=FORMER)
    assert verdict.verdict is Verdict.PASSES


def test_numbers_written_by_hand_are_refused(ledger):
    raise_scores(ledger)
    with pytest.raises(LedgerError, match="is not as it was published"):
        concluded(ledger)
    without_history(ledger)
    publish(ledger.root, ledger.evidence())
    with pytest.raises(LedgerError, match="the records give"):
        concluded(ledger, a=f"main:{RUN}")


def test_a_deleted_ledger_is_refused(ledger):
    shutil.rmtree(ledger.root / "ledger")
    ledger.commit("without a ledger")
    with pytest.raises(LedgerError, match=r"the published runs .* it is gone"):
        concluded(ledger, a=f"HEAD~1:{RUN}")


def test_a_run_that_is_not_published_cannot_be_judged(ledger):
    without_history(ledger)
    verdict = concluded(ledger, a=f"main:{RUN}")
    assert verdict.verdict is Verdict.UNKNOWN
    assert "is not published; run 'driftledger run'" in verdict.says


def test_a_run_whose_records_are_elsewhere_cannot_be_judged(ledger):
    shutil.rmtree(ledger.root / CHAINS)
    shutil.rmtree(ledger.root / ".dvc/cache")
    verdict = concluded(ledger)
    assert verdict.verdict is Verdict.UNKNOWN
    assert "cannot be computed from its records here" in verdict.says
    assert verdict.says.endswith("'dvc pull' brings what a remote has")


def test_scores_by_two_versions_are_both_recomputed(ledger):
    for score in (ledger.root / f"reports/scores/{MODEL}").rglob("score.json"):
        path = str(score.relative_to(ledger.root))
        ledger.put(path, "driftledger", to="1.0.0.dev1")
    ledger.relock()
    without_history(ledger)
    publish(ledger.root, ledger.evidence())
    verdict = concluded(ledger, a=f"main:{RUN}")
    assert verdict.says.endswith(
        "(A recomputed from its records, B recomputed from its records)"
    )

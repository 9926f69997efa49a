import json
import subprocess

import pytest

from driftledger.benchmarks.registry import benchmark as spec_of
from driftledger.benchmarks.registry import benchmarks
from driftledger.collect.observations import Observed
from driftledger.core.errors import LedgerError
from driftledger.ledger.compare.compare import compare
from driftledger.ledger.compare.told import as_table
from driftledger.ledger.lineage import Evidence, Lineage
from driftledger.ledger.objects.contents import Contents
from driftledger.metrics.paired import minimum_detectable_difference
from tests.support.compared_runs import OTHER, answered, chains, redrawn, retrieved, run
from tests.support.description_ledgers import fidelity_score, trac_score
from tests.support.ledgers import component, genception_score, marked, md5_of, varied
from tests.support.question_ledgers import question_score
from tests.support.terminal import fitting, printed

EIGHT = [f"s{number}a" for number in range(8)]
LOW = {sample: [0.5, 0.25 + number / 64] for number, sample in enumerate(EIGHT)}
HIGH = {sample: [0.5, 0.75 - number / 64] for number, sample in enumerate(EIGHT)}
"""The differences at t = 2 go from 0.5 down to 0.5 - 14/64, and are 0 at t = 1."""

SEEN = {"ssim": 31.5, "image_similarity": 71.0, "clip_s": 30.0}
JUDGE = component("other_judge")


def compared(root, a, b, **more):
    a, b = (each if isinstance(each, Evidence) else run(each) for each in (a, b))
    return compare(a, b, Contents(root), **more)


def metrics(comparison, number=0):
    return {each.metric: each for each in comparison.pairs[number].metrics}


def test_the_higher_one_is_named_with_its_paired_interval(tmp_path):
    found = compared(tmp_path, chains(tmp_path, "a", LOW), chains(tmp_path, "b", HIGH, metrics={"gc_at_2": 0.9}))
    gc = metrics(found)["gc_at_2"]
    assert (gc.a, gc.b) == (0.7, 0.9)  # as the score files have it, whatever the rows say
    assert (gc.common, gc.only_a, gc.only_b) == (8, 0, 0)
    assert gc.difference == pytest.approx(0.5 - 7 / 64)
    assert 0.28 < gc.low < gc.difference < gc.high < 0.5
    assert gc.b_common - gc.a_common == pytest.approx(gc.difference)
    assert gc.verdict == "B is higher"
    assert gc.high - gc.difference == pytest.approx(gc.difference - gc.low)
    assert 2 < (gc.high - gc.difference) / gc.standard_error < 3  # t with seven degrees of freedom
    assert (gc.df, gc.p_value) == (7, 2**-7)  # eight of one sign
    assert found.comparable
    turned = metrics(compared(tmp_path, chains(tmp_path, "b", HIGH), chains(tmp_path, "a", LOW)))["gc_at_2"]
    assert turned.verdict == "A is higher"
    assert turned.difference == -gc.difference


def test_a_run_does_not_differ_from_itself(tmp_path):
    one = run(
        chains(tmp_path, "a", LOW),
        retrieved(tmp_path, "a", dict.fromkeys(EIGHT, True)),
        redrawn(tmp_path, "a", {sample: {"ssim": 31.5, "image_similarity": 71.0} for sample in EIGHT}),
        answered(tmp_path, "a", {f"{number}-1": [1.0, 0.0] for number in range(8)}),
    )
    found = compared(tmp_path, one, one)
    assert [pair.benchmark for pair in found.pairs] == ["genception", "trac", "fidelity", "mm_sap"]
    for pair in found.pairs:
        for each in pair.metrics:
            assert (each.difference, each.low, each.high) == (0, 0, 0)
            assert each.verdict == "no difference that these samples show"
    assert found.comparable
    assert found.about == found.noted == found.only_a == found.only_b == []


def test_only_common_samples_are_compared_and_the_others_counted(tmp_path):
    """Of a chain that broke off there is no value; a sample of another category is another sample."""
    broken = LOW | {"s0a": [0.5, None], "s1a": [None, None], "extra_a": [0.0, 0.0]}
    found = compared(tmp_path, chains(tmp_path, "a", broken), chains(tmp_path, "b", HIGH))
    gc = metrics(found)["gc_at_2"]
    assert (gc.common, gc.only_a, gc.only_b) == (6, 1, 2)
    assert gc.difference == pytest.approx(0.5 - (4 + 6 + 8 + 10 + 12 + 14) / 6 / 64)
    told = "1 have a value for A alone, 2 for B alone; over the common ones "
    assert f"GC@2: {told}{gc.a_common:.3f} and {gc.b_common:.3f}" in printed(as_table(found))


def test_samples_of_a_category_are_averaged_before_categories(tmp_path):
    """Six samples of a with a difference of 0.25, six of b with none: 0.125, and not more for more samples of b."""
    names = [f"s{number}{category}" for category in "abb" for number in range(6)]
    low = {name: [0.5, 0.5] for name in names}
    high = {name: [0.5, 0.75 if name.endswith("a") else 0.5] for name in names}
    gc = metrics(compared(tmp_path, chains(tmp_path, "a", low), chains(tmp_path, "b", high)))["gc_at_2"]
    assert (gc.difference, gc.low, gc.high) == (0.125, 0.125, 0.125)


def test_too_few_samples_show_nothing(tmp_path):
    """Five that agree are no evidence at 95 %, though a t-test, which takes them for normal, would say so."""
    five = EIGHT[:5]
    sides = [chains(tmp_path, name, {s: some[s] for s in five}) for name, some in (("a", LOW), ("b", HIGH))]
    gc = metrics(compared(tmp_path, *sides))["gc_at_2"]
    assert gc.low > 0
    assert gc.verdict == "not ranked: 5 samples can vary, and fewer than 6 show nothing with 95%"
    settings = {"confidence": 0.9, "iterations": 2, "seed": 1}
    less = chains(tmp_path, "a", {s: LOW[s] for s in five}, varied(genception_score(), settings=settings))
    assert metrics(compared(tmp_path, less, sides[1]))["gc_at_2"].verdict == "B is higher"


def test_hits_of_trac_are_paired_by_test_sample(tmp_path):
    a, b = ({f"s{number:02}": number < most for number in range(20)} for most in (5, 15))
    b["s00"] = None
    found = metrics(compared(tmp_path, retrieved(tmp_path, "a", a), retrieved(tmp_path, "b", b)))
    assert set(found) == {"top1", "class_mean"}
    assert found["top1"].difference == pytest.approx(100 * 10 / 19)
    assert (found["top1"].common, found["top1"].only_a) == (19, 1)
    assert found["top1"].verdict == "B is higher"


def test_a_description_of_unknown_words_is_wrong_and_one_of_a_lost_class_is_not_scored(tmp_path):
    hits = {f"s{number}": True for number in range(8)}
    a, b = retrieved(tmp_path, "a", hits), retrieved(tmp_path, "b", dict.fromkeys(hits))
    assert metrics(compared(tmp_path, a, b))["top1"].verdict == "not ranked: no sample has a value in both"


def test_questions_are_compared_by_question_and_drawn_by_image(tmp_path):
    """Two questions about each of eight images: A has half of its repeats right, B all that could be read."""
    names = [f"{image}-{number}" for image in range(8) for number in (1, 2)]
    a = {name: [1.0, 0.0] for name in names}
    b = {name: [1.0, None] for name in names} | {"0-1": [None, None]}
    found = compared(tmp_path, answered(tmp_path, "a", a), answered(tmp_path, "b", b))
    score = metrics(found)["score"]
    assert (score.common, score.only_a, score.only_b) == (15, 1, 0)
    assert (score.a_common, score.b_common, score.difference) == (50.0, 100.0, 50.0)
    assert score.verdict == "B is higher"


def test_questions_about_few_images_show_nothing_however_many_they_are(tmp_path):
    a, b = ({f"{image}-{n}": [value] for image in range(3) for n in range(9)} for value in (0.0, 1.0))
    score = metrics(compared(tmp_path, answered(tmp_path, "a", a), answered(tmp_path, "b", b)))["score"]
    assert score.common == 27
    assert score.verdict.startswith("not ranked: 3 samples can vary")


def test_grades_of_mm_vet_are_means_over_gradings(tmp_path):
    names = [f"{image}-1" for image in range(6)]
    a, b = (dict.fromkeys(names, values) for values in ([0.3, 0.4], [0.6, 0.7, 0.8]))
    sides = [answered(tmp_path, name, some, "mm_vet") for name, some in (("a", a), ("b", b))]
    total = metrics(compared(tmp_path, *sides))["total"]
    assert (total.a_common, total.b_common) == (35.0, 70.0)
    assert (total.difference, total.low, total.high) == (35.0, 35.0, 35.0)


def test_grades_between_two_tenths_are_compared_as_what_they_are(tmp_path):
    names = [f"{image}-1" for image in range(6)]
    a, b = (dict.fromkeys(names, values) for values in ([0.25, 0.75], [0.5, 0.625]))
    sides = [answered(tmp_path, name, some, "mm_vet") for name, some in (("a", a), ("b", b))]
    total = metrics(compared(tmp_path, *sides))["total"]
    assert (total.a_common, total.b_common, total.difference) == (50.0, 56.25, 6.25)
    assert total.verdict == "B is higher"


def test_pairs_of_mme_are_compared_within_categories(tmp_path):
    """An image's two questions give 0, 50 or 200. Of count B has both right, and A one; of color both have one."""
    images = [f"{category}{number}" for category in ("c", "x") for number in range(6)]
    groups = {image: image[0] for image in images}
    a = {image: [50.0] for image in images}
    b = a | {f"c{number}": [200.0] for number in range(6)} | {"x5": []}  # one that could not be read is not common
    sides = [answered(tmp_path, name, some, "mme", groups=groups) for name, some in (("a", a), ("b", b))]
    score = metrics(compared(tmp_path, *sides))["score"]
    assert (score.a_common, score.b_common, score.difference) == (50.0, 125.0, 75.0)
    assert (score.common, score.only_a, score.only_b) == (11, 1, 0)


def with_chain(**changes):
    return {"score": varied(genception_score(), **changes)}


TOLD = varied(
    genception_score(metrics=genception_score().metrics | {"text_similarity_at_2": 0.8, "cross_check": 0.4}),
    **{"text_encoder": component("reader"), "witness.other": component("other")},
)
"""With descriptions compared."""


def with_texts(**changes):
    return {"score": varied(TOLD, **changes)}


def with_redraws(**changes):
    return {"score": varied(fidelity_score(metrics=SEEN), **changes)}


def with_descriptions(asked="short", **changes):
    return {"score": varied(trac_score(asked), **changes)}


def answers_scored(benchmark):
    return question_score(benchmark, metrics={"total" if benchmark == "mm_vet" else "score": 50.0})


def with_questions(benchmark, **changes):
    return {"score": varied(answers_scored(benchmark), **changes)}


def without(score, **settings):
    """The same scored with other settings."""
    return varied(score, settings=score.inputs.settings | settings)


UNFAIR = [
    ("genception", "dataset", with_texts(data_digest="e" * 64)),
    ("genception", "describe_prompt", with_texts(describe_prompt="Tell it.")),
    ("genception", "max_tokens", with_texts(max_tokens=30)),
    ("genception", "generate_prompt", with_texts(generate_prompt="{description}")),
    ("genception", "iterations", with_texts(iterations=3)),
    ("genception", "iterations_by_group", with_texts(iterations_by_group={"textual": 1})),
    ("genception", "encoder", with_texts(encoder=component("lens"))),
    ("genception", "text_encoder", with_texts(text_encoder=component("lens"))),
    ("genception", "witnesses", with_texts(**{"witness.other": component("lens")})),
    ("genception", "writer", with_texts(writer=component("lens"))),
    ("trac", "dataset", with_descriptions(data_digest="e" * 64)),
    ("trac", "prompt", with_descriptions(prompt="Tell it.")),
    ("trac", "prefix", with_descriptions(prefix="It has")),
    ("trac", "length", with_descriptions(max_tokens=[16, 64])),
    ("trac", "examples", with_descriptions(choose="random", shots=[4])),
    ("trac", "text_encoder", with_descriptions(text_encoder=component("lens"))),
    ("fidelity", "dataset", with_redraws(data_digest="e" * 64)),
    ("fidelity", "describe_prompt", with_redraws(describe_prompt="Tell it.")),
    ("fidelity", "prefix", with_redraws(prefix="It has")),
    ("fidelity", "max_tokens", with_redraws(max_tokens=30)),
    ("fidelity", "generate_prompt", with_redraws(generate_prompt="{description}")),
    ("fidelity", "encoder", with_redraws(encoder=component("lens"))),
    ("fidelity", "ssim_side", {"score": without(fidelity_score(metrics=SEEN), ssim_side=64)}),
    *(
        case
        for benchmark in ("mm_sap", "mm_vet", "mme")
        for case in (
            (benchmark, "question_set", with_questions(benchmark, data_digest="0" * 64)),
            (benchmark, "prompt", with_questions(benchmark, prompt="{question}!")),
            (benchmark, "parser", with_questions(benchmark, parser="2")),
            (benchmark, "unread", {"score": without(answers_scored(benchmark), unread="wrong")}),
        )
    ),
    ("mm_sap", "count_free_refusals", {"score": without(answers_scored("mm_sap"), count_free_refusals=False)}),
    ("mm_vet", "judge", with_questions("mm_vet", judge=JUDGE)),
    ("mm_vet", "served_judge", {"served": {"judge": {"gpt-4-0613": 9}}}),
    ("mm_vet", "grade_prompt", with_questions("mm_vet", grade_prompt="Grade it.")),
    ("mm_vet", "grade_again", with_questions("mm_vet", grade_again="\nAgain: ")),
]
SIMILAR = dict.fromkeys(EIGHT, SEEN)
BY_IMAGE = {f"{number}-{n}": [1.0] for number in range(8) for n in (1, 2)}
BUILD = {
    "genception": lambda root, name, changes: chains(root, name, LOW, **{"score": TOLD} | changes),
    "trac": lambda root, name, changes: retrieved(root, name, dict.fromkeys(EIGHT, True), **changes),
    "fidelity": lambda root, name, changes: redrawn(root, name, SIMILAR, **{"metrics": SEEN} | changes),
} | {
    benchmark: lambda root, name, changes, benchmark=benchmark: answered(root, name, BY_IMAGE, benchmark, **changes)
    for benchmark in ("mm_sap", "mm_vet", "mme")
}
ONLY = {
    ("genception", "encoder"): {"gc_at_2", "similarity_at_2"},
    ("genception", "text encoder"): {"text_similarity_at_2", "cross_check"},
    ("genception", "witnesses"): {"cross_check"},
    ("fidelity", "generate prompt"): {"ssim", "image_similarity"},
    ("fidelity", "encoder"): {"image_similarity", "clip_s"},
    ("fidelity", "ssim side"): {"ssim"},
}


@pytest.mark.parametrize(("benchmark", "fact", "changes"), UNFAIR, ids=[f"{case[0]} {case[1]}" for case in UNFAIR])
def test_what_moves_the_numbers_by_itself_forbids_a_ranking(tmp_path, benchmark, fact, changes):
    a, b = BUILD[benchmark](tmp_path, "a", {}), BUILD[benchmark](tmp_path, "b", changes)
    found = compared(tmp_path, a, b)
    assert not found.comparable
    fact = fact.replace("_", " ")
    assert [each.what for each in found.pairs[0].differing if each.weight == "unfair"] == [fact]
    assert len(found.reasons) == 1
    assert found.reasons[0].startswith(f"{benchmark} on {a.on}: {fact} differs (")
    barred = {name for name, each in metrics(found).items() if each.verdict.startswith(f"not ranked: {fact} differs")}
    assert barred == ONLY.get((benchmark, fact), set(metrics(found)))
    assert all(metrics(found)[name].difference is None for name in barred)
    assert "use --anyway" in printed(as_table(found))
    anyway = compared(tmp_path, a, b, anyway=True)
    assert not anyway.comparable
    assert anyway.reasons == found.reasons
    assert {each.verdict for each in metrics(anyway).values()} == {"no difference that these samples show"}


def test_every_rule_is_tried():
    rules = {(spec.name, rule.fact) for spec in benchmarks() for rule in spec.unfair}
    assert {(benchmark, fact) for benchmark, fact, _ in UNFAIR} == rules | {
        (spec.name, spec.data.name) for spec in benchmarks()
    }


@pytest.mark.parametrize(
    ("scored", "total", "fair"), [(95, 100, True), (94, 100, False), (19, 20, True), (9, 10, False)]
)
def test_coverages_may_be_five_points_apart(tmp_path, scored, total, fair):
    counts = {"scored": scored, "total": total, "coverage": scored / total}
    whole = {"scored": total, "total": total, "coverage": 1.0}
    found = compared(tmp_path, chains(tmp_path, "a", LOW, **counts), chains(tmp_path, "b", HIGH, **whole))
    assert found.comparable is fair
    [said] = [each for each in found.pairs[0].differing if each.what == "coverage"]
    assert said.weight == ("noted" if fair else "unfair")


def test_what_no_table_ranks_is_said_in_the_same_words(tmp_path):
    counts = [{"scored": scored, "total": 20, "coverage": scored / 20} for scored in (20, 18)]
    scores = [genception_score(model=name, **some) for name, some in zip("ab", counts, strict=True)]
    found = compared(tmp_path, *(chains(tmp_path, score.model, LOW, score) for score in scores))
    _, apart = spec_of("genception").blocks(scores)
    assert found.pairs[0].reasons == [apart.apart]


def test_what_cannot_be_read_and_counts_as_wrong_is_noted(tmp_path):
    counts = {"scored": 50, "counted": 99, "total": 100, "coverage": 0.5}
    whole = {"scored": 100, "counted": 100, "total": 100, "coverage": 1.0}
    scores = [without(answers_scored("mme"), unread="wrong").model_copy(update=some) for some in (counts, whole)]
    a, b = (answered(tmp_path, n, BY_IMAGE, "mme", score=score) for n, score in zip("ab", scores, strict=True))
    found = compared(tmp_path, a, b)
    assert found.comparable
    assert [(each.what, each.a, each.weight) for each in found.pairs[0].differing] == [
        ("what is counted", "99/100, 99.0%", "noted"),
        ("coverage", "50/100, 50.0%", "noted"),
    ]


def test_a_score_of_a_time_before_the_setting_left_out_what_could_not_be_read(tmp_path):
    scores = [answers_scored("mme"), without(answers_scored("mme"), unread="left_out")]
    a, b = (answered(tmp_path, n, BY_IMAGE, "mme", score=score) for n, score in zip("ab", scores, strict=True))
    assert compared(tmp_path, a, b).comparable


@pytest.mark.parametrize("role", ["model", "generator"])
def test_one_of_model_and_generator_may_differ_and_is_what_is_compared(tmp_path, role):
    changes = with_chain(**{f"{role}": OTHER})
    found = compared(tmp_path, chains(tmp_path, "a", LOW), chains(tmp_path, "b", HIGH, **changes))
    assert found.comparable
    assert [(each.what, each.weight) for each in found.pairs[0].differing] == [(role, "compared")]
    assert found.about[0].startswith(f"{role}: ")
    assert OTHER.fingerprint[:12] in found.about[0]
    assert metrics(found)["gc_at_2"].verdict == "B is higher"


def test_of_two_that_differ_it_is_not_known_which_made_the_difference(tmp_path):
    changes = with_chain(model=OTHER, generator=component("pen"))
    found = compared(tmp_path, chains(tmp_path, "a", LOW), chains(tmp_path, "b", HIGH, **changes))
    assert found.reasons == [
        "genception on shapes: model and generator: both differ, and a difference could come from either"
    ]
    assert metrics(found)["gc_at_2"].verdict.startswith("not ranked: model and generator")


def test_clip_s_is_of_a_description_that_nobody_has_drawn_yet(tmp_path):
    a = BUILD["fidelity"](tmp_path, "a", {})
    b = BUILD["fidelity"](tmp_path, "b", with_redraws(model=OTHER, generator=component("pen")))
    verdicts = {name: each.verdict for name, each in metrics(compared(tmp_path, a, b)).items()}
    assert verdicts["clip_s"] == "no difference that these samples show"
    assert verdicts["ssim"].startswith("not ranked: model and generator")


def test_another_version_of_the_same_name_is_told_by_its_settings(tmp_path):
    newer = component("brush", settings={"batch_size": 16, "longest_side": 128}).model_copy(
        update={"fingerprint": "9" * 64}
    )
    b = chains(tmp_path, "b", HIGH, **with_chain(generator=newer))
    found = compared(tmp_path, chains(tmp_path, "a", LOW), b)
    assert found.pairs[0].changed == ["generator brush, settings.longest_side: 64 → 128"]
    assert "changed: generator brush, settings.longest_side: 64 → 128" in printed(as_table(found))


def test_seeds_and_code_are_noted(tmp_path):
    a, b = (
        chains(tmp_path, "a", LOW),
        chains(tmp_path, "b", HIGH, score=without(varied(genception_score(), seed=8), seed=8)),
    )
    other = run(b).code.model_copy(update={"commit": "d" * 40, "dirty": True})
    found = compared(tmp_path, run(a), run(b, code=other))
    assert found.comparable
    assert [(each.what, each.a, each.b, each.weight) for each in found.pairs[0].differing] == [
        ("seed", "7", "8", "noted")
    ]
    assert found.noted == [f"code commit: {'c' * 40} and {'d' * 40} with changes"]


def test_a_shorter_run_is_compared_at_its_own_length(tmp_path):
    b = chains(
        tmp_path, "b", {s: [0.75] for s in EIGHT}, varied(genception_score(metrics={"gc_at_1": 0.75}), iterations=1)
    )
    found = compared(tmp_path, chains(tmp_path, "a", LOW), b, anyway=True)
    assert metrics(found)["gc_at_1"].difference == 0.25


def test_two_ways_to_ask_are_paired_by_their_names(tmp_path):
    hits = dict.fromkeys(EIGHT, True)
    a = [retrieved(tmp_path, f"a/{name}", hits, description=name) for name in ("short", "shown")]
    b = [retrieved(tmp_path, f"b/{name}", hits, description=name) for name in ("shown", "third", "short")]
    found = compared(tmp_path, run(*a), run(*b))
    assert [(pair.a, pair.b) for pair in found.pairs] == [
        ("a/short/trac/score.json", "b/short/trac/score.json"),
        ("a/shown/trac/score.json", "b/shown/trac/score.json"),
    ]
    assert found.only_b == ["trac on digits"]


def test_what_only_one_has_is_told(tmp_path):
    exam = answered(tmp_path, "b", BY_IMAGE)
    found = compared(tmp_path, run(chains(tmp_path, "a", LOW)), run(chains(tmp_path, "b", LOW), exam))
    assert (found.only_a, found.only_b) == ([], ["mm_sap on exam"])
    assert "only B has: mm_sap on exam" in printed(as_table(found))
    with pytest.raises(LedgerError, match=r"nothing in common.*genception on shapes, the other mm_sap on exam"):
        compared(tmp_path, chains(tmp_path, "a", LOW), exam)


def test_a_metric_that_only_one_has(tmp_path):
    b = redrawn(tmp_path, "b", SIMILAR, metrics={"ssim": 31.5, "clip_s": 30.0})
    a = redrawn(tmp_path, "a", SIMILAR, metrics={"ssim": 31.5})
    clip_s = metrics(compared(tmp_path, a, b))["clip_s"]
    assert (clip_s.a, clip_s.b, clip_s.verdict) == (None, 30.0, "not ranked: only B has it")


def test_rows_of_a_version_that_is_nowhere_any_more(tmp_path):
    a, b = chains(tmp_path, "a", LOW), chains(tmp_path, "b", HIGH)
    (tmp_path / "a" / "genception" / "rows.jsonl").write_text("{}\n", encoding="utf-8")
    gc = metrics(compared(tmp_path, a, b))["gc_at_2"]
    assert gc.verdict.startswith("not ranked: no rows at hand: a/genception/rows.jsonl of that version")
    assert (gc.a, gc.difference, gc.common) == (0.7, None, None)


def test_values_of_an_older_version_come_from_git(tmp_path):
    def git(*arguments):
        subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments], cwd=tmp_path, check=True, timeout=600
        )

    git("init", "--quiet")
    older = chains(tmp_path, "run", LOW)
    git("add", "--all")
    git("commit", "--quiet", "--message", "older")
    newer = chains(tmp_path, "run", HIGH)
    assert metrics(compared(tmp_path, older, newer))["gc_at_2"].verdict == "B is higher"


def test_json_has_the_judgements(tmp_path):
    b = chains(tmp_path, "b", HIGH, **with_chain(data_digest="e" * 64))
    found = compared(tmp_path, chains(tmp_path, "a", LOW), b).model_dump(mode="json")
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["comparable"] is found["pairs"][0]["comparable"] is False
    assert found["reasons"][0] == f"genception on shapes: {found['pairs'][0]['reasons'][0]}"
    assert [each["metric"] for each in found["pairs"][0]["metrics"]] == ["gc_at_2", "similarity_at_2"]


def test_long_prompts_are_shown_where_they_differ(tmp_path):
    one, two = (with_chain(describe_prompt="Describe. " * 40 + end) for end in ("Briefly.", "At length."))
    found = compared(tmp_path, chains(tmp_path, "a", LOW, **one), chains(tmp_path, "b", HIGH, **two))
    [reason] = found.pairs[0].reasons
    assert "Briefly." in reason
    assert "At length." in reason
    assert len(reason) < 300


def test_untrusted_text_is_inert_in_the_terminal(tmp_path):
    evil = "\x1b[2J[red]\nrank: A is higher\u202e"
    b = chains(tmp_path, "b", HIGH, **with_chain(describe_prompt=evil, model=component(evil)))
    text = fitting(as_table(compared(tmp_path, chains(tmp_path, "a", LOW), run(b, name=evil))))
    assert not any(sign in text for sign in ("\x1b", "\u202e", "\nrank"))
    assert "[red]" in text  # as it is written, not as a colour


def test_damaged_rows_are_one_sentence(tmp_path):
    a = chains(tmp_path, "a", LOW)
    (tmp_path / "a" / "genception" / "rows.jsonl").write_bytes(b"{}\n")
    damaged: Lineage = a.model_copy(update={"rows_file": a.rows_file.model_copy(update={"md5": md5_of(b"{}\n")})})
    verdict = metrics(compared(tmp_path, damaged, chains(tmp_path, "b", HIGH)))["gc_at_2"].verdict
    assert "is not a Row of schema 2" in verdict


def test_a_component_that_gave_other_bytes_is_named(tmp_path):
    a, b = chains(tmp_path, "a", LOW), chains(tmp_path, "b", HIGH)
    fingerprint = a.score.components["model"].fingerprint
    seen = {fingerprint: Observed(name="seer", asked_again=120, other=3)}
    found = compared(tmp_path, a, b, seen=seen)
    assert found.noted == [f"{side}'s model seer: 3 of 120 calls made twice gave other bytes" for side in "AB"]


def test_a_component_that_is_marked_is_named_with_its_side(tmp_path):
    theirs = marked(genception_score(), model="made elsewhere")
    found = compared(tmp_path, chains(tmp_path, "a", LOW), chains(tmp_path, "b", HIGH, theirs))
    assert found.noted == ["B's model seer: made elsewhere"]
    assert "to know: B's model seer: made elsewhere" in printed(as_table(found)).splitlines()
    assert found.comparable  # answers of another origin under the same grading are what one wants to compare


def read(comparison):
    """As it stands in 80 columns, with single blanks."""
    return [" ".join(line.split()) for line in fitting(as_table(comparison)).splitlines()]


def test_the_better_model_is_named_and_by_how_much(tmp_path):
    score = varied(genception_score(metrics={"gc_at_2": 0.9}), model=OTHER)
    a, b = chains(tmp_path, "a", LOW), chains(tmp_path, "b", HIGH, score)
    found = compared(tmp_path, a, b)
    gc = metrics(found)["gc_at_2"]
    by = f"{gc.difference:.3f} [{gc.low:.3f}, {gc.high:.3f}]"
    text = read(found)
    assert f"genception on shapes: oracle is better than seer by {by} in GC@2" in text
    assert "seer oracle better by [95% interval] shows at 80% N" in text
    assert f"GC@2 0.700 0.900 oracle {by} {gc.detectable:.3f} 8" in text
    assert gc.detectable == pytest.approx(minimum_detectable_difference(gc.standard_error, gc.df))
    assert 3 < gc.detectable / gc.standard_error < 4
    assert any(line.startswith("shows at 80%: the difference that as many samples") for line in text)
    turned = compared(tmp_path, b, a)
    gc = metrics(turned)["gc_at_2"]
    by = f"{-gc.difference:.3f} [{-gc.high:.3f}, {-gc.low:.3f}]"
    assert f"GC@2 0.900 0.700 oracle {by} {gc.detectable:.3f} 8" in read(turned)
    assert text[:2] == [f"{name}: seer · brush · eye, fingerprint ffffffffffff" for name in ("seer", "oracle")]


def test_another_version_is_named_with_its_fingerprint_and_nothing_that_differs_as_a_and_b(tmp_path):
    newer = component("seer").model_copy(update={"fingerprint": "9" * 64})
    a, b = chains(tmp_path, "a", LOW), chains(tmp_path, "b", HIGH, **with_chain(model=newer))
    old = component("seer").fingerprint[:8]
    assert compared(tmp_path, a, b).sides == (f"seer@{old}", "seer@99999999")
    assert compared(tmp_path, run(a), run(a, fingerprint="0" * 64)).sides == ("ffffffff", "00000000")
    two = chains(
        tmp_path,
        "c",
        HIGH,
        **with_chain(model=newer, generator=component("brush").model_copy(update={"fingerprint": "8" * 64})),
    )
    assert compared(tmp_path, run(a), run(two, fingerprint="0" * 64)).sides == ("ffffffff", "00000000")
    other = chains(tmp_path, "d", HIGH, **with_chain(model=OTHER, generator=component("brush")))
    assert compared(tmp_path, a, other).sides == ("seer", "oracle")
    same = read(compared(tmp_path, a, a))
    assert "genception on shapes: no difference in GC@2 that these samples show" in same
    assert "GC@2 0.700 0.700 neither 0.000 [0.000, 0.000] 0.000 8" in same


def test_what_is_not_comparable_stands_apart_with_its_sentence(tmp_path):
    b = redrawn(tmp_path, "b", SIMILAR, **with_redraws(generate_prompt="{description}"))
    text = read(compared(tmp_path, redrawn(tmp_path, "a", SIMILAR, metrics=SEEN), b))
    apart = text.index("not comparable")
    assert text[apart + 1].startswith("fidelity on shapes: SSIM (31.50 and 31.50); image similarity (")
    assert any(line.startswith("CLIP-S 30.00 30.00") for line in text[:apart])
    assert not any(line.startswith("SSIM") for line in text[:apart])
    assert " ".join(text[apart:]).count("generate prompt differs") == 1
    assert "unfair: generate prompt differs" in " ".join(text[apart:])
    assert "not comparable" not in read(compared(tmp_path, chains(tmp_path, "c", LOW), chains(tmp_path, "d", HIGH)))


def test_too_few_samples_are_no_ranking(tmp_path):
    sides = [chains(tmp_path, name, {s: some[s] for s in EIGHT[:5]}) for name, some in (("a", LOW), ("b", HIGH))]
    text = read(compared(tmp_path, *sides))
    assert "not ranked: 5 samples can vary, and fewer than 6 show nothing with 95%" in text
    assert not any("better than" in line for line in text)


def test_json_is_without_what_only_people_read(tmp_path):
    found = compared(tmp_path, chains(tmp_path, "a", LOW), chains(tmp_path, "b", HIGH)).model_dump(mode="json")
    assert "sides" not in found
    assert "place" not in found["pairs"][0]

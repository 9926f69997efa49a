"""How every number of a score file is computed, from what, and by which function."""

import re
from typing import Any, NamedTuple

_METRICS = "driftledger.metrics"

ENCODER, DRAWN, SAID, DATA, RATINGS, GRADES = "encoder", "drawn", "said", "data", "ratings", "grades"
"""What a number may hang on: an encoder, images drawn from descriptions, descriptions, a dataset or question set, what
people said of descriptions, what was read in answers."""

EVERYTHING = frozenset({ENCODER, DRAWN, SAID, DATA, RATINGS, GRADES})


class Formula(NamedTuple):
    """What a number is."""

    says: str
    function: str
    """Where the formula is in the code, as a dotted name."""
    needs: frozenset[str]


class _Rule(NamedTuple):
    names: str
    """A pattern for the whole name."""
    says: str
    function: str
    needs: tuple[str, ...]


_OVER_CATEGORIES = "averaged over a category's samples, then over categories"
_OF_TESTS = "percentage of the test descriptions"
_FRECHET = r"(?:frechet_\w+?|fid)"

_CHAIN, _TEXTS, _ANSWERS = (ENCODER, DRAWN, SAID, DATA), (ENCODER, SAID, DATA), (GRADES, DATA)

_RULES: dict[str, tuple[_Rule, ...]] = {
    "genception": (
        _Rule(
            r"similarity(?:_at_\d+|@\d+)",
            f"s(t), the cosine between the encoder's view of the original and of iteration t; {_OVER_CATEGORIES}",
            "drift.cosine_similarity",
            _CHAIN,
        ),
        _Rule("similarity_mean", f"the mean of s(1) … s(T); {_OVER_CATEGORIES}", "drift.cosine_similarity", _CHAIN),
        _Rule(r"gc(?:_at_\d+|@\d+)", f"Σ t·s(t) / Σ t over the iterations; {_OVER_CATEGORIES}", "drift.gc_at", _CHAIN),
        _Rule(
            rf"{_FRECHET}(?:_at_\d+|@\d+)",
            "the Fréchet distance between the originals' features and those of iteration t, weighted over t as GC@T "
            "is; per category, then averaged over categories",
            "frechet.frechet_distance",
            _CHAIN,
        ),
    ),
    "fidelity": (
        _Rule("clip_s", "100 · the cosine between image and description, mean", "drift.cosine_similarity", _TEXTS),
        _Rule(
            "clip_s_i|image_similarity",
            "100 · the cosine between image and redrawing, mean over samples",
            "drift.cosine_similarity",
            _CHAIN,
        ),
        _Rule(
            "ssim",
            "100 · the structural similarity of image and redrawing, mean over samples",
            "structural.structural_similarity",
            (DRAWN, SAID, DATA),
        ),
        _Rule(_FRECHET, "the Fréchet distance between originals and redrawings", "frechet.frechet_distance", _CHAIN),
        _Rule("human", "the mean rating by people, 1 to 5, of these descriptions", "exact.exact_mean", (RATINGS, SAID)),
    ),
    "trac": (
        _Rule(
            r"(?:by_(?:length|shots)/)?top1(?:_\w+?)?(?:@\d+)?",
            f"{_OF_TESTS} whose class is that of the most similar support description",
            "retrieval.top1",
            _TEXTS,
        ),
        _Rule("class_mean", f"{_OF_TESTS} whose class has the most similar mean", "retrieval.class_mean", _TEXTS),
        _Rule(
            r"vote(?:_best(?:_k)?|@\d+)",
            f"{_OF_TESTS} whose class is that of most of the k nearest; vote_best is the best k's, vote_best_k that k",
            "retrieval.votes",
            _TEXTS,
        ),
        _Rule("chance", "what drawing a support description blindly gives", "retrieval.votes", (SAID, DATA)),
        _Rule(
            "leak_rate|other_rate",
            f"{_OF_TESTS} that name their own class, or another one",
            "naming.leaks",
            (SAID, DATA),
        ),
        _Rule("words", "mean number of words of the test descriptions", "exact.exact_mean", (SAID,)),
        _Rule("test|support", "how many descriptions", "retrieval.votes", (SAID, DATA)),
    ),
    "mm_sap": (
        _Rule(
            r"free_refusals",
            "percentage of the answers that decline in free text",
            "self_awareness.score",
            _ANSWERS,
        ),
        _Rule(
            r"(?:[^@]*/)?(?:score\w*?|answer_rate|answer_accuracy|known_knowns|known_unknowns)",
            "percentage of the questions, mean over the stored orders of the options",
            "self_awareness.score",
            _ANSWERS,
        ),
    ),
    "mm_vet": (_Rule(r"[^@]*", "10 · the mean of the judge's grades in tenths", "capabilities.score", _ANSWERS),),
    "mme": (
        _Rule(
            r"[^@]*",
            "accuracy over questions, accuracy+ over images with both right, score their sum, mean over categories",
            "yes_no.score",
            _ANSWERS,
        ),
    ),
}

_GROUP = re.compile(r"(?:category|group|class|subset|subtask|capability|combination)/.+/(?=[^/]+$)")
_ENDS = ("_low", "_high", "_std")


def formula_of(benchmark: str, name: str, settings: dict[str, Any]) -> Formula | None:
    """How the number called ``name`` below its benchmark's prefix is computed.

    Args:
        settings: of the score, which hold the bootstrap's.

    Returns:
        None where none is known, as for a number that only an earlier version of the program computed.
    """
    base = _GROUP.sub("", name)
    if base == "coverage":
        return Formula("scored / total", f"{_METRICS}.exact.exact_mean", EVERYTHING - {ENCODER, RATINGS})
    plain, _, step = base.partition("@")
    end = next((each for each in _ENDS if plain.endswith(each)), "")
    base = plain.removesuffix(end) + (f"@{step}" if step else "")
    for rule in _RULES.get(benchmark, ()):
        if re.fullmatch(rule.names, base):
            says, function = rule.says, rule.function
            if end:
                says, function = _spread(end, says, function, benchmark, settings)
            return Formula(says, f"{_METRICS}.{function}", frozenset(rule.needs))
    return None


def _spread(end: str, says: str, function: str, benchmark: str, settings: dict[str, Any]) -> tuple[str, str]:
    if end == "_std":
        return f"deviation over the orders or gradings of: {says}", "clustered.spread"
    which = "lower" if end == "_low" else "upper"
    bootstrap = settings.get("bootstrap") or {}
    told = ", ".join(f"{key} {bootstrap[key]}" for key in sorted(bootstrap))
    questions = benchmark in ("mm_sap", "mm_vet", "mme")
    resampled = "clustered.clustered_ratio_interval" if questions else "bootstrap.bootstrap_interval"
    over = "questions, clustered by image" if questions else "samples"
    return f"{which} end of the percentile bootstrap interval over {over} ({told}) of: {says}", resampled

"""MM-SAP's measures of self-awareness.

A measure is the mean of what answers are worth in it. An option has an id that does not depend on
its letter, so that no permutation of the options can move a score.

A reply in which no choice could be read counts only if the caller gives it, as None: the paper
divides by all questions. By equations 5 and 6 it then is an answer, since it is not the refusal.
The read rate and the read accuracy do not take it for one.

Source: Wang et al. 2024, "MM-SAP: A Comprehensive Benchmark for Assessing Self-Awareness of
Multimodal Large Language Models in Perception", section 4.1.
"""

SUBSETS = ("basic", "know", "beyond")
"""Accepted are the right option; the right option and the refusal; only the refusal."""
ACCURACIES = ("answer_accuracy", "read_accuracy")
MEASURES = (
    "score",
    "answer_rate",
    "answer_accuracy",
    "known_knowns",
    "known_unknowns",
    "read_rate",
    "read_accuracy",
)


def worths(
    choice: int | None, *, correct: int | None, refusal: int, subset: str
) -> dict[str, float]:
    """Return the worth of an answer, 0 or 1, in each measure that counts it.

    Higher is better, for rates only in basic. The score is equation 2, known knowns 3, known
    unknowns 4, answer accuracy 5 and answer rate 6.

    Args:
        choice: the id of the option that the model chose; None if none could be read, which is
            wrong.
        correct: the id of the right option; None in beyond, where none is right.
        refusal: the id of the option that refuses to answer.
        subset: basic, know or beyond.

    Raises:
        ValueError: the subset is none of the three.

    >>> worths(4, correct=1, refusal=4, subset="know")
    {'score': 1.0, 'answer_rate': 0.0, 'read_rate': 0.0, 'known_knowns': 0.0, 'known_unknowns': 1.0}
    >>> worths(1, correct=1, refusal=4, subset="basic")["answer_accuracy"]
    1.0
    """
    if subset not in SUBSETS:
        raise ValueError(f"subset is {subset!r}, which is not basic, know or beyond")
    is_read = choice is not None
    is_right = is_read and choice == correct
    is_refusal = choice == refusal
    is_accepted = is_right or (is_refusal and subset != "basic")
    worth = {
        "score": is_accepted,
        "answer_rate": not is_refusal,
        "read_rate": is_read and not is_refusal,
    }
    if not is_refusal:
        worth["answer_accuracy"] = is_right
    if is_read and not is_refusal:
        worth["read_accuracy"] = is_right
    if subset != "beyond":
        worth["known_knowns"] = is_right
    if subset != "basic":
        worth["known_unknowns"] = is_refusal
    return {measure: float(value) for measure, value in worth.items()}

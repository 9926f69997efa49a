"""What only TRAC has: top-1 by length and examples, and which classes are taken for each other."""

from collections.abc import Iterator, Sequence

from driftledger.benchmarks.base import NOTHING, Cells, Matrix, Origin, Table, cell
from driftledger.benchmarks.score import Score
from driftledger.benchmarks.trac.records import condition_name, length_name

LISTED = 5
"""As many confused pairs and hard classes are listed."""
DRAWN = 24
"""Classes in a figure."""

_ABBREVIATIONS = {"random": "RS", "similar_image": "SIIR", "similar_text": "STTR"}


def conditions(scores: Sequence[Score]) -> Iterator[Table]:
    """Top-1 with lengths down and examples across, as in Table 3; lengths across where there are no examples."""
    if all(len(score.groups["condition"]) < 2 for score in scores):
        return
    shots = sorted({number for score in scores for number in (0, *score.inputs.protocol["shots"])})
    lengths = list(dict.fromkeys(length for score in scores for length in score.inputs.protocol["max_tokens"]))
    note = "in brackets the mean number of words; coverage is the lowest of a row"
    by_length = len(shots) > 1
    if by_length:
        title, head = f"examples ({_choice_of_examples(scores[0])}), as in Table 3", [f"{n}-shot" for n in shots]
    else:
        title, head = "length", [length_name(length) for length in lengths]
    rows: list[Cells] = []
    coverages = []
    for score in scores:
        groups, control = score.groups["condition"], " (control)" if score.is_control else ""
        for length in lengths if by_length else [None]:
            names = [condition_name(length, n) for n in shots] if by_length else []
            names = names or [condition_name(each, 0) for each in lengths]
            values = [groups.get(name, {}) for name in names]
            rows.append(
                [
                    f"{score.model}{control}" + (f" ({length_name(length)})" if by_length else ""),
                    *(
                        cell(
                            of.get("top1"),
                            more="" if (words := of.get("words")) is None else f"{words:.0f}",
                            of=Origin(score, f"condition/{name}/top1"),
                        )
                        for name, of in zip(names, values, strict=True)
                    ),
                ]
            )
            coverages.append(min((of["scored"] / of["total"] for of in values if of), default=score.coverage))
    yield Table(f"top-1, %, by {title}; {note}", ["", *head], rows, (), coverages, name="conditions")


def _choice_of_examples(score: Score) -> str:
    """How examples were chosen, seen and described, e.g. SIIR through clip, described by gpt_4v."""
    how: str = _ABBREVIATIONS[score.inputs.protocol["choose"]]
    encoder, by = (score.components.get(role) for role in ("example_encoder", "example_model"))
    return how + (f" through {encoder.name}" if encoder else "") + (f", described by {by.name}" if by else "")


def confusions(best: Score) -> Iterator[Table]:
    """The pairs of classes that the best model's descriptions confuse most."""
    rows: list[Cells] = [
        [
            *(pair["first"], pair["second"], cell(pair["rate"], of=Origin(best, ""))),
            *(cell(pair[key], digits=0, of=Origin(best, "")) for key in ("first_as_second", "second_as_first")),
        ]
        for pair in best.details["confused"][:LISTED]
    ]
    classes, notes = best.groups["class"], []
    if len(classes) > 1:
        hardest = sorted(classes.items(), key=lambda item: (item[1]["top1"], item[0]))[:LISTED]
        listed = ", ".join(f"{label} {values['top1']:.2f}" for label, values in hardest)
        notes = [f"Hardest classes for {best.model}, by top-1 in %: {listed}."]
    if rows or notes:
        head = ["a class", "and another", "taken for each other, %", "the one for the other", "the other for the one"]
        title = f"classes that {best.model} confuses most"
        yield Table(title, head, rows or [[NOTHING] * len(head)], notes, name="confused", detail=True)


def figures(scores: Sequence[Score]) -> Iterator[Matrix]:
    """Top-1 of each class by model, and which classes the best model takes for each other."""
    best = scores[0]
    top1 = {label: values.get("top1", 0.0) for label, values in best.groups["class"].items()}
    labels = sorted(top1, key=lambda label: (-top1[label], label))
    cut = f"; {DRAWN} of {len(labels)} classes" if len(labels) > DRAWN else ""
    shares = [[score.groups["class"].get(label, {}).get("top1") for label in labels[:DRAWN]] for score in scores]
    order = f"classes in the order of {best.model}{cut}"
    yield Matrix("classes", "top-1 by class, %", [score.model for score in scores], labels[:DRAWN], shares, order)
    counts = {}
    for pair in best.details["confused"]:
        counts[pair["first"], pair["second"]] = pair["first_as_second"]
        counts[pair["second"], pair["first"]] = pair["second_as_first"]
    if not counts:
        return
    tested = {label: values.get("test", 0.0) for label, values in best.groups["class"].items()}
    involved = sorted(tested, key=lambda label: -sum(many for pair, many in counts.items() if label in pair))
    labels = sorted(involved[:DRAWN])
    taken = {(label, label): best.groups["class"][label].get("top1") for label in labels}
    taken |= {pair: 100 * many / tested[pair[0]] for pair, many in counts.items() if many and tested.get(pair[0])}
    values = [[taken.get((own, other)) for other in labels] for own in labels]
    note = f"a row is a class, a column what it was taken for, in % of its test samples{cut}"
    yield Matrix("confusion", f"what {best.model} takes classes for", labels, labels, values, note)

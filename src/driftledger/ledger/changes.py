"""Find answers and descriptions that changed between two runs.

Two runs with equal scores may differ in a third of their answers. Asking A twice shows how many
answers change by themselves.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from driftledger.benchmarks.base.records import RECORDS, CollectedRecord, RecordedResult
from driftledger.components.base import ComponentCard
from driftledger.core.errors import DriftledgerError, LedgerError
from driftledger.core.files import read_jsonl
from driftledger.core.text import shortened
from driftledger.core.types import Outcome
from driftledger.ledger.comparison import Changes
from driftledger.ledger.lineage import Lineage, Run
from driftledger.ledger.measure import Asking, find_changes
from driftledger.ledger.objects.contents import Contents, rows_of
from driftledger.ledger.sources import Sources
from driftledger.scoring.score import answer_as


def changes_of_runs(
    one: Lineage, two: Lineage, again: Sequence[Lineage], contents: Contents
) -> list[Changes]:
    """List the changes of answers and of descriptions; none where the data differ.

    Args:
        again: the scores of A's second asking.
    """
    inputs = one.score.inputs
    if two.score.inputs.data_digest != inputs.data_digest:
        return []
    askings = [one, two]
    for lineage in again:
        theirs = lineage.score.inputs
        is_same = theirs.data_digest == inputs.data_digest
        is_alike = theirs.protocol == inputs.protocol
        if lineage.place == one.place and is_alike and is_same:
            askings.append(lineage)
    is_same = two.score.inputs.records == inputs.records
    changes = []
    for of, read in (("answers", _answers), ("descriptions", _descriptions)):
        if of == "descriptions" and is_same and one.spec.metrics.describes:
            changes.append(Changes(of, samples=one.score.total, share=0.0))
            continue
        try:
            texts = read(askings, contents)
        except DriftledgerError as error:
            changes.append(Changes(of, note=str(error)))
            continue
        if any(texts):
            changes.append(find_changes(of, texts, one.score.confidence))
    return changes


def _answers(askings: Sequence[Lineage], contents: Contents) -> list[Asking]:
    """Read the answers of each asking."""
    return [_answers_of(asking, contents) for asking in askings]


def _answers_of(lineage: Lineage, contents: Contents) -> Asking:
    replies = {}
    with suppress(DriftledgerError):
        replies = _replies(lineage, contents)
    asking = {}
    for row in rows_of(lineage, contents):
        try:
            for answer in lineage.spec.answers(row):
                reply = replies.get((answer.unit, answer.step, 0))
                text = reply.text or "" if reply else str(answer.read)
                asking[row.cluster, answer.unit, answer.step] = (answer, text)
        except (TypeError, ValueError) as error:
            raise LedgerError(
                f"{lineage.rows_path}: {row.unit} holds no answers as this benchmark writes them "
                f"({shortened(str(error))}); run 'dvc repro'"
            ) from None
    return asking


def _descriptions(askings: Sequence[Lineage], contents: Contents) -> list[Asking]:
    """Read the descriptions of each asking; if there are two, also A's second repeat.

    Images with equal bytes are in one cluster, as in the rows of a score.
    """
    clusters = {}
    with suppress(DriftledgerError):
        clusters = {row.unit: row.cluster for row in rows_of(askings[0], contents)}
    texts = [_descriptions_of(asking, contents, clusters) for asking in askings]
    if len(texts) == 2:
        texts.append(_descriptions_of(askings[0], contents, clusters, repeat=1))
    return texts


def _descriptions_of(
    lineage: Lineage, contents: Contents, clusters: Mapping[str, str], repeat: int = 0
) -> Asking:
    """Return the descriptions of one repeat.

    After the first repeat, these are the first descriptions that were asked for again: later ones
    are of images that other seeds drew. A model that does not sample is not asked again.
    """
    replies = _replies(lineage, contents) if lineage.spec.metrics.describes else {}
    asking = {}
    for (unit, step, number), reply in replies.items():
        first = replies.get((unit, 1, 0))
        is_asked_again = step == 1 and first is not None and first.key != reply.key
        if number == repeat and (is_asked_again or not repeat):
            answer = answer_as(unit, step, reply.outcome, worth=None, read=reply.text)
            if reply.text and reply.outcome.goes_on:
                answer = answer._replace(reading="described")
            cluster = clusters.get(unit, unit)
            asking[cluster, unit, step] = (answer, reply.text or "")
    return asking


def _replies(
    lineage: Lineage, contents: Contents
) -> dict[tuple[str, int, int], RecordedResult]:
    """Return unit, step and repeat → the model's reply, but for failed calls.

    Raises:
        LedgerError: the records are not here.
    """
    path = None
    with suppress(LedgerError):
        folder = lineage.collected[lineage.spec.collects.name]
        path = contents.within(folder, RECORDS)
    if path is None:
        raise LedgerError("descriptions are not here; run 'dvc fetch'")
    replies = {}
    for record in read_jsonl(path, CollectedRecord, RECORDS):
        reply = record.by("model")
        if record.step and reply is not None and reply.outcome is not Outcome.FAILED:
            replies[record.unit, record.step, record.repeat] = reply
    return replies


def second_asking(a: Run, b: Run, sources: Sources) -> list[Lineage]:
    """Return the scores of A's second asking, on the same day, if there was one."""
    cards, askings = _askings_of(a)
    if not any(askings):
        return []
    for run in sources.versions(a.combination):
        their_cards, theirs = _askings_of(run)
        is_again = their_cards == cards and theirs != askings
        if is_again and run.fingerprint != b.fingerprint:
            return run.lineages
    return []


def _askings_of(run: Run) -> tuple[list[ComponentCard], list[str]]:
    """Return the components of a run by their day, and the day and asking of each."""
    cards = []
    askings = []
    for card in run.components.values():
        as_of = str(card.identity.get("as_of", ""))
        identity = {**card.identity, "as_of": as_of.partition(".")[0]}
        plain = {"identity": identity, "fingerprint": ""}
        cards.append(card.model_copy(update=plain))
        askings.append(as_of)
    return cards, askings

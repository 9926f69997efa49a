"""What a score file says about what it stands on, whatever its benchmark."""

from driftledger.benchmarks._questions.records import QuestionInputs, QuestionScore
from driftledger.benchmarks.description_records import TracInputs
from driftledger.components.card import ComponentCard
from driftledger.ledger.lineage import AnyScore


def data_of(score: AnyScore) -> str:
    """The name of the dataset or question set."""
    return score.question_set if isinstance(score, QuestionScore) else score.dataset


def cards_of(score: AnyScore) -> list[tuple[str, ComponentCard]]:
    """Section of ``params.yaml`` and card of every component that it stands on, judges and narrators included."""
    inputs = score.inputs
    if isinstance(inputs, TracInputs):
        about = inputs.descriptions
        cards = [("models", about.model), ("encoders", inputs.encoder)]
        shown = about.demonstrations
        more = [("encoders", shown.encoder), ("models", shown.by)] if shown else []
        return cards + [(section, card) for section, card in more if card]
    if isinstance(inputs, QuestionInputs):
        grades = inputs.grades
        return [("models", grades.answers.model), *([("models", grades.judge)] if grades.judge else [])]
    return [("models", inputs.chain.model), ("generators", inputs.chain.generator), ("encoders", inputs.encoder)]

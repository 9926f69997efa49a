"""The catalogue's checkpoints are of architectures that transformers has."""

from transformers.models.auto import modeling_auto

from driftledger.project.catalogue import catalogue
from tests.project.test_catalogue import MODEL_TYPES


def test_transformers_knows_the_checkpoints() -> None:
    entries = catalogue("models").items()
    assert {name for name, entry in entries if getattr(entry, "provider", None) == "transformers"} == set(MODEL_TYPES)
    assert set(MODEL_TYPES.values()) <= set(modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES)

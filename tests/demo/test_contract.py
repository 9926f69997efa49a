"""Every embedded component keeps the contract that anybody's own is held to."""

import pytest

from driftledger.components.base import Component
from driftledger.components.contract import check_component
from driftledger.core.errors import MissingExtraError
from driftledger.core.registry import OURS, provider_class
from driftledger.project.catalogue import CatalogueEntry, catalogue

SECTIONS = ("models", "generators", "encoders")
EMBEDDED = [
    (section, provider)
    for section in SECTIONS
    for provider, place in OURS[section].items()
    if place.startswith("driftledger_demo.")
]


@pytest.mark.parametrize(("section", "provider"), EMBEDDED)
def test_it_keeps_its_contract(section: str, provider: str) -> None:
    """As the first of its entries in the catalogue sets it."""
    entries = [each for each in catalogue(section).values() if isinstance(each, CatalogueEntry)]
    settings = next(entry.settings() for entry in entries if entry.provider == provider)
    component = provider_class(section, provider).model_validate(settings)
    assert isinstance(component, Component)
    try:
        assert check_component(component) == []
    except MissingExtraError as error:
        pytest.skip(str(error))

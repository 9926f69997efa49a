from tests.ledger.conftest import original  # noqa: F401

from tests.demo.test_sounds import heard  # noqa: F401
from tests.ledger.conftest import original  # noqa: F401

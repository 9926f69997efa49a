# moved; removed at the end
from driftledger.core.paths import MADE_FOR, main_checkout  # noqa: F401

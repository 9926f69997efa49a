# moved; removed at the end
from driftledger.core.text import shortened  # noqa: F401

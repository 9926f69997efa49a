# moved; removed at the end
from driftledger.core.text import Change, changes, shown_apart  # noqa: F401

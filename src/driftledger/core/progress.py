# moved; removed at the end
from driftledger.core.terminal import Progress, clock  # noqa: F401

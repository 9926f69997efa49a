# moved; removed at the end
from driftledger.core.canonical import derive_seed  # noqa: F401

# moved; removed at the end
from driftledger.core.registry import EXTRAS, import_extra  # noqa: F401

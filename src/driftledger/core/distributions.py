# moved; removed at the end
from driftledger.core.registry import entry_points, package_of  # noqa: F401

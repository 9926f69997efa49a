# moved; removed at the end
from driftledger.core.registry import files_in_wheel, hashes  # noqa: F401

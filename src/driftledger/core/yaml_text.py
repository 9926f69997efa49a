# moved; removed at the end
from driftledger.core.files import load_yaml  # noqa: F401

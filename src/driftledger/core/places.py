# moved; removed at the end
from driftledger.core.registry import LONGEST, Provided, import_place, is_place, place_of  # noqa: F401

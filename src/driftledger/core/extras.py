# moved; removed at the end
from driftledger.core.registry import EXTRAS as EXTRAS
from driftledger.core.registry import import_extra as import_extra

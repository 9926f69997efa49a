# moved; removed at the end
from driftledger.core.files import (  # noqa: F401  # noqa: F401
    DEEPEST,
    LARGEST_ANSWER,
    LARGEST_FILE,
    LARGEST_IMAGE,
    LARGEST_JSON,
    LARGEST_TEXT,
    LARGEST_YAML,
    load_json,
)
from driftledger.core.images import MOST_PIXELS, strangers_pixels  # noqa: F401

# moved; removed at the end
from driftledger.core.files import DEEPEST, LARGEST_ANSWER, LARGEST_FILE, LARGEST_IMAGE  # noqa: F401
from driftledger.core.files import LARGEST_JSON, LARGEST_TEXT, LARGEST_YAML, load_json  # noqa: F401
from driftledger.core.images import MOST_PIXELS, strangers_pixels  # noqa: F401

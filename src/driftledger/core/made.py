# moved; removed at the end
from driftledger.core.files import INPUTS, Made, files_digest, is_made, keep_only, made_from, make  # noqa: F401

# moved; removed at the end
from driftledger.core.paths import leads_out  # noqa: F401
from driftledger.core.strict import ID_RULE, Id, Md5, Name, RelativePath, Words, is_id, is_relative_path, twin  # noqa: F401

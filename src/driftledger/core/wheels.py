# moved; removed at the end
from driftledger.core.registry import files_in_wheel as files_in_wheel
from driftledger.core.registry import hashes as hashes

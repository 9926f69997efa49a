# moved; removed at the end
from driftledger.project.resolve import inputs_of as inputs_of
from driftledger.project.resolve import keys_of as keys_of
from driftledger.project.resolve import resolve as resolve
from driftledger.project.resolve import resolved as resolved

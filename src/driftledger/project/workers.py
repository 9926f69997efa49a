# moved; removed at the end
from driftledger.project.asking import collector_of as collector_of

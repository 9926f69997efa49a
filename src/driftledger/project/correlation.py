# moved; removed at the end
from driftledger.project.catalogue import CorrelationSettings as CorrelationSettings
from driftledger.project.catalogue import shipped_correlation as shipped_correlation

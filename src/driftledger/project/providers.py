# moved; removed at the end
from driftledger.project.catalogue import checked_class as checked_class
from driftledger.project.catalogue import class_of_record as class_of_record

# moved; removed at the end: the installed console script may still name it
from driftledger.cli import main as main

"""What an audit went by, and what that alone can prove."""

from driftledger.ledger.audit.found import Known
from driftledger.ledger.audit.sources import Sources

_PROVES: dict[Known, str] = {
    "dvc.lock": "from Git and DVC: which bytes each stage read and wrote, by MD5, and with which settings; whoever has "
    "the cache or the remote can fetch these bytes and hash them with 'driftledger verify'",
    "git": "from Git history: the score file and the dvc.lock that were committed together; the bytes that it speaks "
    "of can be fetched and hashed as long as the DVC cache or remote keeps them",
    "mlflow": "from MLflow alone: what the run said of itself when it was tracked, lock entries included; that the "
    "bytes are still these takes the DVC cache or remote",
}


def proof(sources: Sources, known: Known | None) -> list[str]:
    """A sentence on each source.

    Args:
        known: where the evidence is from; None for an image, of which only the ledger's files speak.
    """
    said = _PROVES[known] if known else "from Git and DVC: which lists of images have this hash in them"
    lines = [said]
    if known != "mlflow" and sources.why_not is not None:
        lines.append(f"MLflow was not asked: {sources.why_not}")
    elif known != "mlflow" and not sources.asked:
        lines.append("MLflow was not asked: it was not needed")
    if known == "mlflow" and not sources.outs:
        lines.append("Git and DVC were not asked: there is no dvc.lock here")
    return lines

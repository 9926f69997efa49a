"""Failed calls can be tried again by the next run; too many of them fail their stage, so that there is one."""

from collections.abc import Sequence

from driftledger.core.errors import CoverageError, first_few


def refuse_failures(failed: Sequence[str], total: int, min_coverage: float, things: str, setting: str) -> None:
    """Refuse to go on when too many of ``total`` things were ended by a failed call.

    A refusal is an answer and stays; whether enough is left to score is for the scoring half to say.

    Args:
        failed: one phrase per thing that failed, with the reason.
        things: what they are, e.g. ``chains``.
        setting: where ``min_coverage`` stands in params.yaml.

    Raises:
        CoverageError: naming the first few and what went wrong.
    """
    if failed and 1 - len(failed) / total < min_coverage:
        raise CoverageError(
            f"{len(failed)} of {total} {things} were ended by a failed call, and {setting} in params.yaml asks for "
            f"{min_coverage:.0%} ({first_few(failed)}); run 'dvc repro' to try these again: finished calls are stored"
        )

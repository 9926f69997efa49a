"""Plans: what somebody said they would run before they ran it, and what was tried under it.

A plan is open until as many attempts are published as it allows, or another plan is made. While it is open, ``resolve``
notes every selection that it meets as an attempt, once; an attempt is published where the next line is a run's.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from driftledger.core.canonical import sha256_bytes
from driftledger.core.paths import Paths
from driftledger.ledger.attest.attest import Kept, read_all
from driftledger.ledger.attest.checkpoints import root_of
from driftledger.ledger.log.lines import PLAN_LINE, Chain, LogLine, NoteLine, read_chain


class Plan(NamedTuple):
    """A plan, and what came of it so far."""

    line: NoteLine
    statement: Mapping[str, Any] | None
    """What was planned; None where the statement is not beside the ledger."""
    attempts: int
    as_planned: int
    """Of them, with the selection that the plan names: 1 or 0."""
    published: int

    @property
    def runs(self) -> int | None:
        """How many published attempts it allows."""
        runs = self.statement.get("runs") if self.statement else None
        return runs if type(runs) is int else None

    @property
    def is_open(self) -> bool:
        return self.runs is None or self.published < self.runs

    def __str__(self) -> str:
        several = "" if self.attempts == 1 else "s"
        of = "" if self.runs is None else f" of {self.runs}"
        other = self.attempts - self.as_planned
        aside = f" ({other} with another selection than planned)" if other and self.statement else ""
        return f"{self.attempts} attempt{several}{aside} under plan {self.line.n}, {self.published}{of} published"


def over_of(rows: Sequence[bytes], over: Any) -> dict[str, Any] | None:
    """What a plan says of the ledger that it was made over: as many of these lines as it says, and their root."""
    n = over.get("n") if isinstance(over, dict) else None
    return {"n": n, "root": root_of(rows[:n])} if type(n) is int and 0 <= n <= len(rows) else None


def attempt_name(payload_sha256: str) -> str:
    """What a line of an attempt calls the plan, whose own line may get another number at a merge."""
    return f"plan {payload_sha256[:12]}"


def read_plans(chain: Chain, kept: Sequence[Kept]) -> list[Plan]:
    """The plans in a ledger, in its order.

    Args:
        kept: attestations beside the ledger.
    """
    statements = {sha256_bytes(each.attestation.envelope.payload): each.statement.predicate for each in kept}
    rows, found = [*chain.all.values()], list[Plan]()
    for plan in (row for row in rows if isinstance(row, NoteLine) and row.kind == "plan"):
        name, planned = attempt_name(plan.subject_sha256), statements.get(plan.subject_sha256)
        tries = [at for at, row in enumerate(rows) if isinstance(row, NoteLine) and row.kind == "attempt"]
        tries = [at for at in tries if rows[at].name == name]
        selections = [row.subject_sha256 for at in tries if isinstance(row := rows[at], NoteLine)]
        published = sum(isinstance(row, LogLine) for at in tries for row in rows[at + 1 : at + 2])
        as_planned = selections.count(str(planned.get("selection_sha256"))) if planned else 0
        found.append(Plan(plan, planned, len(tries), as_planned, published))
    return found


def plans_told(paths: Paths) -> list[str]:
    """A sentence on each plan in the ledger of a checkout, for its report."""
    data = paths.ledger.read_bytes() if paths.ledger.is_file() else b""
    if PLAN_LINE not in data:
        return []
    found = read_plans(read_chain(data), read_all(paths.root).of("plan"))
    return [f"When this was written: {plan}." for plan in found]


def open_plan(chain: Chain, kept: Sequence[Kept]) -> Plan | None:
    """The newest plan, if it is open."""
    return next((plan for plan in read_plans(chain, kept)[-1:] if plan.is_open), None)

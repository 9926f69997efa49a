"""What a user asks of the ledger, in a terminal as in a notebook."""

from collections.abc import Mapping

from rich.console import Group, RenderableType

from driftledger.core.terminal import lines
from driftledger.ledger.answers import inert_json, touched_table
from driftledger.ledger.audit import Sources
from driftledger.ledger.audit import touched as find_touched
from driftledger.ledger.objects.git import why_unread
from driftledger.ledger.objects.reach import HERE, Reach
from driftledger.project.project import Project


def sources(project: Project, reach: Reach = HERE, rev: str | None = None) -> Sources:
    """What is known of scores: in the checkout, or in one commit."""
    return Sources(project.root, project.selected, project.combinations, reach, rev)


def touched(project: Project, reach: Reach, asked: Mapping[str, str | None], *, as_json: bool) -> RenderableType:
    """Every score that a version of a component or a dataset is behind, here and in Git's history."""
    known = sources(project, reach)
    rows = find_touched(known, asked)
    if known.git is None:
        said = [f"Git was not read: {why_unread(project.root)}"]
    else:
        shallow = "; the clone is shallow, and older commits are not in it" if known.git.is_shallow else ""
        said = [f"from Git: {len(known.git.commits())} commits were read{shallow}"]
    return inert_json({"scores": rows, "said": said}) if as_json else Group(touched_table(rows), lines(said))

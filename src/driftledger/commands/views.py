"""What people look at: the report, and MLflow."""

from driftledger.project.project import Project


def report(project: Project) -> None:
    """Write the report; errors as in :func:`~driftledger.reports.report.write_report`."""
    from driftledger.reports.report import write_report

    with project.only_one(project.paths.leaderboard):
        write_report(project)


def track(project: Project) -> str:
    """Show what is selected in MLflow, and say in a line what that took."""
    from driftledger.ledger.lineage import read_all_evidence
    from driftledger.tracking import projection  # MLflow takes a second to import

    evidence = read_all_evidence(project.root, project.selected, project.combinations)
    return projection.show(project.root, evidence, project.settings.tracking)

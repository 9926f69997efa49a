"""The stage ``correlation``: do our metrics order models as other people's benchmarks do?"""

from driftledger.core.files import write_text
from driftledger.data.leaderboards import leaderboard_folders, read_leaderboards, read_published
from driftledger.project.project import Project
from driftledger.reports.correlation import MATRIX, PAIRS, PICTURE, TABLES
from driftledger.reports.correlation.columns import our_columns, outside_columns
from driftledger.reports.correlation.pairs import pairs
from driftledger.reports.correlation.picture import draw_matrix
from driftledger.reports.correlation.tables import markdown, matched, matrix_csv, pairs_csv
from driftledger.reports.selected import selected_scores


def write_correlation(project: Project) -> str:
    """Write the correlations of all our metrics with each other and with all leaderboards; say what was matched.

    Raises:
        ConfigError: ``correlation`` in ``params.yaml`` names a leaderboard or model that is not there.
        DataError: a row of a leaderboard is wrong.
        StoreError: a score is missing, or was computed with other settings than ``params.yaml`` has now.
    """
    settings = project.settings.correlation
    folders = leaderboard_folders(project.root)
    leaderboards, published = read_leaderboards(folders), read_published(folders)
    scores = selected_scores(project)
    columns = [*our_columns(scores), *outside_columns(leaderboards, settings)]
    found = list(pairs(columns, settings.confidence))
    headlines = [column for column in columns if column.headline]
    told = matched(project.settings.run.models, leaderboards, columns)
    reports = project.paths.reports
    write_text(reports / PAIRS, pairs_csv(found))
    write_text(reports / MATRIX, matrix_csv([column for column in columns if not column.detail], found))
    write_text(reports / TABLES, markdown(told, leaderboards, columns, found, published, settings.confidence))
    write_text(reports / PICTURE, draw_matrix(headlines, found))
    return "\n".join(told)

"""How far is a model from what is to be had? An example of scores that are set between a floor and a ceiling.

Run as ``python -m lab.ceiling`` in the top folder; it evaluates three stages of one model of ``trio/``, ``blind`` and
``faultless`` in a project of their own, below ``.driftledger/ceiling``, and writes the table that the report then has
into ``docs/statistics.md``.
"""

from itertools import takewhile
from pathlib import Path

from driftledger.benchmarks.registry import benchmark_names
from driftledger.core.extras import import_extra
from lab.entry import here, new_app, run
from lab.marked import write_between
from lab.recipes.evaluated import evaluated

PAGE = Path("docs/statistics.md")
MARKS = "<!-- python -m lab.ceiling: begin -->", "<!-- python -m lab.ceiling: end -->"
MODELS = ("trio_llava_early", "trio_llava_middle", "trio_llava_final", "blind", "faultless")
TITLE = "**between floor and ceiling"
"""How the title of the report's table begins."""

app = new_app(__doc__ or "")


def table(folder: Path, checkout: Path) -> str:
    """The table that the report has of GenCeption on drawn arrangements.

    Args:
        folder: that the project is made in, or goes on in.
        checkout: where ``trio/`` is.

    Raises:
        StoreError: the run fails.
    """
    none = {key: list[str]() for key in (*benchmark_names(), "question_sets", "descriptions")}
    selected = {"datasets": ["arrangements"], "genception": ["arrangements"], "models": list(MODELS)}
    components = {"generators": ["trio_sd_2"], "encoders": ["layout"]}
    project = evaluated(folder, checkout, "chains", {"run": none | selected | components})
    page = (project.root / "reports" / "leaderboard.md").read_text(encoding="utf-8")
    title, _, rest = page[page.index(TITLE) :].partition("\n\n")
    return "\n".join([title, "", *takewhile(bool, rest.split("\n")), ""])


@app.command(help=__doc__)
def main() -> None:
    for library in ("transformers", "diffusers"):
        import_extra(library)
    project = here()
    write_between(project.root / PAGE, {MARKS: table(project.paths.state / "ceiling", project.root)})


if __name__ == "__main__":
    run(app)

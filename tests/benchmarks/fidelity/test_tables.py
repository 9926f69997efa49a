import csv
import io

from driftledger.benchmarks.description_records import FidelityScore
from driftledger.reports.fidelity import fidelity_rows, fidelity_tables
from markdown_it import MarkdownIt

from driftledger.core.escaping import csv_text
from tests.reports.description_scores import fidelity_score
from tests.reports.test_trac_tables import COLUMNS, HOSTILE

NO_TEXT = {"clip_s": "eye has no text tower", "fid": "eye is not Inception"}

TABLES = """\
## fidelity on signs · brush · eye

**as in the paper's Tables 1 and 2; in brackets the interval**

| | CLIP-S | SSIM | frechet_eye (lower is better) | image similarity | human rating (1–5) |
|---|---:|---:|---:|---:|---:|
| seer | – | 28.25 (27.0–29.5) | **71.28** | **75.00** | **3.50** (3.1–3.9) |
| blind | – | **30.00** | 93.00 | 20.00 | – |

- No CLIP\\-S: eye has no text tower.
- No FID: eye is not Inception.
- No human rating of blind: nobody has rated these descriptions.

Images that were redrawn: seer 8/10, blind 8/10.

Human ratings and raters: seer 20 by 3.

**agreement with human ratings, over samples**

| | spearman | kendall | pearson | samples |
|---|---:|---:|---:|---:|
| SSIM: seer | 0.300 | 0.250 | -0.310 | 20 |

To know about these numbers:

- seer: 3 &lt;b&gt;ratings
"""


def seer_and_blind() -> list[FidelityScore]:
    seen = {"ssim": 28.25, "ssim_low": 27.0, "ssim_high": 29.5, "frechet_eye": 71.28, "image_similarity": 75.0}
    rated = {"human": 3.5, "human_low": 3.1, "human_high": 3.9}
    agreed = {"ssim": {"spearman": 0.3, "kendall": 0.25, "pearson": -0.31, "n": 20.0}}
    ratings = {"used": 20, "raters": 3, "stale": 3}
    nobody = {"human": "nobody has rated these descriptions"}
    return [
        fidelity_score("blind", {"ssim": 30.0, "frechet_eye": 93.0, "image_similarity": 20.0}, absent=NO_TEXT | nobody),
        fidelity_score("seer", seen | rated, absent=NO_TEXT, agreement=agreed, ratings=ratings, flags=["3 <b>ratings"]),
    ]


def rows_of(scores: list[FidelityScore]) -> list[dict[str, str]]:
    text = csv_text(COLUMNS, fidelity_rows(scores))
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_the_table_reads_like_the_papers() -> None:
    assert "\n".join(fidelity_tables(seer_and_blind())) == TABLES


def test_an_encoder_with_both_towers_fills_the_papers_columns() -> None:
    full = {"clip_s": 26.63, "ssim": 29.52, "fid": 71.28, "clip_s_i": 75.98}
    lines = fidelity_tables([fidelity_score(metrics=full)])
    assert "| | CLIP-S | SSIM | FID (lower is better) | CLIP-S-I |" in lines
    assert "| seer | **26.63** | **29.52** | **71.28** | **75.98** |" in lines
    assert not any(line.startswith(("- No", "Human")) for line in lines)


def test_models_stand_in_the_order_of_what_the_encoder_sees_of_them() -> None:
    scores = [fidelity_score(name, {"clip_s": value, "ssim": 50 - value}) for name, value in (("a", 9.0), ("b", 20.0))]
    lines = fidelity_tables(scores)
    assert lines == fidelity_tables(scores[::-1])
    assert [line[2] for line in lines if line.startswith(("| a ", "| b "))] == ["b", "a"]


def test_each_generator_and_encoder_has_a_table_of_its_own_in_the_order_of_the_selection() -> None:
    scores = [fidelity_score(generator=g, encoder=e) for g, e in (("z", "eye"), ("a", "eye"), ("z", "clip"))]
    assert [line for line in fidelity_tables(scores) if line.startswith("## ")] == [
        f"## fidelity on signs · {of}" for of in ("z · eye", "a · eye", "z · clip")
    ]


def test_the_csv_ranks_distances_from_the_lowest() -> None:
    rows = rows_of(seer_and_blind())
    ranks = {(r["metric"], r["model"]): r["rank"] for r in rows if r["kind"] == "overall" and r["rank"]}
    assert ranks == {
        ("fidelity/frechet_eye", "seer"): "1", ("fidelity/frechet_eye", "blind"): "2",
        ("fidelity/image_similarity", "seer"): "1", ("fidelity/image_similarity", "blind"): "2",
        ("fidelity/ssim", "blind"): "1", ("fidelity/ssim", "seer"): "2",
        ("fidelity/human", "seer"): "1",
    }  # fmt: skip
    assert {r["name"]: r["value"] for r in rows if r["kind"] == "agreement"} == {
        "kendall": "0.25", "n": "20.0", "pearson": "-0.31", "spearman": "0.3",
    }  # fmt: skip
    assert {(r["name"], r["value"]) for r in rows if r["kind"] == "category"} == {("round", "30.0")}
    assert {(r["dataset"], r["generator"], r["encoder"]) for r in rows} == {("signs", "brush", "eye")}


def test_hostile_names_and_reasons_do_nothing_anywhere() -> None:
    score = fidelity_score(by_category={HOSTILE: {"ssim": 1.0}}, absent={HOSTILE: HOSTILE}, flags=[HOSTILE])
    text = "\n".join(fidelity_tables([score]))
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    assert not {token.type for token in tokens} & {"html_block", "fence", "code_block"}
    inline = {child.type for token in tokens for child in token.children or []}
    assert inline <= {"text", "text_special", "strong_open", "strong_close"}
    assert sum(token.type == "heading_open" for token in tokens) == 1
    assert "\x1b" not in text
    names = [row["name"] for row in rows_of([score])]
    assert any("cmd()" in name for name in names)
    assert not [name for name in names if name.startswith("=") or "\x1b" in name]


def test_no_scores_are_no_tables() -> None:
    assert fidelity_tables([]) == []
    assert list(fidelity_rows([])) == []

"""Fidelity's tables, as in the TRAC paper's Tables 1 and 2."""

from typing import Any

from driftledger.benchmarks.fidelity.spec import Fidelity
from driftledger.benchmarks.score import Score
from tests.support.description_ledgers import fidelity_score
from tests.support.tables import lines_of, tables_of

TABLES = """\
**as in the paper's Tables 1 and 2; in brackets the interval**

| | CLIP-S | SSIM | frechet_eye (lower is better) | image similarity | human rating (1–5) |
|---|---:|---:|---:|---:|---:|
| seer | – | 28.25 (27.0–29.5) | 71.28 | 75.00 | 3.50 (3.1–3.9) |
| blind | – | 30.00 | 93.00 | 20.00 | – |

SSIM is of 128 pixels a side. The paper names no size, and its values are not comparable with these: scikit-image's \
photographs of the Moon and of bricks have 20.5 at 64 pixels and 54.1 at 512.

Human ratings and raters: seer 20 by 3.

**agreement with human ratings, over samples**

| | spearman | kendall | pearson | samples |
|---|---:|---:|---:|---:|
| SSIM: seer | 0.300 | 0.250 | -0.310 | 20 |
"""


def score(model: str, metrics: dict[str, float], agreement: Any = None, **more: Any) -> Score:
    kinds = {"category": {"round": {"ssim": 30.0}}, "agreement": agreement or {}}
    return fidelity_score(model=model, metrics=metrics, groups=kinds, **more)


def seer_and_blind() -> list[Score]:
    seen = {"ssim": 28.25, "ssim_low": 27.0, "ssim_high": 29.5, "frechet_eye": 71.28, "image_similarity": 75.0}
    rated = {"human": 3.5, "human_low": 3.1, "human_high": 3.9}
    agreed = {"ssim": {"spearman": 0.3, "kendall": 0.25, "pearson": -0.31, "n": 20.0}}
    ratings = {"ratings": {"used": 20, "raters": 3, "stale": 3}}
    return [
        score("blind", {"ssim": 30.0, "frechet_eye": 93.0, "image_similarity": 20.0}),
        score("seer", seen | rated, agreed, details=ratings),
    ]


def test_the_tables_read_like_the_papers() -> None:
    assert "\n".join(lines_of(seer_and_blind())) == TABLES
    assert lines_of(seer_and_blind()) == lines_of(seer_and_blind()[::-1])


def test_an_encoder_with_both_towers_fills_the_papers_columns() -> None:
    full = {"clip_s": 26.63, "ssim": 29.52, "fid": 71.28, "clip_s_i": 75.98}
    lines = lines_of([score("seer", full)])
    assert "| | CLIP-S | SSIM | FID (lower is better) | CLIP-S-I |" in lines
    assert "| seer | 26.63 | 29.52 | 71.28 | 75.98 |" in lines
    assert not any(line.startswith("Human") for line in lines)


def test_models_stand_in_the_order_of_what_the_encoder_sees_of_them() -> None:
    scores = [score(name, {"clip_s": value, "ssim": 50 - value}) for name, value in (("a", 9.0), ("b", 20.0))]
    [table] = tables_of(scores)
    assert [str(cells[0]) for cells in table.rows] == ["b", "a"]
    assert [table] == tables_of(scores[::-1])


def test_each_generator_and_encoder_has_a_table_of_its_own_in_the_order_of_the_selection() -> None:
    scores = [fidelity_score(generator=g, encoder=e) for g, e in (("z", "eye"), ("a", "eye"), ("z", "clip"))]
    assert [block.title for block in Fidelity().blocks(scores)] == [
        f"fidelity on shapes · {of}" for of in ("z · eye", "a · eye", "z · clip")
    ]

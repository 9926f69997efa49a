"""An opened project tells what its stored files hold, and answers as the terminal does."""

import json
import sys

import numpy as np
import pytest

from driftledger.core.errors import ConfigError, StoreError
from driftledger.notebook import OpenedProject
from driftledger.scoring.number import Number, Place
from tests.sentence import refused
from tests.support.cases import cases, each_case

RUN = "regions_medium/painter/layout"
SCORE = "reports/scores/regions_medium/genception/**/score.json"


@pytest.fixture(scope="module")
def opened(finished):
    return OpenedProject(finished.root)


pytestmark = pytest.mark.slow


def test_runs_and_whether_they_are_published(opened, pristine):
    [run] = opened.runs.to_dict("records")
    assert "/".join(run[key] for key in ("model", "generator", "encoder")) == RUN
    assert (run["scores"], run["selected"], run["published"]) == (1, 1, True)
    assert opened.audit(RUN)["fingerprint"].startswith(run["fingerprint"])
    [before] = OpenedProject(pristine.root).runs.to_dict("records")
    assert before == run | {"published": False}


def test_scores_are_those_of_the_score_file(opened):
    frame = opened.scores()
    [file] = opened.path.glob(SCORE)
    numbers = json.loads(file.read_bytes())["numbers"]
    [stored] = [each for each in numbers if Number(**each).place == Place("gc", 2)]
    row = frame.set_index(["metric", "t"]).loc["gc", 2]
    for column in ("value", "low", "high", "n"):
        assert row[column] == stored[column]
    assert row["low"] < row["value"] < row["high"]
    names = row[["model", "benchmark", "on", "title"]]
    assert " ".join(names) == "regions_medium genception my_images GC@2"
    assert frame[frame["headline"]]["title"].tolist() == ["GC@2", "s(2)"]
    assert np.isnan(frame.set_index("metric").loc["coverage", "low"])
    assert opened.scores("genception").equals(frame)


def test_rows_are_a_row_per_sample(opened):
    rows = opened.rows("genception")
    assert len(rows) == 8
    columns = "unit group outcome similarity_1 similarity_2 gc_1 gc_2"
    assert {*columns.split()} <= {*rows.columns}
    assert rows.groupby("group")["gc_2"].mean().mean() == pytest.approx(
        opened.scores().set_index("title").loc["GC@2", "value"]
    )


def test_chains_of_a_sample_with_pictures(opened):
    row = opened.rows("genception").loc[0]
    chains = opened.chains(row["unit"])
    assert chains._repr_html_().count('src="data:image/webp;base64,') == 3
    similarities = row[["similarity_1", "similarity_2"]].tolist()
    assert chains.table["similarity"].tolist()[1:] == similarities


def test_answers_are_those_of_the_terminal(opened, finished):
    printed = finished.run("driftledger", "audit", "--json", f"{RUN}:gc_at_2").stdout
    assert json.loads(json.dumps(opened.audit(f"{RUN}:gc_at_2"))) == json.loads(printed)
    compared = opened.compare(RUN, RUN).set_index("metric").loc["gc_at_2"]
    printed = finished.run("driftledger", "compare", "--json", RUN, RUN).stdout
    [pair] = json.loads(printed)["pairs"]
    [metric] = [row for row in pair["metrics"] if row["metric"] == "gc_at_2"]
    for name in metric.keys() - {"metric"}:
        assert compared[name] == metric[name]
    assert (compared["benchmark"], compared["difference"]) == ("genception", 0)
    changes = opened.changes(RUN, RUN)
    assert changes.empty
    assert {"unit", "a", "b", "a_text", "b_text", "similarity"} <= {*changes.columns}


@each_case(cases(__file__, "asked"))
def test_what_is_not_there_is_one_sentence(case, opened):
    method, *arguments = case["ask"]
    with refused(case):
        getattr(opened, method)(*arguments)


def test_a_folder_without_a_project_is_refused(tmp_path):
    with pytest.raises(
        ConfigError, match=r".+params\.yaml is missing; run this in a project"
    ):
        OpenedProject(tmp_path)


def test_other_settings_than_those_of_the_scores_are_refused(evaluated):
    opened = OpenedProject(evaluated.root)
    assert len(opened.scores())
    evaluated.params(lambda params: params["genception"].update(confidence=0.9))
    with pytest.raises(
        StoreError, match=r"computed with other settings than params\.yaml has now"
    ):
        opened.scores()


def test_a_metric_of_a_later_version_is_left_out(evaluated):
    [file] = evaluated.root.glob(SCORE)
    score = json.loads(file.read_bytes())
    score["numbers"].append({"metric": "brightness", "t": 2, "value": 0.5})
    file.write_text(json.dumps(score), encoding="utf-8")
    metrics = OpenedProject(evaluated.root).scores()["metric"].tolist()
    assert "gc" in metrics
    assert "brightness" not in metrics


def test_reading_loads_neither_mlflow_nor_what_components_need(finished):
    code = (
        "import sys, driftledger; p = driftledger.open('.'); p.runs; p.scores(); r = "
        f"p.rows('genception');p.chains(r['unit'][0])._repr_html_(); p.audit('{RUN}'); "
        f"p.compare('{RUN}', '{RUN}');print(*sys.modules, sep='\\n')"
    )
    loaded = finished.run(sys.executable, "-c", code).stdout.split()
    assert sorted({"mlflow", "torch", "transformers", "skimage"} & {*loaded}) == []

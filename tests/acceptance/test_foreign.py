"""A benchmark, components and a dataset of somebody else, used by their names in ``params.yaml``
alone."""

import json
import math
import shutil

from tests.acceptance import own_code
from tests.acceptance.checkout import with_images
from tests.acceptance.numbers import numbers, read
from tests.acceptance.places import (
    FOREIGN_BENCHMARK,
    REPOSITORY,
    record_files,
    score_files,
    texts_of,
)


def test_components_and_a_dataset_of_somebody_else(tmp_path):
    """They are what ``driftledger new`` writes: three modules of the project, and one that is
    installed."""
    checkout = with_images(tmp_path, 2)
    for kind, name in (
        ("dataset", "my_data"),
        ("model", "my_model"),
        ("encoder", "my_encoder"),
    ):
        checkout.driftledger("new", kind, name)
    checkout.driftledger("new", "generator", "my_generator")
    point = {"driftledger.generators my_generator": "my_generator:MyGenerator"}
    own_code.install(site := tmp_path / "site", "my_generator", "0.1.0", point)
    shutil.move(checkout.root / "my_generator.py", site)
    checkout.on_path(site)

    def select(params):
        params["datasets"] = {"my_data": {"provider": "my_data:MyData", "count": 4}}
        params["models"] = {"my_model": {"provider": "my_model:MyModel"}}
        params["generators"] = {"my_generator": {"provider": "my_generator"}}
        params["encoders"] = {"my_encoder": {"provider": "my_encoder:MyEncoder"}}
        params["run"] |= {
            "datasets": ["my_data"],
            "genception": ["my_data"],
            "models": ["my_model"],
        }
        params["run"] |= {"generators": ["my_generator"], "encoders": ["my_encoder"]}
        params["genception"] |= {"iterations": 2, "text_encoder": None}

    checkout.params(select)
    checkout.commit("components of my own")
    checkout.driftledger("run")
    checkout.commit("a run")
    [score] = map(read, score_files(checkout.root))
    mine = {"encoder": "my_encoder", "generator": "my_generator", "model": "my_model"}
    assert score["keys"] == {"dataset": "my_data", **mine}
    assert math.isfinite(numbers(score)["gc_at_2"])
    assert (score["scored"], score["total"]) == (4, 4)
    assert mine == {
        role: card["provider"].partition(":")[0]
        for role, card in score["components"].items()
    }
    audited = checkout.driftledger(
        "audit", "my_model/my_generator/my_encoder:gc_at_2"
    ).stdout
    assert (
        f"my_generator@{score['components']['generator']['fingerprint'][:8]}" in audited
    )
    assert checkout.driftledger("verify").returncode == 0
    checkout.driftledger(
        "bundle", "my_model/my_generator/my_encoder", "-o", "score.zip", "--trust"
    )
    checked = checkout.driftledger("check", "score.zip", check=False)
    assert checked.returncode == 3, checked.stdout
    assert checked.stdout.startswith(
        "from the bundle's own features: my_model/genception/my_data/my_generator/"
    )
    assert (
        checkout.driftledger("check", "score.zip", "--trust-features").returncode == 0
    )


def test_a_benchmark_of_somebody_else(tmp_path):
    checkout = with_images(tmp_path, 3)
    own_code.install(
        site := tmp_path / "site",
        "words",
        "1.0",
        {"driftledger.benchmarks words": FOREIGN_BENCHMARK},
    )
    shutil.copytree(REPOSITORY / "tests" / "words", site / "tests" / "words")
    (site / "tests" / "__init__.py").touch()
    checkout.on_path(site)

    def select(params):
        params["run"] |= {"genception": [], "words": ["photos"]}
        params["words"] = {
            "prompt": "Describe it.",
            "min_coverage": 0.9,
            "unread": "worst",
            "confidence": 0.95,
        }

    checkout.params(select)
    assert "reading photos" in checkout.driftledger("run", "--plain").stdout
    scores = {
        score["keys"]["model"]: score for score in map(read, score_files(checkout.root))
    }
    assert scores.keys() == {"regions_fine", "blind"}
    for records in record_files(checkout.root):
        about = read(records.parent / "components.json")
        lines = records.read_text(encoding="utf-8").splitlines()
        lengths = [
            len(text.split())
            for line in lines
            for _, text in texts_of(json.loads(line))
        ]
        assert len(lengths) == 3
        assert numbers(scores[about["keys"]["model"]])["words"] == sum(lengths) / len(
            lengths
        )
    value = numbers(scores["regions_fine"])["words"]
    assert f"{value:.1f}" in checkout.driftledger("audit", "regions_fine:words").stdout
    compared = json.loads(
        checkout.driftledger("compare", "regions_fine", "blind", "--json").stdout
    )
    assert [
        metric["metric"] for pair in compared["pairs"] for metric in pair["metrics"]
    ] == ["words"]
    assert (
        "holds"
        in checkout.driftledger("verify", "regions_fine", "--regenerate", "2").stdout
    )
    assert "models.blind" in checkout.driftledger("plan").stdout
    checkout.commit("a run")
    checkout.driftledger("bundle", "regions_fine", "-o", "score.zip", "--trust")
    checked = checkout.driftledger("check", "score.zip")  # by who has installed it
    assert checked.stdout.startswith("reproduced: regions_fine/words/photos: words")
    checkout.env["PYTHONPATH"] = checkout.env["PYTHONPATH"].replace(str(site), "")
    checked = checkout.driftledger("check", "score.zip", check=False)
    assert checked.returncode == 3, checked.stdout
    assert checked.stdout.startswith("not checked: regions_fine/words/photos: words")
    assert " 0 differ" in checked.stdout

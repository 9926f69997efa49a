"""``--again`` edits one entry of ``params.yaml``, or says why it does not."""

from datetime import date

import pytest

from driftledger.commands import again
from driftledger.commands.again import dated
from driftledger.components.base import ComponentCard
from driftledger.core.errors import ConfigError
from driftledger.ledger.lineage import version_of
from driftledger.project.project import Project
from tests.support.cases import cases, each_case
from tests.support.fakes.services import FarGenerator

PARAMS = """\
# Week by week
run: {{ question_sets: [few], mme: [few], models: [seer, blind, gpt_6_luna], seed: 1 }}
tracking: {{ uri: "sqlite:///mlflow.db", experiment: e, traces: all }}
question_sets:
  few: {{ provider: scenes, protocol: mme, count: 13 }}
models:
{models}"""


class Today(date):
    """The day of all cases."""

    today = staticmethod(lambda: date(2026, 11, 26))


@pytest.fixture
def written(tmp_path, monkeypatch):
    monkeypatch.setattr(again, "date", Today)

    def write(models):
        (tmp_path / "params.yaml").write_text(PARAMS.format(models=models))
        return Project(tmp_path, own_code=True)

    return write


@each_case(cases(__file__, "again"))
def test_an_entry_gets_a_day_and_all_else_stays(case, written):
    project = written(case["models"])
    names = case.get("again", ["seer"])
    before = (project.root / "params.yaml").read_bytes()
    if "says" in case:
        with pytest.raises(ConfigError) as refused:
            dated(project, names)
        assert case["says"] in str(refused.value)
    else:
        then, text = dated(project, names)
        assert text.partition("models:\n")[2] == case["gives"]
        assert text.startswith(PARAMS.format(models="").partition("run")[0])
        assert then.settings.build("models", "seer").as_of in text
    assert (project.root / "params.yaml").read_bytes() == before


def test_an_entry_of_the_catalogue_is_written_and_asked_again(written):
    project = written("  seer: { provider: blind }")
    then, text = dated(project, ["gpt_6_luna"])
    former = project.settings.build("models", "gpt_6_luna")
    now = then.settings.build("models", "gpt_6_luna")
    assert "as_of: '2026-11-26'" in text
    assert now == former.model_copy(update={"as_of": "2026-11-26"})
    assert now.fingerprint != former.fingerprint


def test_a_day_is_in_the_identity_of_any_remote_component():
    pen = FarGenerator()
    dated_pen = FarGenerator(as_of="2026-11-26.2")
    assert dated_pen.spec == pen.spec | {
        "identity": {**pen.spec["identity"], "as_of": "2026-11-26.2"}
    }
    card = ComponentCard.of("pen", dated_pen)
    assert version_of(card) == f"pen {dated_pen.fingerprint[:12]} as of 2026-11-26.2"

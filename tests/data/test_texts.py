"""Texts as files: what is read, and what is refused in one sentence."""

import pytest

from driftledger.core.errors import ConfigError, DataError
from driftledger.core.files import load_yaml
from driftledger.data.build import build
from driftledger.data.datasets.texts import LONGEST, TextFolder
from driftledger.data.records import read_samples
from driftledger.project.presets import first_params
from driftledger.project.settings import parse_settings
from tests.support.cases import cases, each_case


def test_a_folder_of_texts(tmp_path):
    (tmp_path / "in/sea").mkdir(parents=True)
    (tmp_path / "in/sea/boat.txt").write_bytes(b"\xef\xbb\xbf A red boat. \r\n")
    (tmp_path / "in/hill.TXT").write_text("Ein Hügel", encoding="utf-8")
    (tmp_path / "in/notes.md").write_text("not read")
    card = build("mine", TextFolder(path=tmp_path / "in"), tmp_path / "out")
    samples = read_samples(tmp_path / "out")
    assert [(each.id, each.medium.open()) for each in samples] == [
        ("hill", "Ein Hügel"),
        ("sea_boat", "A red boat."),
    ]
    assert card.categories == {"sea": 1, "uncategorised": 1}
    assert card.source["left_out"] == "notes.md"
    assert "max_pixels" not in card.settings


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\xff\xfe", "x.txt is not UTF-8"),
        (b" \n--- ", "x.txt holds no word"),
        (b"a" * (LONGEST + 1), "x.txt has 20,001 characters, and 20,000 are read"),
    ],
)
def test_a_text_that_is_refused(data, says, tmp_path):
    (tmp_path / "x.txt").write_bytes(data)
    with pytest.raises(DataError, match=says):
        build("mine", TextFolder(path=tmp_path), tmp_path / "out")


@each_case(cases(__file__, "text_components"))
def test_a_component_that_cannot_work_on_texts_is_refused(case, tmp_path):
    settings = load_yaml(first_params(tmp_path, "minimal", {}))
    settings["datasets"] = {"texts": {"provider": "text_folder", "path": "texts"}}
    settings["run"] |= {"datasets": ["texts"], "genception": ["texts"]}
    settings["run"] |= {"encoders": ["tfidf"]}
    parse_settings(settings, "params.yaml")
    settings["run"] |= case["change"]
    with pytest.raises(ConfigError, match=case["says"]):
        parse_settings(settings, "params.yaml")

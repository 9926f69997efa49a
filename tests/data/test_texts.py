"""Texts as files: what is read, and what is refused in one sentence."""

from driftledger.core.files import load_yaml
from driftledger.data.build import build
from driftledger.data.datasets.texts import TextFolder
from driftledger.data.records import read_samples
from driftledger.project.presets import first_params
from driftledger.project.settings import parse_settings
from tests.data.files import lay_out
from tests.sentence import refused
from tests.support.cases import cases, each_case


def test_a_folder_of_texts(tmp_path):
    boat = "\ufeff A red boat. \r\n"
    files = {"sea/boat.txt": boat, "hill.TXT": "Ein Hügel", "notes.md": "not read"}
    lay_out(files, tmp_path / "in")
    card = build("mine", TextFolder(path=tmp_path / "in"), tmp_path / "out")
    samples = read_samples(tmp_path / "out")
    assert [(each.id, each.medium.open()) for each in samples] == [
        ("hill", "Ein Hügel"),
        ("sea_boat", "A red boat."),
    ]
    assert card.categories == {"sea": 1, "uncategorised": 1}
    assert card.source["left_out"] == "notes.md"
    assert "max_pixels" not in card.settings


@each_case(cases(__file__, "refused_texts"))
def test_a_text_that_is_refused(case, tmp_path):
    lay_out(case["files"], tmp_path)
    with refused(case):
        build("mine", TextFolder(path=tmp_path), tmp_path / "out")


@each_case(cases(__file__, "text_components"))
def test_a_component_that_cannot_work_on_texts_is_refused(case, tmp_path):
    settings = load_yaml(first_params(tmp_path, "minimal", {}))
    settings["datasets"] = {"texts": {"provider": "text_folder", "path": "texts"}}
    settings["run"] |= {"datasets": ["texts"], "genception": ["texts"]}
    settings["run"] |= {"encoders": ["tfidf"]}
    parse_settings(settings, "params.yaml")
    settings["run"] |= case["change"]
    with refused(case, "ConfigError"):
        parse_settings(settings, "params.yaml")

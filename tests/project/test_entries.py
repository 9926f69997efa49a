"""One setting of one entry, changed in the text of params.yaml."""

from pathlib import Path

import pytest
import yaml

from driftledger.core.errors import ConfigError
from driftledger.project.catalogue import catalogue
from driftledger.project.entries import with_setting
from tests.support.params import DEFAULT

RESTS = {
    "flow": "models:\n  mine: { provider: blind } # as it is\n",
    "block": "models:\n  # ours\n  mine:\n    provider: blind # as it is\n\n  # another\n"
    "  other: { provider: blind }\n",
    "open": "models:\n  mine:\n    provider: blind",
    "set": "models:\n  mine: { batch_size: 16, provider: blind } # as it is\n",
}
CHANGED = {
    "flow": "models:\n  mine: { provider: blind, batch_size: 4 } # as it is\n",
    "block": "models:\n  # ours\n  mine:\n    provider: blind # as it is\n    batch_size: 4\n\n  # another\n"
    "  other: { provider: blind }\n",
    "open": "models:\n  mine:\n    provider: blind\n    batch_size: 4\n",
    "set": "models:\n  mine: { batch_size: 4, provider: blind } # as it is\n",
}


def params(folder: Path, rest: str) -> str:
    """The default settings, with other entries of models at the end; the text before these."""
    text = DEFAULT.read_text(encoding="utf-8")
    head, _, tail = text.partition("\nmodels:\n")
    before = head + "\n" + tail[tail.index("generators:\n") :]
    (folder / "params.yaml").write_text(before + rest, encoding="utf-8")
    return before


@pytest.mark.parametrize("layout", RESTS)
def test_it_stands_in_the_entry_and_all_else_stays(tmp_path: Path, layout: str) -> None:
    before = params(tmp_path, RESTS[layout])
    assert with_setting(tmp_path, "models", "mine", "batch_size", 4)
    assert (tmp_path / "params.yaml").read_text(encoding="utf-8") == before + CHANGED[layout]
    assert not with_setting(tmp_path, "models", "mine", "batch_size", 4)
    assert (tmp_path / "params.yaml").read_text(encoding="utf-8") == before + CHANGED[layout]


@pytest.mark.parametrize("rest", ["", "models: {}\n", "models:\n", RESTS["block"], RESTS["flow"]])
def test_an_entry_of_the_catalogue_is_copied(tmp_path: Path, rest: str) -> None:
    before = params(tmp_path, rest)
    with_setting(tmp_path, "models", "llava_7b", "batch_size", 8)
    text = (tmp_path / "params.yaml").read_text(encoding="utf-8")
    assert text.startswith(before)
    entry = yaml.safe_load(text)["models"].pop("llava_7b")
    assert entry == catalogue("models")["llava_7b"].model_dump(exclude_unset=True) | {"batch_size": 8}
    assert entry["provider"] == "transformers"
    assert yaml.safe_load(text)["models"].keys() - {"llava_7b"} == set((yaml.safe_load(rest) or {}).get("models") or {})


def test_what_cannot_be_changed_is_left_as_it_is(tmp_path: Path) -> None:
    rest = "models:\n  one: &same { provider: blind }\n  mine: *same\n"
    before = params(tmp_path, rest)
    with pytest.raises(ConfigError, match=r"set batch_size: 4 of models\.mine by hand"):
        with_setting(tmp_path, "models", "mine", "batch_size", 4)
    assert (tmp_path / "params.yaml").read_text(encoding="utf-8") == before + rest

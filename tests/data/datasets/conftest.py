"""What the tests of the Hugging Face provider share."""

from pathlib import Path

import pytest


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The library's own folders, which it has fixed when it was imported, without a network."""
    datasets, huggingface_hub = pytest.importorskip("datasets"), pytest.importorskip("huggingface_hub")
    folder = tmp_path / "cache"
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", folder)
    monkeypatch.setattr(datasets.config, "HF_MODULES_CACHE", folder / "modules")
    monkeypatch.setattr(datasets.config, "DOWNLOADED_DATASETS_PATH", folder / "downloads")
    monkeypatch.setattr(datasets.config, "EXTRACTED_DATASETS_PATH", folder / "downloads" / "extracted")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    return folder

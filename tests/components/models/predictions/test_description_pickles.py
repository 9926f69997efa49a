"""GenCeption's pickles are read as data: descriptions come out, and nothing that a pickle asks for is done."""

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from driftledger.components.models.predictions.description_pickles import ResultFile, read
from driftledger.core.errors import ConfigError


def result(*descriptions: Any) -> bytes:
    """As ``test_sample`` of GenCeption's code writes it."""
    return pickle.dumps(
        {
            "descriptions": list(descriptions),
            "images": [f"results_x/a_{t}.jpg" for t in range(len(descriptions))],
            "image_embeddings": [[0.25] * 8] * (len(descriptions) + 1),
            "cosine_similarities": [1.0, *(np.float64(0.5) for _ in descriptions)],
        }
    )


def texts(data: bytes) -> list[str]:
    return [row.text for row in read([ResultFile("a_result.pkl", data)], "f")]


def test_the_first_description_is_of_the_image_itself() -> None:
    assert texts(result("A cat.", "A grey blob.")) == ["A cat."]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol_of_pickle_is_read(protocol: int) -> None:
    assert texts(pickle.dumps({"descriptions": ["A cat."], "more": np.ones(3), "x": np.float32(1)}, protocol)) == [
        "A cat."
    ]


def test_categories_are_part_of_the_id_as_in_a_folder_of_images() -> None:
    files = [ResultFile(f"{name}/results_gpt-4o/{name[:2]} 1_result.pkl", result("It.")) for name in ("color", "OCR")]
    assert [row.cells["id"] for row in read(files, "f")] == ["color_co_1", "OCR_OC_1"]


def test_results_of_two_models_are_not_mixed() -> None:
    files = [ResultFile(f"color/results_{name}/1_result.pkl", result("It.")) for name in ("claude", "gpt4v")]
    with pytest.raises(
        ConfigError, match=r"^f holds results of 2 models \('results_claude'; 'results_gpt4v'\); set path"
    ):
        list(read(files, "f"))


class Evil:
    def __init__(self, function: Any, *arguments: Any) -> None:
        self.called = function, arguments

    def __reduce__(self) -> Any:
        return self.called


def test_nothing_that_a_pickle_names_is_called(tmp_path: Path) -> None:
    made = tmp_path / "made"
    evil = pickle.dumps({"descriptions": [Evil(os.mkdir, str(made))], "more": [Evil(exec, "raise SystemExit(3)")]})
    [row] = read([ResultFile("a_result.pkl", evil)], "f")
    assert row.text == ""
    assert row.trouble.endswith("where a text should be")
    assert not made.exists()
    pickle.loads(evil.replace(b"exec", b"repr"))  # which is what it would have done
    assert made.exists()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80\x04",
        b"x" * 100,
        result("a")[:-20],
        pickle.dumps([1]),
        pickle.dumps({"descriptions": "a"}),
        pickle.dumps({"images": []}),
        pickle.dumps(Evil(dict, [("descriptions", ["a"])])),
        b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x00.",
        b"(" * 10,
        b"F:.0\x1b[2J\x0b\n.",
    ],
)
def test_what_is_no_result_is_one_sentence(data: bytes) -> None:
    with pytest.raises(
        ConfigError, match=r"^f, 'a_result\.pkl' (cannot be read as a result|holds no list of descr)"
    ) as error:
        texts(data)
    assert str(error.value).isprintable()


def test_an_image_without_a_description_is_no_answer() -> None:
    [row] = read([ResultFile("a_result.pkl", result())], "f")
    assert row.trouble == "'a_result.pkl' holds no prediction"

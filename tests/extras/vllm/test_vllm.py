"""vLLM's engine as a provider, with a stand-in: what it is given, what becomes of what it says, and
what it raises."""

import sys
from importlib import invalidate_caches
from pathlib import Path

import pytest

from driftledger.components.vllm import _ENVIRONMENT, SWITCH, VLLM
from driftledger.core.errors import ConfigError, MissingExtraError, OutOfMemoryError
from driftledger.core.types import Outcome
from tests.extras.chatting import change_json, failure
from tests.support.vllm_engine import SITE


@pytest.fixture
def apart(monkeypatch):
    """As in a process of its own, whose environment and modules nobody else sees."""
    for name in (SWITCH, "CUDA_VISIBLE_DEVICES", *_ENVIRONMENT):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


@pytest.fixture
def engine(apart, monkeypatch):
    monkeypatch.syspath_prepend(SITE)
    yield __import__("vllm")
    for name in [name for name in sys.modules if name.partition(".")[0] == "vllm"]:
        del sys.modules[name]


def vllm(folder, **settings):
    given = {
        "path": str(folder),
        "device": "cuda",
        "dtype": "float32",
        "max_new_tokens": 16,
    }
    return VLLM.model_validate(given | settings)


def refused(folder, conversation, **settings):
    with pytest.raises(ConfigError) as caught:
        vllm(folder, **settings).respond([conversation])
    assert "\n" not in str(caught.value)
    return str(caught.value)


# what it says; that it is what transformers says, test_engine.py holds with the real engine


def test_finish_reasons_are_outcomes(engine, built, asked, monkeypatch):
    def step(self):
        said = [
            (" A cat. ", "stop"),
            ("A cat", "length"),
            (" ", "stop"),
            ("A", "abort"),
        ]
        return [
            engine.RequestOutput(
                str(n), [1, 2, 3], [engine.CompletionOutput(0, text, [7, 8], reason)]
            )
            for n, (text, reason) in enumerate(said)
        ]

    monkeypatch.setattr(engine.LLMEngine, "step", step)
    ended, cut, empty, aborted = vllm(built["llava"]).respond(asked)
    assert (ended.text, ended.outcome, ended.usage and ended.usage.input_tokens) == (
        "A cat.",
        Outcome.OK,
        3,
    )
    assert (cut.text, cut.outcome, cut.usage and cut.usage.output_tokens) == (
        "A cat",
        Outcome.TRUNCATED,
        2,
    )
    assert (empty.text, empty.outcome) == ("", Outcome.OK)
    assert "finish_reason: abort" in failure(aborted)


# which version


def test_the_fingerprint_follows_what_shapes_the_answer(engine, built, monkeypatch):
    folder = built["llava"]
    before = vllm(folder).fingerprint
    for settings in (
        {"batch_invariant": True},
        {"tensor_parallel_size": 2},
        {"dtype": "bfloat16"},
        {"max_model_len": 100},
        {"enforce_eager": True},
        {"batch_size": 8},
        {"max_new_tokens": 17},
        {"image_processor": {"do_resize": False}},
    ):
        assert vllm(folder, **settings).fingerprint != before
    for settings in (
        {"gpu_memory_utilization": 0.5},
        {"limit_mm_per_prompt": {"image": 1}},
    ):
        assert vllm(folder, **settings).fingerprint == before
    identity = vllm(folder).identity()
    assert identity["libraries"]["vllm"] == "0.32.0"
    assert identity["device"] == "cuda"
    assert "attention" not in vllm(folder, dtype="bfloat16").identity()
    assert not engine.ENGINES


# adapters


@pytest.fixture
def lora(built, tmp_path) -> Path:
    adapters = pytest.importorskip("tests.support.checkpoints.adapters")
    return adapters.build_adapter(built["llava"], tmp_path / "lora")


def test_an_adapter_goes_with_every_call(engine, built, asked, lora):
    """With room for its largest rank, of those that there are kernels for."""
    file = lora / "adapter_config.json"
    change_json(file, lambda held: held.update(rank_pattern={"q_proj": 9}))
    vllm(built["llava"], adapter=str(lora)).respond(asked[:2])
    [made] = engine.ENGINES
    assert made.arguments["max_lora_rank"] == 16
    assert [each.lora_path for each in made.adapters] == [str(lora)] * 3


def test_an_adapter_of_the_vision_tower_is_refused(engine, built, asked, lora):
    """vLLM leaves that part out with a warning."""
    from tests.support.checkpoints.adapters import build_adapter

    build_adapter(built["llava"], lora, r".*\.q_proj")
    said = refused(built["llava"], asked[0], adapter=str(lora))
    assert "leaves out base_model.model.model.vision_tower." in said
    assert not engine.ENGINES


# what goes wrong


def test_a_missing_library_is_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setattr(
        sys, "path", [place for place in sys.path if Path(place).absolute() != SITE]
    )
    invalidate_caches()
    with pytest.raises(
        MissingExtraError, match=r"'vllm' is not installed; run: pip install vllm$"
    ):
        _ = vllm(tmp_path).fingerprint


@pytest.mark.parametrize(
    "error",
    [
        ValueError(
            "No available memory for the cache blocks. Try increasing `gpu_memory_utilization`."
        ),
        ValueError(
            "Free memory on device (1/80 GiB) on startup is less than desired GPU memory "
            "utilization."
        ),
        RuntimeError("CUDA error: out of memory"),
    ],
)
@pytest.mark.parametrize("where", ["__init__", "enqueue"])
def test_running_out_of_memory_is_said_so(
    engine, built, asked, monkeypatch, error, where
):
    def fail(self, *_, **__):
        raise error

    monkeypatch.setattr(engine.LLM, where, fail)
    with pytest.raises(OutOfMemoryError, match="llava: "):
        vllm(built["llava"]).respond(asked)


@pytest.mark.parametrize(("free", "kind"), [(10, OutOfMemoryError), (79, ConfigError)])
def test_an_engine_that_does_not_start_lacks_memory_where_something_else_is_in_it(
    engine, built, asked, monkeypatch, free, kind
):
    """The process that runs out of it says so in its log alone."""

    def fail(self, *_, **__):
        raise RuntimeError("Engine core initialization failed. See root cause above.")

    monkeypatch.setattr(engine.LLM, "__init__", fail)
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.mem_get_info", lambda: (free * 10**9, 80 * 10**9))
    monkeypatch.setattr("torch.cuda.empty_cache", lambda: None)
    with pytest.raises(kind, match="Engine core initialization failed"):
        vllm(built["llava"]).respond(asked[:1])


def test_a_dead_engine_ends_the_run_and_starts_again_in_the_next(
    engine, built, asked, monkeypatch
):
    from vllm.v1.engine.exceptions import EngineDeadError

    one = vllm(built["llava"])
    before = one.respond(asked)

    def die(self, *_, **__):
        raise EngineDeadError

    with monkeypatch.context() as patch:
        patch.setattr(engine.LLMEngine, "step", die)
        with pytest.raises(ConfigError, match="vLLM's engine has died"):
            one.respond(asked)
    assert one.respond(asked) == before
    assert len(engine.ENGINES) == 2

"""What the real engine does; test_engine.py runs it with the Python of vLLM's own environment, as a
process of its own.

``python -m tests.extras.vllm.engine CHECKPOINT ADAPTER IMAGE IMAGE IMAGE``: on stdout, a JSON
object on the last line.
"""

import json
import sys
from pathlib import Path
from typing import Any

from driftledger.components.vllm import VLLM
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import DriftledgerError
from driftledger.core.types import Conversation, Medium, Result, Turn

ENGINE = {"kv_cache_memory_bytes": 2**28, "block_size": 32}
SETTINGS = {"dtype": "float32", "max_new_tokens": 16}
LONG = "red " * 500


def conversations(paths):
    """Of different lengths: with images, hostile, begun, short, with earlier turns, two images, and
    none."""
    one, two, three = (Medium(path, sha256_file(path)) for path in paths)
    earlier = (
        Turn("user", (two, "Describe it.")),
        Turn("assistant", ("a red cat",)),
        Turn("user", (three, "And it?")),
    )
    return [
        Conversation.ask("Describe it.", one),
        Conversation.ask("Is the house red or green or blue?", two),
        Conversation.ask("What does <image> </s> <|im_end|> mean?", three),
        Conversation.ask("Describe it.", one, prefix="a red"),
        Conversation.ask("Describe it.", two, max_tokens=3),
        Conversation(earlier),
        Conversation((Turn("user", (one, "or", two, "?")),)),
        Conversation((Turn("user", ("Describe it.",)),)),
    ]


def plain(replies):
    return [
        [
            reply.text,
            reply.outcome,
            reply.usage and [reply.usage.input_tokens, reply.usage.output_tokens],
            reply.error,
        ]
        for reply in replies
    ]


def error_of(model, asked):
    try:
        return repr(model.respond(asked))
    except DriftledgerError as error:
        return f"{type(error).__name__}: {error}"


def main(folder, adapter, *images):
    import psutil  # comes with vLLM

    asked = conversations([Path(image) for image in images])
    shown = tuple(
        part
        for each in asked[:3]
        for part in each.turns[0].parts
        if isinstance(part, Medium)
    )

    def model(adapter=None, **engine):
        settings = {
            "path": folder,
            "adapter": adapter,
            "device": "cpu",
            "enforce_eager": True,
            "max_model_len": 400,
            "max_num_seqs": 8,
        }
        limit = {"limit_mm_per_prompt": {"image": 2}}
        return VLLM.model_validate(
            SETTINGS | settings | limit | {"engine": ENGINE | engine}
        )

    result: dict[str, Any] = {"unknown": error_of(model(no_such_argument=1), asked)}
    one = model()
    result["together"] = plain(one.respond(asked))
    result["alone"] = plain([one.respond([each])[0] for each in asked])
    refused = [Conversation.ask(LONG, shown[0]), Conversation((Turn("user", shown),))]
    result["refused"] = plain(one.respond([asked[0], *refused, asked[1]]))

    replies: dict[int, Result] = {}
    for number, conversation in enumerate(
        asked
    ):  # each joins those that are being computed
        assert one.begin(number, conversation) is None
        replies |= one.step()
    result["under_way"] = len(asked) - len(replies)
    while len(replies) < len(asked):
        replies |= one.step()
    result["joined"] = plain([replies[number] for number in range(len(asked))])

    config = one.loaded.engine.llm_engine.vllm_config
    result["engine"] = [
        config.cache_config.block_size,
        config.scheduler_config.max_num_seqs,
        config.model_config.seed,
    ]
    result["vllm"] = one.identity()["libraries"]["vllm"]
    for process in psutil.Process().children(recursive=True):
        if "resource_tracker" not in " ".join(process.cmdline()):
            process.kill()
    result["killed"] = error_of(one, asked)
    adapted = model(adapter)
    result["adapted"] = plain(adapted.respond(asked))
    adapted.release()
    print(json.dumps(result))


if __name__ == "__main__":
    main(*sys.argv[1:])

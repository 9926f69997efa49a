"""The service that perf/remote.py measures clients with: it knows each call, whoever asks and in whatever order."""

import asyncio
import base64
import json

import pytest

from driftledger.components.openai import OpenAIChat, OpenAIImages
from driftledger.components.service import TransientError
from driftledger.core.images import png_bytes
from driftledger.core.types import Conversation, ImageFile


def settings(server):
    return {"base_url": f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", "api_key_env": None}


@pytest.fixture
def remote(perf):
    return perf("remote")


def test_a_chain_goes_on_from_the_picture_that_was_drawn_and_our_bytes_are_those_that_were_sent(remote, tmp_path):
    async def walked() -> list[str]:
        service = remote.Service([remote.first_picture(0), remote.first_picture(1)], 2, 64, 0.0, remote.Chances(0.0, 0))
        said = []
        async with await service.listen() as server:
            model, generator = OpenAIChat(model="v", **settings(server)), OpenAIImages(model="i", **settings(server))
            async with model.connect() as reply, generator.connect() as draw:
                path = tmp_path / "1.png"
                path.write_bytes(remote.first_picture(1))
                for _ in range(2):
                    said.append((await reply(Conversation.ask("What?", ImageFile(path, "")))).text)
                    drawn = await draw(f"Draw: {said[-1]}", 7)
                    path.write_bytes(png_bytes(drawn.image))
        return said

    assert [text.split(" of ")[0] for text in asyncio.run(walked())] == ["A plain picture 2", "A plain picture 3"]


def test_the_same_attempts_fail_for_everybody(remote):
    chances = remote.Chances(0.5, 1)
    calls = [call for chain in range(8) for call in remote.calls_of(chain, 2)]
    assert {chances.attempts(call) for call in calls} > {1, 2}

    async def ours(call) -> int:
        service = remote.Service([remote.first_picture(number) for number in range(8)], 2, 64, 0.0, chances)
        async with await service.listen() as server:
            generator = OpenAIImages(model="i", **settings(server))
            async with generator.connect() as draw:
                for attempt in range(1, 9):
                    try:
                        await draw(f"A plain picture {call.chain * 2 + call.t} of things", 7)
                    except TransientError:
                        continue
                    return attempt
        raise AssertionError

    drawn = [call for call in calls if call.kind == "draw"]
    assert [asyncio.run(ours(call)) for call in drawn] == [chances.attempts(call) for call in drawn]


def test_answers_wait_for_their_time_and_bodies_may_come_in_pieces(remote):
    async def asked() -> list[object]:
        first = remote.first_picture(0)
        service = remote.Service([first], 1, 64, 0.2, remote.Chances(0.0, 0))
        async with await service.listen() as server:
            url = f"data:image/png;base64,{base64.b64encode(first).decode()}"
            body = json.dumps({"messages": [{"image_url": {"url": url}}]}).encode()
            loop = asyncio.get_running_loop()
            began = loop.time()
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Le")
            await asyncio.sleep(0.01)
            writer.write(b"ngth: %d\r\n\r\n" % len(body) + body[:50])
            await asyncio.sleep(0.01)
            writer.write(body[50:])
            line = await reader.readline()
            writer.close()
            return [line, loop.time() - began > 0.2]

    assert asyncio.run(asked()) == [b"HTTP/1.1 200 OK\r\n", True]


def test_the_longest_chain_bounds_every_client(remote):
    load = remote.Load(4, 2, 1.0, 0.3, draws=2)
    chains = [
        [remote.Chances(0.3, draw).attempts(call) for call in remote.calls_of(chain, remote.ITERATIONS)]
        for draw in range(2)
        for chain in range(4)
    ]
    longest = [max(map(sum, chains[:4])), max(map(sum, chains[4:]))]
    assert load.least_ratio == pytest.approx(max(1.0, sum(longest) / 2 / load.ideal))
    assert remote.Load(4, 2, 1.0).least_ratio == 1.0

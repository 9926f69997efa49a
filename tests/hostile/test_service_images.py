"""A service that means harm: where the images lie that it names, and how large its answers are."""

import base64
import gzip
import json
import socket
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from driftledger.components.generators.openai_images import OpenAIImages
from driftledger.components.models.openai_chat import OpenAIChat
from driftledger.components.remote.client import TransientError
from driftledger.components.remote.limits import Limits
from driftledger.core.errors import ServiceError
from driftledger.core.types import Conversation, Generated, Turn
from tests.support.canned_server import Canned
from tests.support.listening import dripping, listening
from tests.support.memory import peak
from tests.support.openai_server import asking
from tests.support.openai_server.asking import KEY

pytest.importorskip("openai")

from driftledger.components.remote import bounded

key_and_no_backoff = pytest.fixture(autouse=True)(asking.key_and_no_backoff)

INSIDE = "an answer names an image at an address inside of a network, which is not the service's own"


def png() -> bytes:
    content = BytesIO()
    Image.new("RGB", (16, 8), "red").save(content, "PNG")
    return content.getvalue()


def drawn(url: str, service: str | None = None) -> Generated:
    """What comes of a service that answers with this address of an image."""
    if service is not None:
        return ask(service)
    with Canned(200, json.dumps({"data": [{"url": url}]})) as server:
        return ask(server.base_url)


def ask(service: str, **limits: Any) -> Generated:
    images = OpenAIImages(model="image-1", base_url=service, api_key_env="TEST_KEY", limits=Limits(**limits))
    return asking.attempt(images, "a red boat", 5)


def chat(service: str, **limits: Any) -> Any:
    model = OpenAIChat(model="chat-1", base_url=service, api_key_env="TEST_KEY", limits=Limits(**limits))
    return asking.attempt(model, Conversation((Turn("user", ("Hello",)),)))


@contextmanager
def names(monkeypatch: pytest.MonkeyPatch, known: Mapping[str, list[str]]) -> Iterator[list[str]]:
    """Names of hosts, and a list of those that were looked up."""
    plain, asked = socket.getaddrinfo, list[str]()

    def look_up(host: Any, port: Any, *more: Any, **named: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name not in known:
            return plain(host, port, *more, **named)
        asked.append(name)
        family = {True: socket.AF_INET6, False: socket.AF_INET}
        return [(family[":" in each], socket.SOCK_STREAM, 6, "", (each, port)) for each in known[name]]

    with monkeypatch.context() as patched:
        patched.setattr(socket, "getaddrinfo", look_up)
        yield asked


def port_of(server: Canned) -> int:
    return int(server.base_url.split(":")[2].partition("/")[0])


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0.0.0.0", "127.255.255.254"),
        *("[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]"),
        *("user:password@127.0.0.1", "127.0.0.1."),
    ],
)
def test_an_image_of_this_machine(host: str) -> None:
    with Canned(200, png()) as victim:
        with pytest.raises((ServiceError, TransientError), match=f"{INSIDE}|cannot be fetched"):
            drawn(f"http://{host}:{port_of(victim)}/admin")
        assert victim.requests == []


@pytest.mark.parametrize(
    "host",
    [
        *("10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1", "192.0.0.1", "198.18.0.1"),
        *("[fe80::1]", "[fd00:ec2::254]", "[ff02::1]", "224.0.0.1", "255.255.255.255", "240.0.0.1"),
    ],
)
def test_an_image_inside_of_a_network(host: str) -> None:
    with pytest.raises(ServiceError, match=f"{INSIDE}; set response_format to b64_json"):
        drawn(f"http://{host}/latest/meta-data/")


def test_a_public_name_with_a_private_address_among_its_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    for address in ("127.0.0.1", "10.1.2.3", "::1", "::ffff:192.168.0.1"):
        with (
            names(monkeypatch, {"images.example": ["93.184.215.14", address]}),
            pytest.raises(ServiceError, match=INSIDE),
        ):
            drawn("https://images.example/a.png")


def test_a_name_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second look-up could give another address than the one that was checked."""
    checked = list[str]()
    monkeypatch.setattr(bounded, "is_public", lambda address: checked.append(address) or True)
    with Canned(200, png()) as images, names(monkeypatch, {"images.example": ["127.0.0.1"]}) as asked:
        given = drawn(f"http://images.example:{port_of(images)}/a.png")
        [(path, headers)] = images.requests
    assert given.image is not None
    assert (asked, checked) == (["images.example"], ["127.0.0.1"])
    assert (path, headers["host"]) == ("/a.png", f"images.example:{port_of(images)}")


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://8.8.8.8/a",
        "gopher://127.0.0.1/",
        "/etc/passwd",
        "data:,x",
        "http:///a",
        "http://8.8.8.8:99999",
    ],
)
def test_an_image_at_no_web_address(url: str) -> None:
    with pytest.raises(ServiceError, match="an image at no web address"):
        drawn(url)


@pytest.mark.parametrize("url", ["http://[::1", "http://a\u2028b/", "http://" + "a" * 300 + "/", "http://a..b/"])
def test_an_image_at_an_address_that_is_none(url: str) -> None:
    with pytest.raises((TransientError, ServiceError), match="an image"):
        drawn(url)


@pytest.mark.parametrize("to", ["http://127.0.0.1:{port}/", "http://[::ffff:127.0.0.1]:{port}/", "//localhost:{port}/"])
def test_a_redirect_to_this_machine(monkeypatch: pytest.MonkeyPatch, to: str) -> None:
    public = bounded.is_public
    monkeypatch.setattr(bounded, "is_public", lambda address: address == "127.0.0.2" or public(address))
    with Canned(200, png()) as victim, names(monkeypatch, {"images.example": ["127.0.0.2"]}):
        with redirecting(to.format(port=port_of(victim))) as port, pytest.raises(ServiceError, match=INSIDE):
            drawn(f"http://images.example:{port}/a.png")
        assert victim.requests == []


@pytest.mark.parametrize("to", ["file:///etc/passwd", "gopher://8.8.8.8/", "data:,x"])
def test_a_redirect_to_no_web_address(monkeypatch: pytest.MonkeyPatch, to: str) -> None:
    monkeypatch.setattr(bounded, "is_public", lambda address: address == "127.0.0.2")
    host = names(monkeypatch, {"images.example": ["127.0.0.2"]})
    with host, redirecting(to) as port, pytest.raises(ServiceError, match="an image at no web address"):
        drawn(f"http://images.example:{port}/a.png")


def test_a_redirect_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "is_public", lambda address: True)
    host = names(monkeypatch, {"images.example": ["127.0.0.2"]})
    with host, redirecting("/b.png") as port, pytest.raises(ServiceError, match="that redirects more than 3 times"):
        drawn(f"http://images.example:{port}/a.png")


def test_a_redirect_from_https_to_http() -> None:
    import asyncio

    import httpx2

    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(302, headers={"location": "http://8.8.4.4/a.png"})

    async def fetched() -> None:
        client = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
        async with client, bounded.opened("https://8.8.8.8/a.png", "https://api.example", client, client):
            raise AssertionError

    with pytest.raises(bounded.RefusedAddressError, match="redirects from https to something else"):
        asyncio.run(fetched())


def test_certificates_are_of_the_name_and_not_of_the_address() -> None:
    import asyncio

    import httpx2

    asked = list[httpx2.Request]()

    def answer(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(200, content=b"x")

    async def fetched() -> None:
        client = httpx2.AsyncClient(transport=httpx2.MockTransport(answer))
        async with client, bounded.opened("https://dns.example/a", "https://api.example", client, client) as response:
            await response.aread()

    with pytest.MonkeyPatch.context() as patched, names(patched, {"dns.example": ["8.8.8.8"]}):
        asyncio.run(fetched())
    [request] = asked
    assert (str(request.url), request.headers["host"]) == ("https://8.8.8.8/a", "dns.example")
    assert request.extensions["sni_hostname"] == "dns.example"


def test_the_key_is_sent_to_no_other_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "is_public", lambda address: True)
    with Canned(200, png(), {"set-cookie": "a=b"}) as images:
        with redirecting(images.base_url) as port:
            drawn(f"http://{KEY}:{KEY}@127.0.0.2:{port}/a.png")
        [(_, headers)] = images.requests
    assert KEY not in json.dumps(headers)
    assert {"authorization", "cookie"}.isdisjoint(headers)


def test_no_proxy_is_given_a_name_to_look_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "is_public", lambda address: True)
    with Canned(200, png()) as images, Canned(200, png()) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.base_url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        with names(monkeypatch, {"images.example": ["127.0.0.1"]}):
            drawn(f"http://images.example:{port_of(images)}/a.png")
        assert (len(images.requests), proxy.requests) == (1, [])


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_service_that_redirects_is_not_followed_with_the_key(status: int) -> None:
    with Canned(200, png()) as thief:
        with Canned(status, "", {"location": thief.base_url}) as service:
            with pytest.raises((ServiceError, TransientError), match=f"HTTP {status}"):
                ask(service.base_url)
            with pytest.raises((ServiceError, TransientError), match=f"HTTP {status}"):
                chat(service.base_url)
        assert thief.requests == []


def test_the_services_own_origin_may_lie_anywhere() -> None:
    content = png()
    with ExitStack() as servers:
        answer = {"data": [{"url": "PLACE"}]}
        server = servers.enter_context(own_images(answer, content))
        given = ask(f"http://127.0.0.1:{server}/v1")
        assert given.image is not None
        answer["data"][0]["url"] = f"http://localhost:{server}/a.png"
        with pytest.raises(ServiceError, match=INSIDE):
            ask(f"http://127.0.0.1:{server}/v1")


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("br", lambda data: data[:100_000]),
        ("zstd", lambda data: data[:100_000]),
        ("gzip, gzip", lambda data: gzip.compress(gzip.compress(data))),
    ],
)
def test_a_small_answer_that_becomes_large(encoding: str, packed: Any) -> None:
    whole = b'{"choices":[{"message":{"content":"' + b" " * 20_000_000 + b'"}}]}'
    with Canned(200, packed(whole), {"content-encoding": encoding}) as server:
        with pytest.raises(TransientError, match=r"it has more than 16,777,216 bytes|was not asked for"):
            chat(server.base_url)
        assert {headers["accept-encoding"] for _, headers in server.requests} == {"gzip"}


def test_a_gzip_of_gigabytes_takes_no_memory() -> None:
    zeros = zlib.compressobj(9, wbits=zlib.MAX_WBITS | 16)
    first, block = (zeros.compress(b"0" * 2**20) + zeros.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    content = first + block * 4095  # which are alike, since none looks back at another
    assert len(content) < 4_300_000
    for status, kind in ((200, "models.openai_chat:OpenAIChat"), (500, "generators.openai_images:OpenAIImages")):
        with Canned(status, content, {"content-encoding": "gzip"}) as server:
            said, memory = peak(
                "import sys\nfrom importlib import import_module\n"
                "module, _, name = sys.argv[1].partition(':')\n"
                "kind = getattr(import_module('driftledger.components.' + module), name)\n"
                "made = kind(model='m', base_url=sys.argv[2], api_key_env=None, limits={'attempts': 1})\n"
                "from driftledger.core.types import Conversation, Turn\n"
                "asked = Conversation((Turn('user', ('x',)),))\n"
                "[reply] = made.respond([asked]) if made.kind == 'model' else made.generate(['x'], [1])\n"
                "print(reply.outcome, reply.error)\n",
                kind,
                server.base_url,
            )
        assert "failed" in said[0]
        assert "bytes" in said[0]
        assert memory < 600


def test_a_gzip_answer_is_read() -> None:
    answer = {"choices": [{"message": {"content": "Hello."}, "finish_reason": "stop"}]}
    with Canned(200, gzip.compress(json.dumps(answer).encode()), {"content-encoding": "GZIP"}) as server:
        assert chat(server.base_url).text == "Hello."
    with Canned(200, b"no gzip", {"content-encoding": "gzip"}) as server, pytest.raises(TransientError):
        chat(server.base_url)


def test_what_follows_the_end_of_a_gzip() -> None:
    answer = json.dumps({"choices": [{"message": {"content": "Hello."}}]}).encode()
    for more in (b"\0" * 10_000_000, gzip.compress(answer), b"x"):
        with (
            Canned(200, gzip.compress(answer) + more, {"content-encoding": "gzip"}) as server,
            pytest.raises(TransientError, match="it goes on after the end of its gzip"),
        ):
            chat(server.base_url)


def test_an_error_in_a_slow_charset_is_not_decoded_by_it() -> None:
    content = "a" * 1_000_000 + "-" + "b" * 1_000_000
    started = time.monotonic()
    service = Canned(500, content, {"content-type": "text/plain; charset=punycode"})
    with service, pytest.raises(TransientError, match="HTTP 500: aaa"):
        chat(service.base_url)
    assert time.monotonic() - started < 10


def test_deep_json_in_an_answer() -> None:
    with Canned(200, b'{"choices":' + b"[" * 500_000) as server, pytest.raises(TransientError, match="cannot be read"):
        chat(server.base_url)


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_an_image_of_many_pixels() -> None:
    content = BytesIO()
    Image.new("1", (13_300, 13_300)).save(content, "PNG")
    packed = base64.b64encode(content.getvalue()).decode()
    service = Canned(200, json.dumps({"data": [{"b64_json": packed}]}))
    with service, pytest.raises(TransientError, match="13300×13300 pixels are more than 67108864"):
        ask(service.base_url)


@pytest.mark.parametrize("asking_", [ask, chat])
def test_a_slow_drip_ends(asking_: Any) -> None:
    with dripping() as port:
        started = time.monotonic()
        with pytest.raises(TransientError):
            with_timeout(asking_, f"http://127.0.0.1:{port}/v1")
        assert time.monotonic() - started < 10


def with_timeout(asking_: Any, service: str) -> None:
    import asyncio

    from driftledger.components.remote.limits import Prices
    from driftledger.core.types import Usage

    limits = Limits(timeout=1, attempts=1)
    kind: Any = OpenAIImages if asking_ is ask else OpenAIChat
    made = kind(model="m", base_url=service, api_key_env=None, limits=limits, prices=Prices())
    call = ("x", 1) if asking_ is ask else (Conversation((Turn("user", ("x",)),)),)

    async def once() -> None:
        async with made.connect() as connected:
            answered = await made.line().call(lambda: connected(*call), Usage())
            raise TransientError(answered.error or "")

    asyncio.run(once())


@contextmanager
def redirecting(to: str) -> Iterator[int]:
    """A server on every loopback address that redirects each request."""

    def answer(connection: socket.socket) -> None:
        connection.recv(65536)
        head = f"HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        connection.sendall(head.encode())

    with listening(answer, "127.0.0.2") as port:
        yield port


@contextmanager
def own_images(answer: dict[str, Any], content: bytes) -> Iterator[int]:
    """A service that answers POST with an address at itself, and GET with the image."""

    def respond(connection: socket.socket) -> None:
        request = connection.recv(65536)
        while b"\r\n\r\n" not in request:
            request += connection.recv(65536)
        body = content if request.startswith(b"GET") else json.dumps(answer).encode()
        connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(body) + body)

    with listening(respond) as port:
        answer["data"][0]["url"] = f"http://127.0.0.1:{port}/a.png"
        yield port

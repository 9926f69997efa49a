"""A service on loopback: it answers as a script says, and otherwise as OpenAI's would."""

import base64
import hashlib
import json
import re
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from copy import deepcopy
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple

from tests.acceptance.service import describe, draw
from tests.support.cases import CASES
from tests.support.loopback import OnLoopback

Rule = dict[str, Any]
"""A line of a script.

``to``: the requests that it is for, as a regular expression of method and path; all without it.
``times``: how many of them; all without it. ``status``, ``body`` and ``headers``: the answer, or
``changes`` to the usual answer. ``fault``: the request is lost (``drop``, ``reset``, ``timeout``),
or its answer (``lost``, ``drop_midway``).
"""
ANSWERS = json.loads((CASES / "support" / "server.json").read_bytes())
"""Parts of the usual answers."""


class Request(NamedTuple):
    """A request that came in; names of headers are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    content: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.content)

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(self.path.encode() + self.content).digest()


class ChatAnswer(NamedTuple):
    """The text of a chat model; with another ``status``, the message of an error."""

    text: str
    status: int = 200


def digest(value: Any) -> bytes:
    return hashlib.sha256(json.dumps(value).encode()).digest()


def described(body: dict[str, Any]) -> ChatAnswer:
    """Return a sentence chosen by the messages of a request."""
    return ChatAnswer(describe(digest(body["messages"])))


class Server(OnLoopback):
    """Serves chat completions, image generations, files and batches on 127.0.0.1.

    The first rule of the ``script`` that is for a request, and has times left, answers it; without
    one, ``reply`` answers a chat, and others are answered as OpenAI would. ``plans`` are of the
    batches in the order of their creation: see :meth:`_create`. A batch fails if it and those
    under way have more calls than ``room``.
    """

    def __init__(
        self,
        *script: Rule,
        reply: Callable[[dict[str, Any]], ChatAnswer] = described,
        api_key: str | None = None,
        plans: Sequence[dict[str, Any]] = (),
        room: int = 99,
    ) -> None:
        self.script = [{**rule} for rule in script]
        self.requests: list[Request] = []
        """Requests with a body or a rule, in order of arrival."""
        self.answered = 0
        """Answers that were sent whole; of batches, those to their calls."""
        self.files: list[list[dict[str, Any]]] = []
        self.batches: list[dict[str, Any]] = []
        self.paid = Counter[str]()
        """Key → how many batches have answered it."""
        self._reply = reply
        self._api_key = api_key
        self._plans = [*plans]
        self._room = room
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers.get("content-length", 0))
                headers = {name.lower(): text for name, text in self.headers.items()}
                content = self.rfile.read(length)
                owner._serve(self, Request(self.command, self.path, headers, content))

            do_GET = do_HEAD = do_PUT = do_POST  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(Handler)

    def __exit__(self, *error: object) -> None:
        self._stopped.set()
        super().__exit__(*error)

    def asked(self, pattern: str) -> int:
        """Count the requests that a rule ``to`` this pattern is for."""
        return sum(_is_for(pattern, request) for request in self.requests)

    def _serve(self, handler: BaseHTTPRequestHandler, request: Request) -> None:
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        with self._lock:
            rule = ANSWERS["wrong key"]
            if self._api_key in (None, key):
                rule = self._rule(request)
            if rule or request.content:
                self.requests.append(request)
        fault = rule.get("fault")
        if fault in ("drop", "reset", "timeout"):
            self._lose(handler, fault)
            return
        if rule.keys() & {"status", "body"}:
            status, body = rule.get("status", 200), rule.get("body", "")
        else:
            status, body = self._usual(request)
            if "changes" in rule:
                body |= rule["changes"]
            if not fault and request.path.endswith(("completions", "generations")):
                with self._lock:
                    self.answered += 1
        if fault == "lost":
            self._lose(handler, "drop")
            return
        content = body if isinstance(body, str | bytes) else json.dumps(body)
        content = content.encode() if isinstance(content, str) else content
        sizes = {"content-length": str(len(content))}
        handler.send_response(status)
        for name, value in (sizes | rule.get("headers", {})).items():
            handler.send_header(name, value)
        handler.end_headers()
        cut = len(content) // 2 if fault == "drop_midway" else None
        handler.wfile.write(content[:cut])

    def _rule(self, request: Request) -> Rule:
        for rule in self.script:
            if rule.get("times") != 0 and _is_for(rule.get("to", ""), request):
                if "times" in rule:
                    rule["times"] -= 1
                return rule
        return {}

    def _lose(self, handler: BaseHTTPRequestHandler, fault: str) -> None:
        """Close the connection of a request."""
        if fault == "timeout":
            self._stopped.wait(30)
        elif fault == "reset":
            linger = struct.pack("ii", 1, 0)
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        else:
            handler.connection.shutdown(socket.SHUT_RDWR)
        handler.connection.close()

    def _usual(self, request: Request) -> tuple[int, Any]:
        """Return the status and the body of an answer without a rule."""
        path = request.path.partition("?")[0].removeprefix("/v1/").split("/")
        match request.method, *path:
            case "POST", "chat", "completions":
                text, status = self._reply(request.body)
                if status != 200:
                    return status, {"error": {"message": text}}
                return 200, completion(text, request.body)
            case "POST", "images", "generations":
                return 200, image(request.body)
            case "POST", "files":
                lines = re.findall(rb'^\{"custom_id.*$', request.content, re.MULTILINE)
                self.files.append([json.loads(line) for line in lines])
                return 200, {"id": str(len(self.files) - 1)}
            case "GET", "files", number, "content":
                return 200, "\n".join(self.batches[int(number)]["lines"])
            case "POST", "batches":
                return 200, self._create(request.body)
            case "GET", "batches":
                data = [_public(batch) for batch in self.batches[::-1]]
                return 200, {"data": data, "has_more": False}
            case "GET", "batches", number if int(number) < len(self.batches):
                batch = self.batches[int(number)]
                batch["looks"] -= 1
                under_way = {"status": batch["word"], "output_file_id": None}
                return 200, _public(batch) | (under_way if batch["looks"] >= 0 else {})
        return 404, {}

    def _create(self, body: dict[str, Any]) -> dict[str, Any]:
        """Create a batch as its plan says.

        ``looks`` find it under way, by this ``word``; then it has a ``status`` and ``errors``.
        Its results are a ``flood`` of bytes, ``extra`` lines, and the ``answers``, slices of all
        calls, in a ``form``. An answer is the text of the call, or by that text, among ``calls``,
        another text or a status and a message.
        """
        calls = self.files[int(body["input_file_id"])]
        assert {call["url"] for call in calls} == {body["endpoint"]}
        plan = self._plans.pop(0) if self._plans else {}
        held = sum(len(batch["asked"]) for batch in self.batches if batch["looks"] >= 0)
        if held + len(calls) > self._room:
            plan = plan | ANSWERS["no room"]
        number = str(len(self.batches))
        batch = (
            ANSWERS["batch"] | body | {"id": number, "output_file_id": number} | plan
        )
        lines = {call["custom_id"]: _line(call, plan) for call in calls}
        keys = [key for part in batch["answers"] for key in [*lines][slice(*part)]]
        self.answered += len({*keys})
        self.paid.update(key for key in {*keys} if '"choices"' in lines[key])
        batch["asked"] = calls
        batch["lines"] = ["x" * batch["flood"], *batch["extra"]]
        batch["lines"] += map(lines.__getitem__, keys)
        self.batches.append(batch)
        return _public(batch)


def _is_for(pattern: str, request: Request) -> bool:
    return bool(re.search(pattern, f"{request.method} {request.path}"))


def completion(text: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of a chat model with this text."""
    answer = deepcopy(ANSWERS["chat"])
    answer["model"] = body["model"]
    answer["choices"][0]["message"]["content"] = text
    answer["usage"]["completion_tokens"] = len(str(text).split())
    return answer


def image(body: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of an image generator: a drawing chosen by the prompt."""
    prompt = body["prompt"]
    answer = deepcopy(ANSWERS["image"])
    drawn = base64.b64encode(draw(digest(prompt))).decode()
    answer["data"] = [{"b64_json": drawn, "revised_prompt": f"{prompt.strip()} Flat."}]
    answer["usage"]["input_tokens"] = len(prompt.split())
    return answer


def _public(batch: dict[str, Any]) -> dict[str, Any]:
    """Return what a service shows of a batch."""
    return {name: batch[name] for name in ANSWERS["batch"]["shown"]}


def _line(call: dict[str, Any], plan: dict[str, Any]) -> str:
    """Return a line of a batch's results."""
    body = call["body"]
    text = body.get("prompt") or body["messages"][0]["content"][-1]["text"]
    status, message = plan.get("calls", {}).get(text, (200, text))
    answer: dict[str, Any] = {"error": {"message": message}}
    if status == 200:
        answer = image(body) if "prompt" in body else completion(message, body)
        answer |= {"usage": ANSWERS["usage in a batch"]}
    forms = {
        "": {"response": {"status_code": status, "body": answer}},
        "text": {"response": {"status_code": str(status), "body": json.dumps(answer)}},
        "no status": {"response": {"body": answer}},
        "no frame": {"response": answer},
        "no response": answer,
        "not made": {"response": None} | answer,
    }
    form = plan.get("form", "") if status else "not made"
    return json.dumps({"custom_id": call["custom_id"]} | forms[form])

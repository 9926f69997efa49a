"""A server on loopback with OpenAI's files and batches, which go wrong as a case says."""

import base64
import json
import re
from collections import Counter
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.acceptance.service import draw
from tests.support.canned_server import OnLoopback

FULL = {
    "status": "failed",
    "answers": [[0]],
    "looks": -1,
    "why": {
        "data": [
            {"code": "token_limit_exceeded", "message": "9 enqueued tokens allowed."}
        ]
    },
}
"""The plan of a batch that there is no room for."""
_NONE = '{"error": {"message": "no batches of this model"}}'
REFUSALS = {"dropped": (0, ""), 400: (400, _NONE), 429: (429, _NONE), 404: (404, "{}")}
REFUSALS["full"] = (400, '{"error": {"message": "9 enqueued tokens allowed."}}')


class BatchServer(OnLoopback):
    """Answers each call with the text that it asks, or with a drawing of it.

    ``plans`` are of the batches in the order of their creation. A plan may have ``looks`` that find
    it under way, a ``status``, ``answers`` as slices of all, ``errors`` (text → status and
    message, or the text that is answered), ``extra`` lines before them, a ``flood`` of bytes before
    these, results that are ``gone`` for some looks, ``errors`` of its own as ``why``, a status with
    which a first look is ``denied``, an answer ``instead`` of itself, a ``form`` of its lines, and
    ``create``: ``lost`` after it was made, ``forgotten`` later, or one of the refusals. A batch
    fails if it and those under way have more calls than ``room``. The first ``lost_files`` cannot
    be uploaded. ``instead`` answers one kind of request: ``files``, ``batches`` or ``list``.
    """

    def __init__(
        self,
        *plans: dict[str, Any],
        room: int = 99,
        lost_files: int = 0,
        instead: dict[str, tuple[int, str]] | None = None,
    ) -> None:
        self.plans = [*plans]
        self.instead = instead or {}
        self.room = room
        self.lost_files = lost_files
        self.files: list[list[dict[str, Any]]] = []
        self.batches: list[dict[str, Any]] = []
        self.paid = Counter[str]()
        """Key → how many batches have answered it."""
        self.listed = 0
        self.answered = 0
        """Answers, errors included."""
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                status, text = owner._answer(
                    self.path.split("?")[0].split("/")[2:], body
                )
                if status:
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.end_headers()
                    self.wfile.write(text.encode())

            do_POST = do_GET  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(Handler)

    def _answer(self, path: list[str], body: bytes) -> tuple[int, str]:
        """Return a status and a text; no status for an answer that is lost."""
        kind = "list" if path == ["batches"] and not body else path[-1]
        if kind in self.instead:
            self.listed += kind == "list"
            return self.instead[kind]
        match path:
            case ["files"] if self.lost_files:
                self.lost_files -= 1
                return 502, ""
            case ["files"]:
                lines = re.findall(rb'^\{"custom_id.*$', body, re.MULTILINE)
                self.files.append([json.loads(line) for line in lines])
                return 200, json.dumps({"id": str(len(self.files) - 1)})
            case ["files", number, "content"]:
                batch = self.batches[int(number)]
                batch["gone"] -= 1
                return 404 if batch["gone"] >= 0 else 200, "\n".join(batch["lines"])
            case ["batches"] if body:
                return self._create(json.loads(body))
            case ["batches"]:
                data = [_told(batch) for batch in self.batches[::-1]]
                return 200, json.dumps({"data": data, "has_more": False})
        if int(path[1]) >= len(self.batches):
            return 404, "{}"
        batch = self.batches[int(path[1])]
        if denied := batch.pop("denied", None):
            return denied, '{"id": "9", "error": {"message": "no such key"}}'
        if batch["instead"]:
            return 200, batch["instead"]
        batch["looks"] -= 1
        under_way = {}
        if batch["looks"] >= 0:
            under_way = {"status": batch["word"], "output_file_id": None}
        return 200, json.dumps(_told(batch) | under_way)

    def _create(self, asked: dict[str, Any]) -> tuple[int, str]:
        plan = self.plans.pop(0) if self.plans else {}
        create = plan.get("create", 200)
        if create in REFUSALS:
            return REFUSALS[create]
        if create == "forgotten":
            return 200, '{"id": "9", "status": "in_progress"}'
        number = str(len(self.batches))
        calls = self.files[int(asked["input_file_id"])]
        assert {call["url"] for call in calls} == {asked["endpoint"]}
        held = sum(len(batch["calls"]) for batch in self.batches if batch["looks"] >= 0)
        if held + len(calls) > self.room:
            plan = plan | FULL
        made = {call["custom_id"]: _line(call, plan) for call in calls}
        keys = [
            key
            for part in plan.get("answers", [[None]])
            for key in [*made][slice(*part)]
        ]
        self.answered += len({*keys})
        self.paid.update(key for key in {*keys} if '"choices"' in made[key])
        lines = ["x" * plan.get("flood", 0), *plan.get("extra", ())]
        lines += map(made.__getitem__, keys)
        batch = {
            "id": number,
            "looks": plan.get("looks", 0),
            "lines": lines,
            "calls": calls,
        }
        batch |= {"status": plan.get("status", "completed"), "output_file_id": number}
        batch |= {"input_file_id": asked["input_file_id"], "errors": plan.get("why")}
        batch |= {"denied": plan.get("denied"), "gone": plan.get("gone", 0)}
        batch |= {
            "instead": plan.get("instead"),
            "word": plan.get("word", "in_progress"),
        }
        self.batches.append(batch)
        return 200 * (create != "lost"), json.dumps(_told(batch))


def _told(batch: dict[str, Any]) -> dict[str, Any]:
    """Return what a service says of a batch."""
    hidden = ("lines", "calls", "looks", "word", "instead")
    return {name: value for name, value in batch.items() if name not in hidden}


def _line(call: dict[str, Any], plan: dict[str, Any]) -> str:
    body = call["body"]
    text = body.get("prompt") or body["messages"][0]["content"][-1]["text"]
    status, message = plan.get("errors", {}).get(text, (200, None))
    made: dict[str, Any] = {"error": {"message": message}}
    if status == 200:
        content = text if message is None else message
        made = {"usage": {"prompt_tokens": 10, "completion_tokens": 2}}
        made["choices"] = [{"message": {"content": content}, "finish_reason": "stop"}]
        made["data"] = [
            {"b64_json": base64.b64encode(draw(text.encode() * 16)).decode()}
        ]
    response: Any = {"status_code": status, "body": made}
    match plan.get("form"):
        case "text":
            response = {"status_code": str(status), "body": json.dumps(made)}
        case "no status":
            del response["status_code"]
        case "no frame":
            response = made
    line = {"custom_id": call["custom_id"], "response": response}
    if plan.get("form") == "no response":
        line = {"custom_id": call["custom_id"]} | made
    if status is None:
        line |= {"response": None, "error": {"code": "x", "message": message}}
    return json.dumps(line)

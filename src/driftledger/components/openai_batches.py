"""Batches behind OpenAI's protocol."""

import json
import re
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar, cast

from pydantic import BaseModel, ValidationError

from driftledger.components.answers import facts, field, trouble_in
from driftledger.components.openai import OpenAIComponent
from driftledger.components.service import RemoteComponent, TransientError
from driftledger.core.files import load_json

M = TypeVar("M", bound=BaseModel)

_WORDS = {
    "under way": (
        "validating validated creating created submitted scheduled queued pending inprogress "
        "running processing started finalizing cancelling canceling cancellationrequested stopping"
    ),
    "completed": "completed complete succeeded success successful ended done finished",
    "failed": "failed failure error",
    "expired": "expired timeout timedout timeoutexceeded",
    "cancelled": "cancelled canceled stopped aborted",
}
"""State → words of services for it, in small letters. Nothing is assumed about other words."""
_STATES = {word: state for state, words in _WORDS.items() for word in words.split()}
_OF_MOMENT = re.compile(r"internal|server|unavailable|capacity|overload", re.I)
"""Reasons of a failed batch that may pass; after any other reason its requests are refused."""
_PAGES = 100
"""Pages of the service's list of batches that are read, at most."""
MOST_ANSWERS = 1000
"""Answers of the largest size in a file of results, at most; the rest is not read."""


class Job(BaseModel):
    """A batch or a file at the service."""

    id: str
    status: str = ""
    input_file_id: str | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    errors: Any = None

    @property
    def state(self) -> str:
        """The state, a key of the table above; empty for an unknown word."""
        word = re.sub(r"^(job|batch)_state_|[\s_-]", "", self.status.lower())
        return _STATES.get(word, "")


class Jobs(BaseModel):
    """A page of the service's list of batches."""

    data: list[Job]


@asynccontextmanager
async def open_batches(component: RemoteComponent) -> AsyncIterator["OpenAIBatches"]:
    """Open a client for the batches of a component, which must have batches."""
    ours = cast(OpenAIComponent, component)
    async with ours.client() as client:
        yield OpenAIBatches(ours, client)


@dataclass
class OpenAIBatches:
    """The batches of a component; methods raise as an attempt does."""

    component: OpenAIComponent
    client: Any

    def line(self, key: str, *call: Any) -> bytes:
        """Return a call's line in the file of a batch."""
        body = self.component.body_of(*call)
        url = f"/v1{self.component.path}"
        request = {"custom_id": key, "method": "POST", "url": url, "body": body}
        return json.dumps(request).encode() + b"\n"

    async def upload(self, lines: bytes) -> str:
        """Upload the file of a batch, which costs nothing, and return its id."""
        file = ("driftledger.jsonl", lines)
        request = self.client.files.with_raw_response.create(file=file, purpose="batch")
        return (await self._read(request, Job)).id

    async def create(self, file: str) -> Job:
        """Create the batch of a file; after a TransientError it may exist, too."""
        request = self.client.batches.with_raw_response.create(
            input_file_id=file,
            endpoint=f"/v1{self.component.path}",
            completion_window="24h",
        )
        return await self._read(request, Job)

    async def look(self, file: str, job_id: str | None) -> Job | None:
        """Return a batch by its id or, without one, by its file; None if unknown."""
        batches = self.client.batches.with_raw_response
        if job_id is not None:
            with suppress(LookupError):
                return await self._read(batches.retrieve(job_id), Job, is_look=True)
            return None
        seen = set[str]()
        after: dict[str, str] = {}
        for _ in range(_PAGES):
            page = await self._read(batches.list(limit=100, **after), Jobs)
            for job in page.data:
                if job.input_file_id == file:
                    return job
                # some services repeat their first page without an end
                if job.id in seen:
                    return None
                seen.add(job.id)
                after = {"after": job.id}
            if not page.data:
                break
        return None

    async def answers(self, job: Job) -> AsyncIterator[tuple[str, int, str]]:
        """Yield key, HTTP status and text of each answer; unreadable keys are empty."""
        import openai

        largest = self.component.largest
        # in other batches, a call without an answer was not made
        is_complete = job.state == "completed"
        for file in filter(None, (job.output_file_id, job.error_file_id)):
            content = self.client.files.with_streaming_response.content(file)
            received = 0
            rest = bytearray()
            # a file that is gone has no answers
            with self._errors(), suppress(openai.NotFoundError):
                async with content as response:
                    async for chunk in response.iter_bytes():
                        received += len(chunk)
                        rest += chunk
                        if b"\n" in chunk:
                            *lines, rest = rest.split(b"\n")
                            for line in lines:
                                yield _parsed(bytes(line), largest, is_complete)
                        if max(len(rest), received // MOST_ANSWERS) > largest:
                            break
            yield _parsed(bytes(rest), largest, is_complete)

    def lost(self, job: Job) -> NoReturn:
        """Raise the error of calls that an expired or failed batch left unanswered."""
        has_failed = job.state == "failed"
        details = [f"its batch is {job.state}"]
        for name, value in facts(job.errors):
            if isinstance(value, str) and name != "object":
                details.append(value)
        reason = self.component.redacted(": ".join(details))
        if has_failed and job.errors and not _OF_MOMENT.search(reason):
            self.component.resolve_error(400, reason)
        raise TransientError(reason, once_more=has_failed)

    async def _read(
        self, request: Awaitable[Any], model: type[M], is_look: bool = False
    ) -> M:
        """Read the answer to a request.

        Args:
            is_look: whether the request looks for something. Others work at each service that has
                batches.

        Raises:
            LookupError: the service does not know the batch or the file.
        """
        import openai

        with self._errors():
            try:
                answer = (await request).http_response
            except openai.APIStatusError as error:
                answer = error.response
        status = answer.status_code
        text = answer.text
        if status < 300:
            with suppress(ValidationError):
                return model.model_validate_json(text)
        trouble = trouble_in(status, text)
        if is_look and trouble.status in (404, 410):
            raise LookupError
        rule = trouble.rule(False)
        # neither a batch nor a known error
        is_odd = trouble.status < 300 and "billed" in rule.flags
        lacks_batches = is_odd or trouble.status in (404, 405, 501)
        if not is_look and (lacks_batches or "`batch`" in rule.advice):
            message = f"it has no batches ({trouble.message})"
            text = json.dumps({"error": {"message": message}})
        result = self.component.resolve_error(trouble.status, text, answer.headers)
        raise TransientError(result.error)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn errors of the library into ours."""
        import httpx2
        import openai

        try:
            yield
        except openai.APIError as error:
            raise TransientError(
                self.component.resolve_exception(error).error
            ) from None
        except httpx2.HTTPError as error:
            raise TransientError(self.component.redacted(str(error))) from None


def _parsed(line: bytes, largest: int, is_complete: bool) -> tuple[str, int, str]:
    """Read the key, status and text of an answer in a line.

    Some services leave out the status or the frame, or write the status or the answer as a text.

    Args:
        is_complete: whether the batch is complete, so that an error is the answer to its call.
    """
    answer: Any = None
    with suppress(ValueError):
        answer = load_json(line, largest, strict=False)
    key = field(answer, str, "custom_id") or ""
    if not key:
        return "", 500, ""
    response = answer.get("response") or answer
    if response is answer and answer.get("error"):
        return key if is_complete else "", 500, json.dumps(answer)
    status = 200
    body = response
    if isinstance(response, dict):
        code = str(response.get("status_code"))[:3]
        if code.isdecimal():
            status = int(code)
        body = response.get("body") or response
    return key, status, body if isinstance(body, str) else json.dumps(body)

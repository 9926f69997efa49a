"""Batches behind OpenAI's protocol: a file of requests, whose answers are files, within a day."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError

from driftledger.components.answers import facts, field, trouble_in
from driftledger.components.openai import OpenAIComponent
from driftledger.components.service import TransientError
from driftledger.core.files import load_json

ENDED = ("completed", "failed", "expired", "cancelled")
"""States of a batch that changes no more."""
_LARGEST = 1000
"""Largest answers that a file of results may hold; what follows is not read."""


class Job(BaseModel):
    """A batch as the service knows it."""

    id: str
    status: str
    output_file_id: str | None = None
    error_file_id: str | None = None
    errors: Any = None


@dataclass
class OpenAIBatches:
    """The batches of one component, over an open client.

    Each method raises what an attempt raises.
    """

    component: OpenAIComponent
    client: Any

    def line(self, key: str, *given: Any) -> bytes:
        """Return the line of a batch's file that asks a call."""
        body = self.component.body_of(*given)
        url = f"/v1{self.component.path}"
        request = {"custom_id": key, "method": "POST", "url": url, "body": body}
        return json.dumps(request).encode() + b"\n"

    async def upload(self, lines: bytes) -> str:
        """Upload the file of a batch, which costs nothing, and return its id."""
        with self._errors():
            file = ("driftledger.jsonl", lines)
            uploaded = await self.client.files.create(file=file, purpose="batch")
            return str(uploaded.id)

    async def create(self, file: str) -> Job:
        """Create the batch of a file; it may exist after a TransientError."""
        with self._errors():
            created = await self.client.batches.create(
                input_file_id=file,
                endpoint=f"/v1{self.component.path}",
                completion_window="24h",
            )
            return Job.model_validate(created.to_dict())

    async def look(self, file: str, job_id: str | None) -> Job | None:
        """Return a batch by its id or its file; None if the service's list does not hold it."""
        import openai

        with self._errors():
            if job_id is not None:
                with suppress(openai.NotFoundError):
                    known = await self.client.batches.retrieve(job_id)
                    return Job.model_validate(known.to_dict())
            async for each in self.client.batches.list(limit=100):
                if each.input_file_id == file:
                    return Job.model_validate(each.to_dict())
        return None

    async def answers(self, job: Job) -> AsyncIterator[tuple[str, int, str]]:
        """Yield the key, HTTP status and text of each answer; no key where none can be read."""
        import openai

        largest = self.component.largest
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
                                yield _parsed(bytes(line), largest)
                        if max(len(rest), received // _LARGEST) > largest:
                            break
            yield _parsed(bytes(rest), largest)

    def lost(self, job: Job) -> TransientError:
        """Return the error of the calls that a batch that has ended has not answered."""
        details = [value for _, value in facts(job.errors) if isinstance(value, str)]
        reason = ": ".join([f"its batch is {job.status}", *details])
        # the answers of a completed one were paid for, but their file is gone
        completed = job.status == "completed"
        return TransientError(
            self.component.redacted(reason),
            billed=completed,
            once_more=completed,
            full="full" in trouble_in(400, reason).rule(False).flags,
        )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Raise ours for those of the library."""
        import httpx2
        import openai

        try:
            yield
        except openai.APIError as error:
            self.component.raised(error)
            raise
        except (ValidationError, httpx2.HTTPError) as error:
            raise TransientError(self.component.redacted(str(error))) from None


def _parsed(line: bytes, largest: int) -> tuple[str, int, str]:
    answer: Any = None
    with suppress(ValueError):
        answer = load_json(line, largest, strict=False)
    key = field(answer, str, "custom_id") or ""
    # one that was not made has an error of its own
    status = field(answer, int, "response", "status_code") or 500
    body = field(answer, dict, "response", "body") or answer
    return key, status, json.dumps(body)

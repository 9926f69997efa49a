"""Requests to the server by a provider."""

import asyncio
from typing import Any

KEY = "sk-secret-0123456789abcdef"


def attempt(component: Any, *call: Any) -> Any:
    """One attempt of a provider at a call, without what a line does about its failure."""

    async def once() -> Any:
        async with component.connect() as connected:
            return await connected(*call)

    return asyncio.run(once())

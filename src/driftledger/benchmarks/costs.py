"""Keys of calls that records tell of, by which the call store is asked what they took."""

from pathlib import Path

from driftledger.collect.call_key import CallKey
from driftledger.core.types import Conversation, ImageFile


def describe_key(model: str, prompt: str, image_sha256: str, max_tokens: int | None) -> str:
    """The key of asking the model of that fingerprint for a description, without examples."""
    asked = Conversation.ask(prompt, ImageFile(Path(), image_sha256), max_tokens=max_tokens)
    return CallKey.of_conversation(model, "describe", asked, {}).digest

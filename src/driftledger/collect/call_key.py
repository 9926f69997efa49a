"""What makes two component calls the same call."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from driftledger.core.canonical import sha256_of
from driftledger.core.types import Conversation, ImageFile


@dataclass(frozen=True)
class CallKey:
    """What a call's result depends on, and nothing else: equal keys are the same call."""

    fingerprint: str
    role: str
    input: Any
    images: tuple[str, ...]
    seed: int | None
    component: Mapping[str, Any] = field(compare=False)
    """The component's spec, kept so that ``calls why`` can say what differs behind two fingerprints."""

    @classmethod
    def of_conversation(
        cls, fingerprint: str, role: str, conversation: Conversation, component: Mapping[str, Any]
    ) -> "CallKey":
        """The key of asking a model."""
        turns, images = rendered(conversation)
        limit = conversation.max_tokens
        asked = turns if limit is None else {"turns": turns, "max_tokens": limit}
        return cls(fingerprint, role, asked, images, None, component)

    @classmethod
    def of_prompt(cls, fingerprint: str, prompt: str, seed: int, component: Mapping[str, Any]) -> "CallKey":
        """The key of having a generator draw."""
        return cls(fingerprint, "generate", prompt, (), seed, component)

    @property
    def digest(self) -> str:
        """Hex SHA-256 over (component fingerprint, role, rendered input, hash of each input image, seed)."""
        return sha256_of([self.fingerprint, self.role, self.input, list(self.images), self.seed])

    def parts(self) -> dict[str, Any]:
        return {
            "component": dict(self.component),
            "role": self.role,
            "input": self.input,
            "images": list(self.images),
            "seed": self.seed,
        }


def rendered(conversation: Conversation) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """A conversation as part of a key: its turns with hashes for images, and those hashes by themselves."""
    parts = [part for turn in conversation.turns for part in turn.parts]
    turns = [{"role": turn.role, "parts": [_rendered_part(part) for part in turn.parts]} for turn in conversation.turns]
    return turns, tuple(part.sha256 for part in parts if isinstance(part, ImageFile))


def _rendered_part(part: str | ImageFile) -> dict[str, str]:
    return {"text": part} if isinstance(part, str) else {"image": part.sha256}

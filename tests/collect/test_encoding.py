"""What encoders are asked about texts: once for each, and told for all."""

from collections.abc import Sequence

from driftledger.collect.encoding import encode_texts, read_texts
from driftledger.core.types import Float32, PromptUsage
from tests.support.fakes import LetterEncoder

TEXTS = ["one two three", "one", "one two three", "", "one"]


class Listening(LetterEncoder):
    """Keeps what it was asked."""

    def encode_texts(self, texts: Sequence[str]) -> Float32:
        HEARD.extend(texts)
        return super().encode_texts(texts)

    def read_texts(self, texts: Sequence[str]) -> list[PromptUsage]:
        HEARD.extend(texts)
        return super().read_texts(texts)


HEARD: list[str] = []


def test_equal_texts_are_encoded_and_read_once() -> None:
    encoder, plain = Listening(), LetterEncoder()
    HEARD.clear()
    assert encode_texts(encoder, TEXTS).tolist() == plain.encode_texts(TEXTS).tolist()
    assert HEARD == ["one two three", "one", ""]
    HEARD.clear()
    assert read_texts(encoder, TEXTS) == plain.read_texts(TEXTS)
    assert HEARD == ["one two three", "one", ""]
    assert read_texts(encoder, []) == []

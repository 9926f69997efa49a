"""What a catalogue entry says about a service's limits and prices. None of it can change an answer."""

from pydantic import Field

from driftledger.core.strict import Strict
from driftledger.core.types import Usage

_MILLION = 1_000_000


class Limits(Strict):
    """How calls to a service are made."""

    concurrency: int = Field(default=8, ge=1, le=1024)
    """Calls on their way at once."""
    requests_per_minute: int | None = Field(default=None, ge=1)
    """In any 60 seconds, retries included."""
    tokens_per_minute: int | None = Field(default=None, ge=1)
    """In any 60 seconds, input and output together, by estimate before a call and by the service's count after it."""
    timeout: float = Field(default=120.0, gt=0)
    """Seconds that one attempt may take."""
    deadline: float = Field(default=900.0, gt=0)
    """Seconds that one call may take, with all its attempts and the waits between them."""
    attempts: int = Field(default=8, ge=1, le=100)
    max_calls: int | None = Field(default=None, ge=0)
    """Attempts that may be made with this version of the component, over all runs of this call store."""
    max_cost: float | None = Field(default=None, ge=0)
    """What they may cost together, in the currency of ``prices``."""


class Prices(Strict):
    """A service's list prices, for estimates, budgets and the spend in MLflow."""

    input: float = Field(default=0.0, ge=0)
    """Per million input tokens."""
    output: float = Field(default=0.0, ge=0)
    """Per million output tokens."""
    image: float = Field(default=0.0, ge=0)
    """Per drawn image."""

    def cost(self, usage: Usage) -> float:
        """What a call with this usage costs; tokens that nobody counted cost nothing."""
        tokens = (usage.input_tokens or 0) * self.input + (usage.output_tokens or 0) * self.output
        return tokens / _MILLION + usage.images * self.image

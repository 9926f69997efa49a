"""What a checkpoint's answer becomes, whichever engine has computed it."""

from dataclasses import replace

from driftledger.core.types import Conversation, Outcome, Reply, Usage


def reply_of(text: str, usage: Usage, *, ended: bool) -> Reply:
    """An answer, ``truncated`` unless it has ``ended``; an empty one has failed."""
    if not text:
        return failed(f"the answer is empty: its {usage.output_tokens} tokens say nothing", usage)
    return Reply(text, Outcome.OK if ended else Outcome.TRUNCATED, usage=usage)


def whole(conversation: Conversation, reply: Reply) -> Reply:
    """The reply with the beginning that it was given."""
    return replace(reply, text=conversation.whole(reply.text)) if reply.outcome.goes_on else reply


def failed(why: str, usage: Usage | None = None) -> Reply:
    return Reply("", Outcome.FAILED, error=why, usage=usage)

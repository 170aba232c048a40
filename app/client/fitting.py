"""Which messages of a conversation are sent where not all of them fit.  Pure.

System messages, the last user message and what follows it are never left out.  Of the rest the oldest exchanges go
first, and more of them than would have to: the beginning of the prompt then stays the same for some turns, and is
read once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from app.chat.models import ChatMessage, Role
from app.client.text_job import LONG

KEPT_SHARE = 0.6
"""How much of a chat's room is filled again after something had to be left out."""

_ANSWER_SHARE = 8


def room(context_tokens: int, max_tokens: int | None) -> int:
    """The most tokens of a prompt that leaves room for an answer: an eighth, or what the answer may have if less."""
    least = max(1, context_tokens // _ANSWER_SHARE)
    return max(1, context_tokens - min(least, max_tokens or least))


@dataclass(frozen=True, slots=True)
class Exchange:
    """Messages [start, end) that are sent or left out together, and about how many tokens they cost."""

    start: int
    end: int
    tokens: int


def exchanges(
    roles: Sequence[Role], spans: Sequence[tuple[int, int]], prompt_tokens: int
) -> list[Exchange]:
    """What may be left out, from the oldest on: each user message with the answers to it, but for the last.

    `spans` are where the contents lie in a prompt of `prompt_tokens`.
    """
    talk = [index for index, role in enumerate(roles) if role is not Role.SYSTEM]
    questions = [index for index in talk if roles[index] is Role.USER]
    if len(questions) < 2:
        return []
    starts = [talk[0], *questions[1:]]
    return [
        Exchange(start, end, max(0, _at(spans, end, prompt_tokens) - _at(spans, start, 0)))
        for start, end in pairwise(starts)
    ]


def takes_long(messages: Sequence[ChatMessage]) -> bool:
    """Whether these are so long that it takes a moment to count their tokens."""
    return sum(len(one.content) + len(one.reasoning) for one in messages) >= LONG


def least(messages: Sequence[ChatMessage], spans: Sequence[tuple[int, int]]) -> int:
    """The tokens of the contents that are sent whatever else is left out: of system messages, and of the last user message
    and what follows it."""
    asked = [
        index
        for index, message in enumerate(messages)
        if message.role is Role.USER and not message.stays
    ]
    last = asked[-1] if asked else len(messages)
    return sum(
        end - start
        for index, (message, (start, end)) in enumerate(zip(messages, spans, strict=False))
        if index >= last or (message.role is Role.SYSTEM and not message.stays)
    )


def leave_out(found: Sequence[Exchange], tokens: int, target: int) -> int:
    """How many of these, at least one where there is any, go so that about `target` of `tokens` are left."""
    count = 0
    for exchange in found:
        if count and tokens <= target:
            break
        tokens -= exchange.tokens
        count += 1
    return count


def without(roles: Sequence[Role], gone: Sequence[Exchange]) -> list[int]:
    """The indices of the messages that are left; system messages stay wherever they stand."""
    out = {index for one in gone for index in range(one.start, one.end)}
    return [index for index, role in enumerate(roles) if index not in out or role is Role.SYSTEM]


def _at(spans: Sequence[tuple[int, int]], index: int, otherwise: int) -> int:
    return spans[index][0] if index < len(spans) else otherwise

"""A turn of the past: what was fed for its answer, or would be today.  Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.chat.models import Message, Role
from app.chat.ports import Request
from app.errors import StoreError
from app.prompting import FedPrompt


@dataclass(frozen=True, slots=True)
class PastTurn:
    """`fed` is what was really fed, None where that is not known; `request` asks the same question today.

    Not `answered` is a question without an answer.
    """

    request: Request
    fed: FedPrompt | None = None
    answered: bool = True


def history_of(history: Sequence[Message], message_id: int) -> tuple[list[Message], Message | None]:
    """What stands before the answer that belongs to this message, and that answer.

    The answer of a question is the message behind it; None where there is none yet.  Raises StoreError where the
    message is gone.
    """
    place = next(
        (index for index, message in enumerate(history) if message.id == message_id), len(history)
    )
    if place == len(history):
        raise StoreError("This message was deleted.")
    if history[place].role is not Role.ASSISTANT:
        place += 1
    answer = history[place] if place < len(history) else None
    if answer is not None and answer.role is not Role.ASSISTANT:
        answer = None
    return list(history[:place]), answer


def matching(fed: FedPrompt | None, answer: Message | None) -> FedPrompt | None:
    """`fed`, unless it has another length than the one that was counted when it was fed."""
    if fed is None or answer is None:
        return None
    counted = answer.usage.prompt_tokens
    return fed if counted in (0, len(fed.tokens)) else None

"""What the model is shown of a conversation.  Pure."""

from collections.abc import Sequence

from app.chat import summary
from app.chat.models import ChatMessage, FinishReason, Message, Role, Status, Summary

_SHOWN = (Status.DONE, Status.STOPPED, Status.INTERRUPTED)


def is_blank(text: str) -> bool:
    """Nothing in it but white space (and what `clean` puts in place of NUL)."""
    return not text.replace("\x00", "").replace("\ufffd", "").strip()


def was_refused(message: Message) -> bool:
    """An answer that failed before the first token: the question never became part of the conversation."""
    return (
        message.role is Role.ASSISTANT
        and message.status is Status.FAILED
        and message.finish is FinishReason.ERROR
        and message.usage.completion_tokens == 0
        and not message.text
    )


def sent_from(history: Sequence[Message]) -> int:
    """The first message that is still sent, 0 where none is left out.

    What was left out for the last answer stays out, so that the prompt begins the same.
    """
    answers = (
        message
        for message in reversed(history)
        if message.role is Role.ASSISTANT and not was_refused(message)
    )
    return next((message.sent_from for message in answers), 0)


def sent(history: Sequence[Message], first: int = 0) -> list[Message]:
    """Those of a chat's messages that the model is shown, from the message `first` on."""
    return [message for message in _kept(history) if message.id >= first]


def lines(
    system_prompt: str, messages: Sequence[Message], stands: Summary | None = None
) -> tuple[ChatMessage, ...]:
    """The lines of the prompt, of the messages that are `sent`, and of the summary that `stands` for older ones.

    Left out are answers that failed or are blank, and questions whose answer was refused (their text went back to
    the input box; a message that is too long would block the chat for good).  Two equal roles in a row are
    possible.
    """
    head = () if is_blank(system_prompt) else (ChatMessage(Role.SYSTEM, system_prompt),)
    told = () if stands is None else (summary.line(stands),)
    return head + told + tuple(_line(message) for message in messages)


def _line(message: Message) -> ChatMessage:
    return ChatMessage(
        message.role, message.text, message.ids, message.reasoning, message.reasoning_ids
    )


def _kept(history: Sequence[Message]) -> list[Message]:
    followers = [*history[1:], None]  # one too many where there is no message yet
    return [
        message
        for message, after in zip(history, followers, strict=False)
        if _is_shown(message, after)
    ]


def _is_shown(message: Message, after: Message | None) -> bool:
    if message.role is Role.ASSISTANT:
        return message.status in _SHOWN and not is_blank(message.text)
    return after is None or not was_refused(after)


def questions_end(history: Sequence[Message]) -> int:
    """How many messages stand up to the last question, itself counted; 0 where there is none."""
    for index in range(len(history) - 1, -1, -1):
        if history[index].role is Role.USER:
            return index + 1
    return 0
